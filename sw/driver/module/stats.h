/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_STATS_H
#define HWSWAP_STATS_H

#include <linux/percpu.h>
#include <linux/seq_file.h>

/* Every counter, in the order of the report. */
enum hwswap_stat {
	HWSWAP_STAT_TIMEOUTS,
	HWSWAP_STAT_ATTACHES,
	HWSWAP_STAT_DETACHES,
	HWSWAP_STAT_SEARCHES_USED,
	HWSWAP_STAT_SEARCHES_NOTHING,
	HWSWAP_STAT_SEARCHES_FAILED,
	HWSWAP_STAT_USED_RIGHT,
	HWSWAP_STAT_USED_WRONG,
	HWSWAP_STAT_TABLES_GIVEN,
	HWSWAP_NR_STATS,
};

struct hwswap_stats {
	u64 count[HWSWAP_NR_STATS];
};

DECLARE_PER_CPU(struct hwswap_stats, hwswap_stats);

/* Each CPU counts for itself: no cache line goes from CPU to CPU. */
#define hwswap_count_add(name, n)	this_cpu_add(hwswap_stats.count[name], n)
#define hwswap_count(name)		this_cpu_inc(hwswap_stats.count[name])

void hwswap_stats_show(struct seq_file *m);
void hwswap_stats_reset(void);

#endif /* HWSWAP_STATS_H */
