/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_STATS_H
#define HWSWAP_STATS_H

#include <linux/atomic.h>
#include <linux/seq_file.h>

/* Every counter, in the order of the report. */
enum hwswap_stat {
	HWSWAP_STAT_ATTACHES,
	HWSWAP_STAT_DETACHES,
	HWSWAP_STAT_RESTS,
	HWSWAP_NR_STATS,
};

/* Nothing is counted for an allocation or a free: a CPU may wait for another one's line. */
extern atomic64_t hwswap_stats[HWSWAP_NR_STATS];

#define hwswap_count(name)	atomic64_inc(&hwswap_stats[name])

void hwswap_stats_show(struct seq_file *m);
void hwswap_stats_reset(void);

#endif /* HWSWAP_STATS_H */
