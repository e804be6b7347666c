// SPDX-License-Identifier: GPL-2.0
/* Counters: one set a CPU, added up when somebody looks. */
#include <linux/cpumask.h>
#include <linux/string.h>

#include "stats.h"

DEFINE_PER_CPU(struct hwswap_stats, hwswap_stats);

static const char *const hwswap_stat_names[HWSWAP_NR_STATS] = {
	[HWSWAP_STAT_TIMEOUTS] = "timeouts",
	[HWSWAP_STAT_ATTACHES] = "attaches",
	[HWSWAP_STAT_DETACHES] = "detaches",
	[HWSWAP_STAT_SEARCHES_USED] = "searches_used",
	[HWSWAP_STAT_SEARCHES_NOTHING] = "searches_nothing",
	[HWSWAP_STAT_SEARCHES_FAILED] = "searches_failed",
	[HWSWAP_STAT_USED_RIGHT] = "used_right",
	[HWSWAP_STAT_USED_WRONG] = "used_wrong",
	[HWSWAP_STAT_TABLES_GIVEN] = "tables_given",
};

/**
 * hwswap_stats_show - print every counter as a line "name value"
 * @m: where to
 */
void hwswap_stats_show(struct seq_file *m)
{
	unsigned int i;
	int cpu;
	u64 sum;

	for (i = 0; i < HWSWAP_NR_STATS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(&hwswap_stats, cpu)->count[i]);
		seq_printf(m, "%s %llu\n", hwswap_stat_names[i], sum);
	}
}

/**
 * hwswap_stats_reset - set every counter to 0
 *
 * An event that is being counted on another CPU right now may survive or be
 * lost; counters are for people and tests that have stopped their load.
 */
void hwswap_stats_reset(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&hwswap_stats, cpu), 0, sizeof(struct hwswap_stats));
}
