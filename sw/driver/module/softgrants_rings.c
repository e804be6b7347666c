// SPDX-License-Identifier: GPL-2.0
/* hwswap_softgrants: the rings of grants, filled and taken back. */
#include <linux/bitfield.h>
#include <linux/slab.h>

#include "softgrants.h"

struct ring {
	u32 tail; /* entries written */
	u32 done; /* the first entry that the host is not done with */
	bool dry; /* nothing was found for it */
	u32 *out; /* of each entry from done on its cluster, NONE: taken back; 2 << log2 */
};

/* One for each CPU and order. */
static struct ring *rings;

static unsigned int nr_rings(void)
{
	return soft_map.cpus * ORDERS;
}

static unsigned int order_of(const struct ring *r)
{
	return (r - rings) % ORDERS;
}

static u32 *out_of(struct ring *r, u32 index)
{
	return &r->out[index & ((2U << soft_log2) - 1)];
}

static void store(const struct ring *r, u32 index, u64 place)
{
	u64 *entry = &soft_map.rings[((r - rings) << soft_log2) +
				     (index & ((1U << soft_log2) - 1))];

	if (!(index >> soft_log2 & 1) != (READ_ONCE(soft_lie) == PHASE))
		place |= SWAP_GRANT_PHASE;
	else
		place &= ~SWAP_GRANT_PHASE;
	WRITE_ONCE(*entry, place);
}

/* Let clusters go that no entry of the ring is of any more. */
static void release(struct ring *r)
{
	u32 c, i;

	for (c = 0; c < soft_map.clusters; c++) {
		if (soft_summaries[c].owner != r - rings)
			continue;
		for (i = r->done; i != r->tail && *out_of(r, i) != c; i++)
			;
		if (i == r->tail)
			soft_summaries[c].owner = NOBODY;
	}
}

static void void_entry(struct ring *r, u32 index)
{
	*out_of(r, index) = NONE;
	if (r->tail - index <= 1U << soft_log2)
		store(r, index, FIELD_PREP(SWAP_GRANT_ORDER, order_of(r)));
}

static void forget(struct ring *r)
{
	u32 i;

	for (i = r->done; i != r->tail; i++) {
		if (*out_of(r, i) != NONE)
			void_entry(r, i);
	}
	r->done = r->tail;
	release(r);
}

/* Take back what is on offer of devices that have changed, or that are gone. */
void soft_rings_recall(void)
{
	const struct swapdev *d;
	struct ring *r;
	unsigned int type;
	bool any = false;
	u32 i;

	for (type = 0; type < MAX_TYPES; type++)
		any |= soft_devices[type].recalling;
	if (!any)
		return;
	for (r = rings; r < rings + nr_rings(); r++) {
		for (i = r->done; i != r->tail; i++) {
			if (*out_of(r, i) == NONE)
				continue;
			d = soft_device_of(*out_of(r, i));
			if (!d || d->recalling)
				void_entry(r, i);
		}
	}
	for (type = 0; type < MAX_TYPES; type++)
		soft_devices[type].recalling = false;
}

/* Make the next entry of a ring: a cluster, which is the ring's alone from now on. */
static void grant(struct ring *r, u32 cluster)
{
	const struct swapdev *d = soft_device_of(cluster);
	u64 place = FIELD_PREP(SWAP_GRANT_CLUSTER, cluster - d->is.base) |
		    FIELD_PREP(SWAP_GRANT_TYPE, d->is.type) |
		    FIELD_PREP(SWAP_GRANT_ORDER, order_of(r)) |
		    FIELD_PREP(SWAP_GRANT_EPOCH, d->is.epoch) | SWAP_GRANT_VALID;

	soft_spoil(&place, d, order_of(r));
	soft_summaries[cluster].owner = r - rings;
	*out_of(r, r->tail) = cluster;
	store(r, r->tail++, place);
	soft_granted++;
}

static void serve(struct ring *r, u32 head)
{
	u32 room = 1U << soft_log2, cluster;
	bool any = false;

	if (r->tail - head > room) {
		/* The host has counted past what was written: it begins anew. */
		r->tail = head;
		r->done = head;
		release(r);
	}
	smp_rmb(); /* the bitmap of what is done with is newer than that it is */
	/* The entry before the head is in use. */
	for (; r->done != r->tail && (s32)(head - 1 - r->done) > 0; r->done++) {
		if (*out_of(r, r->done) != NONE)
			soft_read_cluster(*out_of(r, r->done));
		any = true;
	}
	if (any)
		release(r);
	while (soft_lie != FULL && r->tail - head < room) {
		cluster = soft_choose(order_of(r), r->tail == head);
		if (cluster == NONE)
			break;
		grant(r, cluster);
	}
	r->dry = r->tail - head < room;
}

/*
 * Whether a ring that is wanted has no more than half of its entries left. dry: one that
 * nothing was found for; else another one, or one that is not wanted any more.
 */
bool soft_rings_low(bool dry)
{
	const struct swap_grants_line *line;
	const struct ring *r;
	u32 head;

	for (r = rings; r < rings + nr_rings(); r++) {
		line = &soft_map.lines[(r - rings) / ORDERS];
		if (!(atomic_read(&line->want) & BIT(order_of(r)))) {
			if (!dry && r->done != r->tail)
				return true;
			continue;
		}
		head = READ_ONCE(line->head[order_of(r)]);
		if (r->dry == dry && r->tail - head <= 1U << soft_log2 >> 1)
			return true;
	}
	return false;
}

/* Fill the rings that are wanted, dry ones only again, and empty the others. */
void soft_rings_serve(bool again)
{
	const struct swap_grants_line *line;
	struct ring *r;

	for (r = rings; r < rings + nr_rings(); r++) {
		line = &soft_map.lines[(r - rings) / ORDERS];
		if (!(atomic_read(&line->want) & BIT(order_of(r)))) {
			if (r->done != r->tail)
				forget(r);
		} else if (again || !r->dry) {
			serve(r, READ_ONCE(line->head[order_of(r)]));
		}
	}
}

int soft_rings_alloc(void)
{
	unsigned int i;

	rings = kcalloc(nr_rings(), sizeof(*rings), GFP_KERNEL);
	if (!rings)
		return -ENOMEM;
	for (i = 0; i < nr_rings(); i++) {
		rings[i].out = kcalloc(2U << soft_log2, sizeof(u32), GFP_KERNEL);
		if (!rings[i].out)
			return -ENOMEM;
	}
	return 0;
}

/* Also after soft_rings_alloc() has failed. */
void soft_rings_free(void)
{
	unsigned int i;

	for (i = 0; rings && i < nr_rings(); i++)
		kfree(rings[i].out);
	kfree(rings);
}
