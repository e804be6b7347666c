// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel asks the engine for in mode scan, beside grants: each hook is that of
 * one part of the driver. They come and go with the mode, while grants go on.
 */
#include <linux/swap_offload.h>

#include "devices.h"
#include "engine.h"
#include "hooks.h"
#include "lock.h"
#include "scan.h"
#include "tables.h"

/* hwswap_active is set as long as they are registered. */
static const struct swap_offload_ops hwswap_ops = {
	.table_freed	= hwswap_table_freed,
	.search		= hwswap_search,
	.searched	= hwswap_searched,
};

/* In a mode that has use for swap tables. */
static const char *hwswap_hooks_in(struct hwswap *hw)
{
	/* Until it knows a device it has no answer. */
	if (hwswap_run_jobs(hw))
		return hwswap_trouble(hw) ?: "it refuses a command";
	if (hw->hooked)
		return NULL;
	WRITE_ONCE(hw->closing, false);
	if (swap_offload_register(&hwswap_ops))
		return "another module searches swap tables already";
	hw->hooked = true;
	return NULL;
}

/**
 * hwswap_hooks_follow - have the hooks registered or not, as the mode says
 * @hw: the engine, with grants
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: NULL, or why that is not so; completes the sentence "detached: ...".
 */
const char *hwswap_hooks_follow(struct hwswap *hw)
{
	lockdep_assert_held(&hwswap_mutex);
	if (!hwswap_has_tables(hw))
		return NULL;
	if (hwswap_mode == HWSWAP_SCAN)
		return hwswap_hooks_in(hw);
	hwswap_hooks_out(hw);
	if (hwswap_tables_drop(hw))
		return hwswap_trouble(hw) ?: "it does not give back a swap table";
	return NULL;
}

/**
 * hwswap_hooks_out - no hook is called any more
 * @hw: the engine
 *
 * When this returns none runs. Those that wait for hwswap_mutex give up.
 *
 * Context: under hwswap_mutex. Sleeps.
 */
void hwswap_hooks_out(struct hwswap *hw)
{
	lockdep_assert_held(&hwswap_mutex);
	if (!hwswap_has_tables(hw) || !hw->hooked)
		return;
	WRITE_ONCE(hw->closing, true);
	swap_offload_unregister(&hwswap_ops);
	hw->hooked = false;
}
