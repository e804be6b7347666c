// SPDX-License-Identifier: GPL-2.0
/* Counters: one set a CPU, added up when somebody looks. */
#include <linux/cpumask.h>
#include <linux/string.h>

#include "stats.h"

DEFINE_PER_CPU(struct hwswap_stats, hwswap_stats);

static const char *const hwswap_stat_names[HWSWAP_NR_STATS] = {
	[HWSWAP_STAT_SLOTS_ENGINE] = "slots_engine",
	[HWSWAP_STAT_SLOTS_SOFTWARE] = "slots_software",
	[HWSWAP_STAT_SLOTS_FREED] = "slots_freed",
	[HWSWAP_STAT_HINTS_TAKEN] = "hints_taken",
	[HWSWAP_STAT_HINTS_REFUSED] = "hints_refused",
	[HWSWAP_STAT_HINT_MISSES] = "hint_misses",
	[HWSWAP_STAT_HINT_VOID] = "hint_void",
	[HWSWAP_STAT_HINT_STALE_EPOCH] = "hint_stale_epoch",
	[HWSWAP_STAT_REFUSED_BAD_HINT] = "refused_bad_hint",
	[HWSWAP_STAT_REFUSED_BAD_DEVICE] = "refused_bad_device",
	[HWSWAP_STAT_REFUSED_PRIORITY] = "refused_priority",
	[HWSWAP_STAT_REFUSED_BAD_LIST] = "refused_bad_list",
	[HWSWAP_STAT_REFUSED_BAD_ORDER] = "refused_bad_order",
	[HWSWAP_STAT_REFUSED_IN_USE] = "refused_in_use",
	[HWSWAP_STAT_REFUSED_NO_TABLE] = "refused_no_table",
	[HWSWAP_STAT_HINT_TAKES_ORDER0] = "hint_takes_order0",
	[HWSWAP_STAT_HINT_TAKES_ORDER1] = "hint_takes_order1",
	[HWSWAP_STAT_HINT_TAKES_ORDER2] = "hint_takes_order2",
	[HWSWAP_STAT_HINT_TAKES_ORDER3] = "hint_takes_order3",
	[HWSWAP_STAT_HINT_TAKES_ORDER4] = "hint_takes_order4",
	[HWSWAP_STAT_HINT_TAKES_ORDER5] = "hint_takes_order5",
	[HWSWAP_STAT_HINT_TAKES_ORDER6] = "hint_takes_order6",
	[HWSWAP_STAT_HINT_TAKES_ORDER7] = "hint_takes_order7",
	[HWSWAP_STAT_HINT_TAKES_ORDER8] = "hint_takes_order8",
	[HWSWAP_STAT_HINT_TAKES_ORDER9] = "hint_takes_order9",
	[HWSWAP_STAT_NOTICES] = "notices",
	[HWSWAP_STAT_NOTICE_COALESCED] = "notice_coalesced",
	[HWSWAP_STAT_NOTICE_OVERFLOWS] = "notice_overflows",
	[HWSWAP_STAT_RESYNCS] = "resyncs",
	[HWSWAP_STAT_SHADOW_AGREE] = "shadow_agree",
	[HWSWAP_STAT_SHADOW_VALID] = "shadow_valid",
	[HWSWAP_STAT_SHADOW_STALE] = "shadow_stale",
	[HWSWAP_STAT_COMMANDS] = "commands",
	[HWSWAP_STAT_TIMEOUTS] = "timeouts",
	[HWSWAP_STAT_ATTACHES] = "attaches",
	[HWSWAP_STAT_DETACHES] = "detaches",
	[HWSWAP_STAT_VERIFIES] = "verifies",
	[HWSWAP_STAT_VERIFY_CLUSTERS] = "verify_clusters",
	[HWSWAP_STAT_VERIFY_DIFFERENCES] = "verify_differences",
	[HWSWAP_STAT_SEARCHES_USED] = "searches_used",
	[HWSWAP_STAT_SEARCHES_CACHE_ONLY] = "searches_cache_only",
	[HWSWAP_STAT_SEARCHES_NOTHING] = "searches_nothing",
	[HWSWAP_STAT_SEARCHES_BUSY] = "searches_busy",
	[HWSWAP_STAT_SEARCHES_FAILED] = "searches_failed",
	[HWSWAP_STAT_USED_RIGHT] = "used_right",
	[HWSWAP_STAT_USED_WRONG] = "used_wrong",
	[HWSWAP_STAT_CACHE_ONLY_RIGHT] = "cache_only_right",
	[HWSWAP_STAT_CACHE_ONLY_WRONG] = "cache_only_wrong",
	[HWSWAP_STAT_WINDOWS] = "windows",
	[HWSWAP_STAT_WINDOWS_SAME] = "windows_same",
	[HWSWAP_STAT_WINDOWS_OTHER] = "windows_other",
	[HWSWAP_STAT_WINDOWS_BUSY] = "windows_busy",
	[HWSWAP_STAT_WINDOWS_FAILED] = "windows_failed",
	[HWSWAP_STAT_TABLES_GIVEN] = "tables_given",
	[HWSWAP_STAT_TABLES_TAKEN] = "tables_taken",
	[HWSWAP_STAT_FILLS]	= "fills",
	[HWSWAP_STAT_CLEARS]	= "clears",
	[HWSWAP_STAT_FILLS_BUSY]	= "fills_busy",
	[HWSWAP_STAT_FILLS_REFUSED]	= "fills_refused",
	[HWSWAP_STAT_FILLS_FAILED]	= "fills_failed",
	[HWSWAP_STAT_ENTRIES_REPAIRED]	= "entries_repaired",
	[HWSWAP_STAT_FILL_LOOKS]	= "fill_looks",
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
