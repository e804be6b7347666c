// SPDX-License-Identifier: GPL-2.0
/* hwswap_softgrants: the rings of grants, filled and taken back. */
#include <linux/bitfield.h>
#include <linux/slab.h>

#include "softgrants.h"

struct ring {
	u32 tail; /* entries written */
	u32 done; /* the first entry that the host is not done with */
	u32 own;  /* cluster that the next entry is of, or NONE */
	u16 next; /* slot that it begins at */
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

static void store(const struct ring *r, u32 index, u64 mask, u64 place)
{
	struct swap_grant *entry = &soft_map.rings[((r - rings) << soft_log2) +
						   (index & ((1U << soft_log2) - 1))];

	if (!(index >> soft_log2 & 1) != (READ_ONCE(soft_lie) == PHASE))
		place |= SWAP_GRANT_PHASE;
	else
		place &= ~SWAP_GRANT_PHASE;
	WRITE_ONCE(entry->mask, mask);
	smp_wmb(); /* a CPU that sees the phase sees the mask */
	WRITE_ONCE(entry->place, place);
}

/* Let clusters go that no entry of the ring is of any more. */
static void release(struct ring *r)
{
	u32 c, i;

	for (c = 0; c < soft_map.clusters; c++) {
		if (soft_summaries[c].owner != r - rings || c == r->own)
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
		store(r, index, 0, FIELD_PREP(SWAP_GRANT_ORDER, order_of(r)));
}

static void forget(struct ring *r)
{
	u32 i;

	r->own = NONE;
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

/* Let no ring go on with clusters of a device that changes. */
void soft_rings_leave(u32 base, u32 clusters)
{
	struct ring *r;

	for (r = rings; r < rings + nr_rings(); r++) {
		if (r->own != NONE && r->own - base < clusters)
			r->own = NONE;
	}
}

/* Make an entry of the ring's own cluster; false: nothing of that is free from r->next on. */
static bool build_here(struct ring *r)
{
	const struct swapdev *d = soft_device_of(r->own);
	unsigned int order = order_of(r), slot;
	u64 used[WORDS], mask, place;

	soft_read_bitmap(r->own, used);
	for (slot = r->next; soft_usable(d, r->own, order) && slot < SLOTS;
	     slot += soft_span(order)) {
		mask = soft_free_units(used, order, slot);
		if (!mask)
			continue;
		place = FIELD_PREP(SWAP_GRANT_SLOT, (r->own - d->is.base) * SLOTS + slot) |
			FIELD_PREP(SWAP_GRANT_TYPE, d->is.type) |
			FIELD_PREP(SWAP_GRANT_ORDER, order) |
			FIELD_PREP(SWAP_GRANT_EPOCH, d->is.epoch) | SWAP_GRANT_VALID;
		soft_spoil(&mask, &place, d, order);
		*out_of(r, r->tail) = r->own;
		store(r, r->tail, mask, place);
		r->tail++;
		r->next = slot + soft_span(order);
		if (r->next >= SLOTS)
			r->own = NONE;
		soft_granted++;
		return true;
	}
	return false;
}

/* Make the next entry of a ring, whose host is at head; false: there is none. */
static bool build(struct ring *r, u32 head)
{
	u32 tries;

	for (tries = 0; tries <= soft_map.clusters; tries++) {
		if (r->own == NONE) {
			r->own = soft_choose(order_of(r), r->tail == head);
			if (r->own == NONE)
				return false;
			r->next = 0;
			soft_summaries[r->own].owner = r - rings;
		}
		if (build_here(r))
			return true;
		r->own = NONE;
		release(r);
	}
	return false;
}

static void serve(struct ring *r, u32 head)
{
	u32 room = 1U << soft_log2;
	bool any = false;

	if (r->tail - head > room) {
		/* The host has counted past what was written: it begins anew. */
		r->tail = head;
		r->done = head;
		r->own = NONE;
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
	while (soft_lie != FULL && r->tail - head < room && build(r, head))
		;
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
			if (!dry && (r->done != r->tail || r->own != NONE))
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
			if (r->done != r->tail || r->own != NONE)
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
		rings[i].own = NONE;
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
