// SPDX-License-Identifier: GPL-2.0
/*
 * Mode trusted: the engine writes to the kernel's own swap tables, when a large
 * folio comes into the swap cache and when it leaves it. Outside the safety promise
 * of the other modes: readers follow these words without a lock.
 *
 * The kernel waits for it under the cluster lock. So nothing here sleeps, and who
 * does not get the command ring at once leaves the words to software. What must
 * never be is an engine that writes to a table after software has begun to do so
 * itself: whatever is not an orderly answer cuts it off from memory first
 * (hwswap_fence()).
 */
#include <linux/moduleparam.h>
#include <linux/time64.h>

#include "hwswap.h"

/*
 * By `make bench-table` it pays at no order: waiting takes an engine of 100 MHz longer
 * than writing takes a CPU. At order 9 the loss is the smallest by far.
 */
unsigned int hwswap_trusted_min_order = 9;
bool hwswap_trusted_verify = true;

static int hwswap_verify_set(const char *val, const struct kernel_param *kp)
{
	int ret = param_set_bool(val, kp);

	if (!ret)
		hwswap_trusted_changed();
	return ret;
}

static const struct kernel_param_ops hwswap_verify_ops = {
	.set = hwswap_verify_set,
	.get = param_get_bool,
};

hwswap_param_bounded(trusted_min_order, hwswap_trusted_min_order, 0, HWSWAP_ORDERS,
		     hwswap_trusted_changed, 0644);
MODULE_PARM_DESC(trusted_min_order, "Mode trusted: the engine writes the words of folios from this order on; 10: of none (default 9)");
module_param_cb(trusted_verify, &hwswap_verify_ops, &hwswap_trusted_verify, 0644);
MODULE_PARM_DESC(trusted_verify, "Mode trusted: look at each word that it has written (default y)");

static unsigned int trusted_timeout_us = 1000;
/* Somebody spins for so long, perhaps with interrupts off. */
hwswap_param_bounded(trusted_timeout_us, trusted_timeout_us, 1, 1000000, NULL, 0644);
MODULE_PARM_DESC(trusted_timeout_us, "Mode trusted: how long a command may take, in microseconds, 1 to 1000000 (default 1000)");

/* What the kernel expects, as the engine's kinds of words. */
static const u8 hwswap_kinds[] = {
	[SWAP_OFFLOAD_EXPECT_FREE] = BIT(HWSWAP_TABLE_KIND_FREE),
	[SWAP_OFFLOAD_EXPECT_SHADOW] = BIT(HWSWAP_TABLE_KIND_SHADOW),
	[SWAP_OFFLOAD_EXPECT_CACHED] = BIT(HWSWAP_TABLE_KIND_CACHED),
	[SWAP_OFFLOAD_EXPECT_CACHE_ONLY] = BIT(HWSWAP_TABLE_KIND_UNUSED),
};

/* Who calls owns the command ring. */
static int hwswap_do_words(struct hwswap *hw, struct hwswap_swapdev *sd,
			   const struct swap_offload_words *words, unsigned int opcode, u64 value)
{
	u64 timeout_ns = READ_ONCE(trusted_timeout_us) * (u64)NSEC_PER_USEC;
	u32 cluster = words->offset / HWSWAP_SLOTS;
	const u64 arg[3] = {
		FIELD_PREP(HWSWAP_TABLE_SCAN_SLOTS_SLOT, words->offset) |
		FIELD_PREP(HWSWAP_TABLE_SCAN_SLOTS_KINDS, hwswap_kinds[words->expected]),
		value, 0
	};
	unsigned int status;
	int ret;

	if (READ_ONCE(hw->doubt) || !sd->on_engine || cluster >= sd->clusters ||
	    hw->tables_incoherent || hw->tables_dir != DMA_BIDIRECTIONAL)
		return 0;
	cluster += sd->base;
	/* An engine that fails in this has not written to the table. */
	if (hw->tables[cluster].page != words->table &&
	    hwswap_table_give_now(hw, sd, cluster, words->table, timeout_ns))
		return 0;
	ret = hwswap_cmd_atomic(hw, opcode, sd->dev.type, words->nr, arg, timeout_ns, &status);
	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	return status == HWSWAP_STATUS_OK;
}

static int hwswap_words(const struct swap_offload_words *words, unsigned int opcode, u64 value)
{
	struct hwswap *hw = hwswap_active;
	struct hwswap_swapdev *sd;
	int ret;

	if (words->type >= hw->devices)
		return 0;
	sd = &hw->swapdev[words->type];
	/* Pairs with the release in hwswap_go_live(). */
	if (!smp_load_acquire(&sd->live))
		return 0;
	if (!hwswap_ring_try()) {
		hwswap_count(HWSWAP_STAT_FILLS_BUSY);
		return 0;
	}
	ret = hwswap_do_words(hw, sd, words, opcode, value);
	hwswap_ring_leave();
	if (!ret)
		hwswap_count(HWSWAP_STAT_FILLS_REFUSED);
	else if (ret < 0)
		hwswap_count(HWSWAP_STAT_FILLS_FAILED);
	return ret;
}

/**
 * hwswap_fill - have the engine write the words of a folio
 * @words: which, and what
 *
 * Context: under the cluster lock, perhaps with interrupts off. Does not sleep.
 * Return: 1 when they are written; 0 when none is, and none will be; an error when
 * some may be, but the engine is cut off from memory.
 */
int hwswap_fill(const struct swap_offload_words *words)
{
	/* All slots of a folio hold the number of its first page. */
	u64 pfn = FIELD_GET(HWSWAP_TABLE_WORD_PFN_PFN, words->value);
	int ret = hwswap_words(words, HWSWAP_OPCODE_TABLE_FILL, pfn);

	if (ret > 0)
		hwswap_count(HWSWAP_STAT_FILLS);
	return ret;
}

/**
 * hwswap_clear - have the engine put shadows in the place of a folio's words
 * @words: which, and what
 *
 * Context, return: as hwswap_fill().
 */
int hwswap_clear(const struct swap_offload_words *words)
{
	int ret = hwswap_words(words, HWSWAP_OPCODE_TABLE_CLEAR, words->value);

	if (ret > 0)
		hwswap_count(HWSWAP_STAT_CLEARS);
	return ret;
}

/**
 * hwswap_mended - words that the engine has written were wrong
 * @words: of which range
 * @wrong: how many
 *
 * Context: as hwswap_fill().
 */
void hwswap_mended(const struct swap_offload_words *words, unsigned int wrong)
{
	hwswap_count_add(HWSWAP_STAT_WORDS_MENDED, wrong);
	hwswap_fence(hwswap_active, "it wrote wrong words to a swap table");
}
