// SPDX-License-Identifier: GPL-2.0
/*
 * Mode trusted: the engine writes to the kernel's own swap tables, when a large
 * folio comes into the swap cache and when it leaves it. Outside the safety promise
 * of the other modes: readers follow these entries without a lock.
 *
 * The kernel waits for it under the cluster lock. So nothing here sleeps, and who
 * does not get the command ring at once leaves the entries to software. What must
 * never be is an engine that writes to a table after software has begun to do so
 * itself: whatever is not an orderly answer cuts it off from memory first
 * (hwswap_fence()).
 */
#include <linux/bitfield.h>
#include <linux/lockdep.h>
#include <linux/panic.h>
#include <linux/time64.h>

#include "cmd.h"
#include "engine.h"
#include "lock.h"
#include "params.h"
#include "stats.h"
#include "tables.h"
#include "trusted.h"

/*
 * By `make bench-table` it pays at no order: waiting takes an engine of 100 MHz longer
 * than writing takes a CPU. At order 9 the loss is the smallest by far.
 */
unsigned int hwswap_trusted_min_order = 9;
bool hwswap_trusted_verify = true;

static unsigned int trusted_timeout_us = 1000;
/* Somebody spins for so long, perhaps with interrupts off. */
hwswap_param_bounded(trusted_timeout_us, trusted_timeout_us, 1, 1000000, NULL, 0644);
MODULE_PARM_DESC(trusted_timeout_us, "Mode trusted: how long a command may take, in microseconds, 1 to 1000000 (default 1000)");

/* What the kernel expects, as the engine's kinds of entries. */
static const u8 hwswap_kinds[] = {
	[SWAP_OFFLOAD_EXPECT_FREE] = BIT(HWSWAP_TABLE_KIND_FREE),
	[SWAP_OFFLOAD_EXPECT_SHADOW] = BIT(HWSWAP_TABLE_KIND_SHADOW),
	[SWAP_OFFLOAD_EXPECT_CACHED] = BIT(HWSWAP_TABLE_KIND_CACHED),
	[SWAP_OFFLOAD_EXPECT_CACHE_ONLY] = BIT(HWSWAP_TABLE_KIND_UNUSED),
};

/* Who calls owns the command ring. */
static int hwswap_write_entries(struct hwswap *hw, struct hwswap_swapdev *sd,
				const struct swap_offload_entries *entries,
				unsigned int opcode, u64 value)
{
	u64 timeout_ns = READ_ONCE(trusted_timeout_us) * (u64)NSEC_PER_USEC;
	u32 cluster = entries->offset / HWSWAP_SLOTS;
	const u64 arg[3] = {
		FIELD_PREP(HWSWAP_TABLE_SCAN_SLOTS_SLOT, entries->offset) |
		FIELD_PREP(HWSWAP_TABLE_SCAN_SLOTS_KINDS, hwswap_kinds[entries->expected]),
		value, 0
	};
	unsigned int status;
	int ret;

	if (READ_ONCE(hw->doubt) || !sd->on_engine || cluster >= sd->clusters ||
	    hw->tables_incoherent || hw->tables_dir != DMA_BIDIRECTIONAL)
		return 0;
	cluster += sd->base;
	/* An engine that fails in this has not written to the table. */
	if (hw->tables[cluster].page != entries->table &&
	    hwswap_table_give_now(hw, sd, cluster, entries->table, timeout_ns))
		return 0;
	ret = hwswap_cmd_atomic(hw, opcode, sd->type, entries->nr, arg, timeout_ns, &status);
	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	return status == HWSWAP_STATUS_OK;
}

static int hwswap_change_entries(const struct swap_offload_entries *entries,
				 unsigned int opcode, u64 value)
{
	struct hwswap *hw = hwswap_active;
	struct hwswap_swapdev *sd;
	int ret;

	if (entries->type >= hw->devices)
		return 0;
	sd = &hw->swapdev[entries->type];
	/* Pairs with the release in hwswap_tell_on(). */
	if (!smp_load_acquire(&sd->live))
		return 0;
	if (!hwswap_ring_try()) {
		hwswap_count(HWSWAP_STAT_FILLS_BUSY);
		return 0;
	}
	ret = hwswap_write_entries(hw, sd, entries, opcode, value);
	hwswap_ring_leave();
	if (!ret)
		hwswap_count(HWSWAP_STAT_FILLS_REFUSED);
	else if (ret < 0)
		hwswap_count(HWSWAP_STAT_FILLS_FAILED);
	return ret;
}

/**
 * hwswap_fill - have the engine write the entries of a folio
 * @entries: which, and what
 *
 * Context: under the cluster lock, perhaps with interrupts off. Does not sleep.
 * Return: 1 when they are written; 0 when none is, and none will be; an error when
 * some may be, but the engine is cut off from memory.
 */
int hwswap_fill(const struct swap_offload_entries *entries)
{
	/* All slots of a folio hold the number of its first page. */
	u64 pfn = FIELD_GET(HWSWAP_TABLE_ENTRY_PFN_PFN, entries->value);
	int ret = hwswap_change_entries(entries, HWSWAP_OPCODE_TABLE_FILL, pfn);

	if (ret > 0)
		hwswap_count(HWSWAP_STAT_FILLS);
	return ret;
}

/**
 * hwswap_clear - have the engine put shadows in the place of a folio's entries
 * @entries: which, and what
 *
 * Context: as hwswap_fill().
 * Return: as hwswap_fill().
 */
int hwswap_clear(const struct swap_offload_entries *entries)
{
	int ret = hwswap_change_entries(entries, HWSWAP_OPCODE_TABLE_CLEAR, entries->value);

	if (ret > 0)
		hwswap_count(HWSWAP_STAT_CLEARS);
	return ret;
}

/**
 * hwswap_repaired - entries that the engine has written were wrong
 * @entries: of which range
 * @wrong: how many
 *
 * Context: as hwswap_fill().
 */
void hwswap_repaired(const struct swap_offload_entries *entries, unsigned int wrong)
{
	hwswap_count_add(HWSWAP_STAT_ENTRIES_REPAIRED, wrong);
	hwswap_fence(hwswap_active, "it wrote wrong entries to a swap table");
}

/* A kernel into whose tables a device has written is not one to report bugs of. */
static void hwswap_taint(void)
{
	static bool tainted;

	lockdep_assert_held(&hwswap_mutex);
	if (tainted)
		return;
	tainted = true;
	pr_warn("hwswap: mode trusted lets a device write to the kernel's own swap tables, which nobody can check in time: this taints the kernel\n");
	/* As of other dangerous things that somebody has asked for; lockdep goes on. */
	add_taint(TAINT_USER, LOCKDEP_STILL_OK);
}

/**
 * hwswap_trusted_apply - let the engine read swap tables, or write to them, too
 * @hw: the engine
 * @ops: the hooks for searches and entries, which are registered
 *
 * In mode trusted it may write to the tables that it knows, and is asked to; else
 * neither.
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: 0, or an error: then it is as before, or the engine is not to be used.
 */
int hwswap_trusted_apply(struct hwswap *hw, const struct swap_offload_ops *ops)
{
	bool trusted = hwswap_mode == HWSWAP_TRUSTED;
	enum dma_data_direction dir = trusted ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	int ret;

	if (!hwswap_has_tables(hw))
		return -EOPNOTSUPP;
	if (dir != hw->tables_dir) {
		ret = swap_offload_set_fill(ops, HWSWAP_ORDERS, true);
		if (ret)
			return ret;
	}
	ret = hwswap_tables_use(hw, dir);
	if (ret)
		return ret;
	if (trusted)
		hwswap_taint();
	return swap_offload_set_fill(ops, trusted ? hwswap_trusted_min_order : HWSWAP_ORDERS,
				     hwswap_trusted_verify);
}
