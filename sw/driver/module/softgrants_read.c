// SPDX-License-Identifier: GPL-2.0
/* hwswap_softgrants: what clusters have free, read in turn. */
#include <linux/bitfield.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "softgrants.h"

/* Clusters that are read each time the engine runs. */
#define STEP 64

/* The next one to be read: its device, and its number there. */
static unsigned int type;
static u32 next;

/* A cluster was not as it was kept: in this round, and in the last one. */
static bool changed;
bool soft_news = true;

static void load_bitmap(u32 cluster, u64 *used)
{
	const u64 *from = soft_map.bitmaps[cluster / SWAP_GRANTS_CHUNK] +
			  cluster % SWAP_GRANTS_CHUNK * WORDS;
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

static s8 largest_run(const u64 *used)
{
	unsigned int i, words;
	int order;

	for (order = TOP_ORDER; order >= 0; order--) {
		words = max(64U, 1U << order) / 64;
		for (i = 0; i < WORDS; i += words) {
			if (words == 1 ? free_runs(used[i], order) != 0 :
					 !memchr_inv(&used[i], 0, words * sizeof(*used)))
				return order;
		}
	}
	return -1;
}

/* Summarise a cluster from memory, which does not say who owns it. */
static struct summary look(u32 cluster)
{
	u32 word = READ_ONCE(soft_map.words[cluster]);
	struct summary found = {
		.order = FIELD_GET(SWAP_GRANTS_WORD_ORDER, word),
		.list = FIELD_GET(SWAP_GRANTS_WORD_LIST, word),
		.epoch = FIELD_GET(SWAP_GRANTS_WORD_EPOCH, word),
		.run = -1,
		.owner = soft_summaries[cluster].owner,
	};
	u64 used[WORDS];

	switch (found.list) {
	case SWAP_GRANTS_LIST_FREE:
		found.run = TOP_ORDER;
		break;
	case SWAP_GRANTS_LIST_NONFULL:
	case SWAP_GRANTS_LIST_FRAG:
		load_bitmap(cluster, used);
		found.run = largest_run(used);
		break;
	}
	return found;
}

/* Read one cluster, out of turn. */
void soft_read_cluster(u32 cluster)
{
	soft_summaries[cluster] = look(cluster);
}

static bool same(const struct summary *kept, const struct summary *now)
{
	return kept->order == now->order && kept->list == now->list &&
	       kept->epoch == now->epoch && kept->run == now->run;
}

/* Whether what is kept of a cluster is what memory holds. */
bool soft_kept_right(u32 cluster)
{
	struct summary now = look(cluster);

	return same(&soft_summaries[cluster], &now);
}

/* Read the next clusters of all devices. Return whether a round was finished. */
bool soft_read(void)
{
	const struct swapdev *d;
	unsigned int left = STEP;
	struct summary now;
	u32 cluster;

	while (left) {
		d = &soft_devices[type];
		if (d->known && next < d->is.clusters) {
			cluster = d->is.base + next++;
			now = look(cluster);
			changed |= !same(&soft_summaries[cluster], &now);
			soft_summaries[cluster] = now;
			left--;
			continue;
		}
		next = 0;
		type = (type + 1) % MAX_TYPES;
		if (type)
			continue;
		if (soft_unsettled)
			soft_unsettled--;
		soft_news = changed;
		changed = false;
		return true;
	}
	return false;
}
