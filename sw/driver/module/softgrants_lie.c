// SPDX-License-Identifier: GPL-2.0
/* hwswap_softgrants: wrong grants, for tests of the kernel's checks. */
#include <linux/bitfield.h>
#include <linux/random.h>

#include "softgrants.h"

/* Make a grant wrong, in the way that was asked for. */
void soft_spoil(u64 *mask, u64 *place, const struct swapdev *d, unsigned int order)
{
	u64 slot = FIELD_GET(SWAP_GRANT_SLOT, *place), type = d->is.type, epoch = d->is.epoch;
	unsigned int of = order, i;

	switch (READ_ONCE(soft_lie)) {
	case HONEST:
	case PHASE:
	case FULL:
		return;
	case MISALIGNED:
		slot += get_random_u32_inclusive(1, soft_span(order) - 1);
		break;
	case ORDER:
		of = (order + get_random_u32_inclusive(1, 15)) % 16;
		break;
	case TAKEN:
		*mask = ~*mask;
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
				slot = 0;
			}
		}
		*mask = ~0ULL;
		break;
	case EPOCH:
		epoch = (epoch + get_random_u32_inclusive(1, 255)) % 256;
		break;
	case FOREIGN:
		slot = get_random_u32_below(d->is.clusters) * SLOTS;
		*mask = ~0ULL;
		break;
	case NOISE:
		*mask = get_random_u64();
		*place = get_random_u64();
		/* Some of it is to be looked at. */
		if (get_random_u32_below(2))
			return;
		slot = get_random_u32_below(d->is.clusters * SLOTS * 2);
		break;
	}
	*place = FIELD_PREP(SWAP_GRANT_SLOT, slot) | FIELD_PREP(SWAP_GRANT_TYPE, type) |
		 FIELD_PREP(SWAP_GRANT_ORDER, of) | FIELD_PREP(SWAP_GRANT_EPOCH, epoch) |
		 SWAP_GRANT_VALID;
}
