/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_STATS_H
#define HWSWAP_STATS_H

#include <linux/percpu.h>
#include <linux/seq_file.h>

/* Every counter, in the order of the report. X(name) makes HWSWAP_STAT_<name>. */
#define HWSWAP_STATS(X)		\
	X(slots_engine)		\
	X(slots_software)	\
	X(slots_freed)		\
	X(hints_taken)		\
	X(hints_refused)	\
	X(hint_misses)		\
	X(hint_void)		\
	X(hint_stale_epoch)	\
	X(refused_bad_hint)	\
	X(refused_bad_device)	\
	X(refused_bad_list)	\
	X(refused_bad_order)	\
	X(refused_in_use)	\
	X(refused_no_table)	\
	X(hint_takes_order0)	\
	X(hint_takes_order1)	\
	X(hint_takes_order2)	\
	X(hint_takes_order3)	\
	X(hint_takes_order4)	\
	X(hint_takes_order5)	\
	X(hint_takes_order6)	\
	X(hint_takes_order7)	\
	X(hint_takes_order8)	\
	X(hint_takes_order9)	\
	X(notices)		\
	X(notice_coalesced)	\
	X(notice_overflows)	\
	X(resyncs)		\
	X(shadow_agree)		\
	X(shadow_valid)		\
	X(shadow_stale)		\
	X(commands)		\
	X(timeouts)		\
	X(attaches)		\
	X(detaches)		\
	X(verifies)		\
	X(verify_clusters)	\
	X(verify_differences)

enum hwswap_stat {
#define X(name) HWSWAP_STAT_##name,
	HWSWAP_STATS(X)
#undef X
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
