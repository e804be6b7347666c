// SPDX-License-Identifier: GPL-2.0
/* hwswap_softgrants: what a cluster has free, read when it was marked. */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/string.h>

#include "softgrants.h"

static void read_bitmap(u32 cluster, u64 *used)
{
	const u64 *from = soft_map.bitmaps[cluster / SWAP_MARKS_CHUNK] +
			  cluster % SWAP_MARKS_CHUNK * WORDS;
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		used[i] = READ_ONCE(from[i]);
}

/* Slots of a word at which 2^order free ones begin, aligned; order 0 to 6. */
static u64 free_runs(u64 used, unsigned int order)
{
	static const u64 aligned[] = { ~0ULL,
				       0x5555555555555555,
				       0x1111111111111111,
				       0x0101010101010101,
				       0x0001000100010001,
				       0x0000000100000001,
				       1 };
	u64 free = ~used;
	unsigned int i;

	for (i = 0; i < order; i++)
		free &= free >> (1 << i);
	return free & aligned[order];
}

static bool run_at(const u64 *used, unsigned int order, unsigned int slot)
{
	unsigned int i;

	if (order < 6)
		return free_runs(used[slot / 64], order) & BIT_ULL(slot % 64);
	for (i = 0; i < 1U << (order - 6); i++) {
		if (used[slot / 64 + i])
			return false;
	}
	return true;
}

static s8 largest_run(const u64 *used)
{
	unsigned int slot;
	int order;

	for (order = TOP_ORDER; order >= 0; order--) {
		for (slot = 0; slot < SLOTS; slot += max(64U, 1U << order)) {
			if (order < 6 ? free_runs(used[slot / 64], order) != 0 :
					run_at(used, order, slot))
				return order;
		}
	}
	return -1;
}

/* The mask of an entry that begins at a slot. */
u64 soft_free_units(const u64 *used, unsigned int order, unsigned int slot)
{
	unsigned int i;
	u64 mask = 0;

	for (i = 0; i < soft_span(order) >> order; i++) {
		if (run_at(used, order, slot + (i << order)))
			mask |= BIT_ULL(i);
	}
	return mask;
}

/* What memory says of a cluster; it does not know whose that is. */
static struct summary look(u32 cluster)
{
	u32 word = READ_ONCE(soft_map.words[cluster]);
	u64 used[WORDS];

	read_bitmap(cluster, used);
	return (struct summary){
		.order = FIELD_GET(SWAP_MARKS_WORD_ORDER, word),
		.list = FIELD_GET(SWAP_MARKS_WORD_LIST, word),
		.epoch = FIELD_GET(SWAP_MARKS_WORD_EPOCH, word),
		.run = largest_run(used),
		.owner = soft_summaries[cluster].owner,
	};
}

/* Read the bitmap alone once more, as for a grant that is being made. */
void soft_look_again(u32 cluster, u64 *used)
{
	read_bitmap(cluster, used);
	soft_summaries[cluster].run = largest_run(used);
}

/* Whether what is kept of a cluster is what memory holds, and is not under way. */
bool soft_kept_right(u32 cluster)
{
	const struct summary *kept = &soft_summaries[cluster], now = look(cluster);

	return kept->order == now.order && kept->list == now.list && kept->epoch == now.epoch &&
	       kept->run == now.run;
}

/* A byte that was 1 is cleared before what it stands for is read. */
static bool take(u8 *byte)
{
	if (!READ_ONCE(*byte))
		return false;
	WRITE_ONCE(*byte, 0);
	return true;
}

/* Whether the kernel has marked a cluster. */
bool soft_marked(void)
{
	unsigned int group;

	for (group = 0; group < soft_map.clusters / SWAP_MARKS_GROUP; group++) {
		if (READ_ONCE(soft_map.groups[group]))
			return true;
	}
	return false;
}

void soft_scan(void)
{
	unsigned int group, i;

	for (group = 0; group < soft_map.clusters / SWAP_MARKS_GROUP; group++) {
		DECLARE_BITMAP(marked, SWAP_MARKS_GROUP) = {};

		if (!take(&soft_map.groups[group]))
			continue;
		smp_mb(); /* a CPU's load may pass its store: the engine waits for the answer */
		for (i = 0; i < SWAP_MARKS_GROUP; i++) {
			if (take(&soft_map.dirty[group * SWAP_MARKS_GROUP + i]))
				__set_bit(i, marked);
		}
		smp_mb(); /* the same */
		for_each_set_bit(i, marked, SWAP_MARKS_GROUP) {
			u32 cluster = group * SWAP_MARKS_GROUP + i;

			soft_summaries[cluster] = look(cluster);
		}
	}
	if (soft_unsettled)
		soft_unsettled--;
}
