// SPDX-License-Identifier: GPL-2.0
/* hwswap_softgrants: which cluster is granted next. */
#include <linux/math.h>

#include "softgrants.h"

#define SPARED 8 /* one in so many clusters is kept for the kernel's own search */

bool soft_serves(const struct swapdev *d, unsigned int order)
{
	return d->known && d->live && (d->is.flags & SWAP_GRANTS_SOLIDSTATE) &&
	       (!order || (d->is.flags & SWAP_GRANTS_BLKDEV));
}

static bool usable(const struct swapdev *d, u32 cluster, unsigned int order)
{
	const struct summary *s = &soft_summaries[cluster];

	if (s->epoch != d->is.epoch || s->run < (int)order)
		return false;
	if (s->list == SWAP_GRANTS_LIST_FREE)
		return true;
	if ((s->list != SWAP_GRANTS_LIST_NONFULL && s->list != SWAP_GRANTS_LIST_FRAG) ||
	    order == TOP_ORDER)
		return false;
	return soft_placement == OPEN || !order || s->order == order;
}

/* The rank of a cluster: the lowest wins; of equals the cluster with the lower number. */
static unsigned int rank(const struct summary *s, unsigned int order)
{
	bool is_free = s->list == SWAP_GRANTS_LIST_FREE;

	if (soft_placement == OPEN)
		return is_free ? 1000 : abs((int)s->order - (int)order) * ORDERS + s->order;
	if (!is_free && s->order == order)
		return 0;
	if (!soft_sparing || order)
		return is_free ? 1 : 2;
	/* Single slots: where nobody loses by it, then where the order is the highest. */
	return is_free ? ORDERS + 2 : s->run < (int)s->order ? 1 : 2 + TOP_ORDER - s->order;
}

/*
 * Whether a ring may get a free cluster of a device. The cluster then belongs to this
 * order until all of it is free again, which hardly happens while swap is nearly full.
 * So only an empty ring gets one, and never out of the last eighth, which is left to the
 * kernel's own search.
 */
static bool may_open(const struct swapdev *d, unsigned int order, bool alone)
{
	const struct summary *s;
	unsigned int left = 0;
	u32 c;

	if (soft_placement == OPEN || !soft_sparing)
		return true;
	if (!alone)
		return false;
	if (!order || order == TOP_ORDER)
		return true;
	for (c = d->is.base; c < d->is.base + d->is.clusters; c++) {
		s = &soft_summaries[c];
		left += s->owner == NOBODY && s->epoch == d->is.epoch &&
			s->list == SWAP_GRANTS_LIST_FREE;
	}
	return left >= d->is.clusters / SPARED;
}

static u32 best(const struct swapdev *d, unsigned int order, bool alone)
{
	bool open = may_open(d, order, alone);
	unsigned int r, least = UINT_MAX;
	u32 c, found = NONE;

	for (c = d->is.base; c < d->is.base + d->is.clusters && least; c++) {
		if (soft_summaries[c].owner != NOBODY || !usable(d, c, order) ||
		    (soft_summaries[c].list == SWAP_GRANTS_LIST_FREE && !open))
			continue;
		r = rank(&soft_summaries[c], order);
		if (r < least) {
			least = r;
			found = c;
		}
	}
	return found;
}

struct swapdev *soft_device_of(u32 cluster)
{
	unsigned int i;

	for (i = 0; i < MAX_TYPES; i++) {
		struct swapdev *d = &soft_devices[i];

		if (d->known && cluster - d->is.base < d->is.clusters)
			return d;
	}
	return NULL;
}

static bool any_usable(const struct swapdev *d, unsigned int order)
{
	u32 c;

	for (c = 0; c < d->is.clusters; c++)
		if (usable(d, d->is.base + c, order))
			return true;
	return false;
}

/*
 * The best priority of those that have a slot left. The kernel puts a large folio
 * there or nowhere (swap_alloc_slow()), and refuses what is granted of a lower one,
 * unless the CPU came there when there was no better one, and that not for long.
 */
static int least_priority(void)
{
	int least = INT_MIN;
	unsigned int i;

	for (i = 0; i < MAX_TYPES; i++) {
		const struct swapdev *d = &soft_devices[i];

		if (d->known && d->live && !d->recalling && d->is.prio > least && any_usable(d, 0))
			least = d->is.prio;
	}
	return least;
}

/*
 * The next cluster for a ring: of the best priority that has a slot left, equals in
 * turn. alone: nothing is on offer in the ring.
 */
u32 soft_choose(unsigned int order, bool alone)
{
	struct swapdev *chosen = NULL;
	int least = least_priority();
	u32 cluster = NONE, c;
	unsigned int i;

	for (i = 0; i < MAX_TYPES; i++) {
		struct swapdev *d = &soft_devices[i];

		if (d->recalling || !soft_serves(d, order) || d->is.prio < least ||
		    (chosen && d->turn > chosen->turn))
			continue;
		c = best(d, order, alone);
		if (c != NONE) {
			chosen = d;
			cluster = c;
		}
	}
	if (chosen)
		chosen->turn = ++soft_turns;
	return cluster;
}

u32 soft_no_run(void)
{
	unsigned int order, i;
	u32 found = 0;

	if (soft_unsettled)
		return 0;
	for (order = 0; order < ORDERS; order++) {
		bool any = false;

		for (i = 0; i < MAX_TYPES && !any; i++) {
			const struct swapdev *d = &soft_devices[i];

			any = soft_serves(d, order) && any_usable(d, order);
		}
		if (!any)
			found |= BIT(order);
	}
	return soft_lie == FULL ? BIT(ORDERS) - 1 : found;
}

