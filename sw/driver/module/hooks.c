// SPDX-License-Identifier: GPL-2.0
/*
 * What is registered with the swap allocator. Each hook is that of one part of the
 * driver, but for update: a change of a cluster concerns several of them, which know
 * nothing of each other.
 */
#include "devices.h"
#include "hints.h"
#include "hooks.h"
#include "lock.h"
#include "mirror.h"
#include "scan.h"
#include "stats.h"
#include "tables.h"
#include "trusted.h"

/* The update hook: under the cluster lock, perhaps with interrupts off. */
static void hwswap_update(const struct swap_offload_change *change)
{
	struct hwswap *hw = hwswap_active;
	struct hwswap_swapdev *sd = &hw->swapdev[change->type];
	int shadow_order = -1;
	u32 cluster;

	if (change->delta < 0)
		hwswap_count_add(HWSWAP_STAT_SLOTS_FREED, change->nr);
	else if (change->hinted)
		hwswap_count_add(HWSWAP_STAT_SLOTS_ENGINE, change->nr);
	else if (change->delta > 0)
		hwswap_count_add(HWSWAP_STAT_SLOTS_SOFTWARE, change->nr);

	/* What the engine would have done is compared with the state before. */
	if (change->delta > 0 && READ_ONCE(hwswap_mode) == HWSWAP_SHADOW)
		shadow_order = hwswap_shadow_compare(hw, change);

	/* Pairs with the release in hwswap_go_live(): base, clusters and epoch. */
	if (smp_load_acquire(&sd->live) && change->cluster < sd->clusters) {
		cluster = sd->base + change->cluster;
		hwswap_mirror_update(hw, cluster, sd->epoch, change);
		hwswap_tables_note(hw, cluster, change->list);
	}

	/* The notice went first: see hints.c. */
	if (shadow_order >= 0)
		hwswap_publish_head(hw, shadow_order);
}

/* The hooks; hwswap_active is set as long as they are registered. */
const struct swap_offload_ops hwswap_ops = {
	.hint		= hwswap_hint,
	.hint_done	= hwswap_hint_done,
	.update		= hwswap_update,
	.device_on	= hwswap_device_on,
	.device_off	= hwswap_device_off,
	.search		= hwswap_search,
	.searched	= hwswap_searched,
	.window		= hwswap_window,
	.fill		= hwswap_fill,
	.clear		= hwswap_clear,
	.repaired		= hwswap_repaired,
};
