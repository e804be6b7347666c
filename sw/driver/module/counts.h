/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_COUNTS_H
#define HWSWAP_COUNTS_H

#include <linux/seq_file.h>
#include <linux/swap_grants.h>

static const char *const hwswap_count_names[SWAP_GRANTS_NR_COUNTS] = {
	[SWAP_GRANTS_UNITS] = "grant_units",
	[SWAP_GRANTS_POPPED] = "grants_popped",
	[SWAP_GRANTS_TAKEN_BACK] = "grants_taken_back",
	[SWAP_GRANTS_DEVICE] = "grants_refused_device",
	[SWAP_GRANTS_EPOCH] = "grants_refused_epoch",
	[SWAP_GRANTS_FLAGS] = "grants_refused_flags",
	[SWAP_GRANTS_PRIORITY] = "grants_refused_priority",
	[SWAP_GRANTS_ORDER] = "grants_refused_order",
	[SWAP_GRANTS_PLACE] = "grants_refused_place",
	[SWAP_GRANTS_EMPTY] = "grants_refused_empty",
	[SWAP_GRANTS_UNUSABLE] = "grants_unusable",
	[SWAP_GRANTS_NO_TABLE] = "grants_no_table",
	[SWAP_GRANTS_CLAIMED] = "grants_claimed",
	[SWAP_GRANTS_STRAY] = "grants_stray",
	[SWAP_GRANTS_STALE] = "grants_stale",
	[SWAP_GRANTS_NO_RUN] = "grants_no_run",
};

/**
 * hwswap_counts_show - print what became of grants, as lines "name value"
 * @m: where to
 */
static inline void hwswap_counts_show(struct seq_file *m)
{
	u64 counts[SWAP_GRANTS_NR_COUNTS];
	unsigned int i;

	swap_grants_counts(counts);
	for (i = 0; i < SWAP_GRANTS_NR_COUNTS; i++)
		seq_printf(m, "%s %llu\n", hwswap_count_names[i], counts[i]);
}

#endif /* HWSWAP_COUNTS_H */
