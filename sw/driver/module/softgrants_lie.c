// SPDX-License-Identifier: GPL-2.0
/* hwswap_softgrants: wrong grants, for tests of the kernel's checks. */
#include <linux/bitfield.h>
#include <linux/random.h>

#include "softgrants.h"

/* The first full cluster from any one on, or that one, if none is full. */
static u32 full_or_any(const struct swapdev *d)
{
	u32 nr = d->is.clusters, first = get_random_u32_below(nr), i = 0;

	while (i < nr &&
	       soft_summaries[d->is.base + (first + i) % nr].list != SWAP_GRANTS_LIST_FULL)
		i++;
	return (first + i) % nr;
}

/* Make a grant wrong, in the way that was asked for. */
void soft_spoil(u64 *place, const struct swapdev *d, unsigned int order)
{
	u64 cluster = FIELD_GET(SWAP_GRANT_CLUSTER, *place);
	u64 type = d->is.type, epoch = d->is.epoch;
	unsigned int of = order, i;

	switch (READ_ONCE(soft_lie)) {
	case HONEST:
	case PHASE:
	case FULL:
		return;
	case BEYOND:
		cluster = get_random_u32_inclusive(d->is.clusters, U32_MAX);
		break;
	case ORDER:
		of = (order + get_random_u32_inclusive(1, 15)) % 16;
		break;
	case TAKEN:
		cluster = full_or_any(d);
		break;
	case DEVICE:
		type = (type + get_random_u32_inclusive(1, MAX_TYPES - 1)) % MAX_TYPES;
		if (soft_devices[type].known)
			epoch = soft_devices[type].is.epoch;
		break;
	case PRIORITY:
		for (i = 0; i < MAX_TYPES; i++) {
			if (soft_serves(&soft_devices[i], order) &&
			    soft_devices[i].is.prio < d->is.prio) {
				type = i;
				epoch = soft_devices[i].is.epoch;
				cluster = 0;
			}
		}
		break;
	case EPOCH:
		epoch = (epoch + get_random_u32_inclusive(1, 255)) % 256;
		break;
	case FOREIGN:
		cluster = get_random_u32_below(d->is.clusters);
		break;
	case NOISE:
		*place = get_random_u64();
		/* Some of it is to be looked at. */
		if (get_random_u32_below(2))
			return;
		cluster = get_random_u32_below(d->is.clusters * 2);
		break;
	}
	*place = FIELD_PREP(SWAP_GRANT_CLUSTER, cluster) | FIELD_PREP(SWAP_GRANT_TYPE, type) |
		 FIELD_PREP(SWAP_GRANT_ORDER, of) | FIELD_PREP(SWAP_GRANT_EPOCH, epoch) |
		 SWAP_GRANT_VALID;
}
