// SPDX-License-Identifier: GPL-2.0
/* Counters of what the driver does. */

#include "stats.h"

atomic64_t hwswap_stats[HWSWAP_NR_STATS];

static const char *const hwswap_stat_names[HWSWAP_NR_STATS] = {
	[HWSWAP_STAT_ATTACHES] = "attaches",
	[HWSWAP_STAT_DETACHES] = "detaches",
	[HWSWAP_STAT_RESTS] = "rests",
};

/* hwswap_stats_show - print every counter as a line "name value" */
void hwswap_stats_show(struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < HWSWAP_NR_STATS; i++)
		seq_printf(m, "%s %lld\n", hwswap_stat_names[i], atomic64_read(&hwswap_stats[i]));
}

/* hwswap_stats_reset - set every counter to 0 */
void hwswap_stats_reset(void)
{
	unsigned int i;

	for (i = 0; i < HWSWAP_NR_STATS; i++)
		atomic64_set(&hwswap_stats[i], 0);
}
