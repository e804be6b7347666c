// SPDX-License-Identifier: GPL-2.0
/*
 * Swap tables: which of them the engine knows, and when their memory is free.
 *
 * A table is the kernel's own page, given to the engine to read when a command is about
 * to need it. The driver holds a reference to the page as long as the engine may read
 * it: from before TABLE_GIVE until TABLE_TAKE (or SWAPOFF) is completed, or until the
 * engine is known to be quiet. So when the kernel frees a table, the page stays in
 * quarantine until then, and nobody waits: the hook table_freed, under the cluster lock,
 * sets the cluster's bit in @freed, and a worker takes the table back. The bit is cleared
 * before the kernel is asked for the cluster's table: what happens to that later sets it
 * again.
 *
 * Nobody tells of a cluster that gets a table. So the kernel is asked for those that the
 * engine does not know when it is about to need them; but not for a cluster that has
 * none, as its word in the shared memory says.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/swap_grants.h>
#include <linux/swap_offload.h>

#include "arena.h"
#include "cmd.h"
#include "lock.h"
#include "stats.h"
#include "tables.h"
#include "windows.h"
#include "work.h"

/* How long tables that the kernel has freed are collected before the engine is told. */
#define HWSWAP_QUARANTINE_MS	10

/* Addresses in one TABLE_GIVE: its buffer is a page, and NR has ten bits. */
static_assert(HWSWAP_GIVE_MAX * sizeof(__le64) <= HWSWAP_GIVE_SIZE);
static_assert((HWSWAP_COMMAND_HEAD_NR >> HWSWAP_COMMAND_HEAD_NR_SHIFT) >= HWSWAP_GIVE_MAX);

/**
 * hwswap_tables_alloc - allocate what is kept of each cluster
 * @hw: the engine; one that is not asked about swap tables needs none of it
 *
 * Return: 0, or -ENOMEM: then hwswap_tables_free() is still to be called.
 */
int hwswap_tables_alloc(struct hwswap *hw)
{
	if (!hwswap_has_tables(hw))
		return 0;
	hw->tables = kvcalloc(hw->usable, sizeof(*hw->tables), GFP_KERNEL);
	hw->freed = kvcalloc(BITS_TO_LONGS(hw->usable), sizeof(long), GFP_KERNEL);
	return hw->tables && hw->freed ? 0 : -ENOMEM;
}

/**
 * hwswap_tables_free - give that back
 * @hw: the engine; all tables were let go of
 */
void hwswap_tables_free(struct hwswap *hw)
{
	kvfree(hw->tables);
	kvfree(hw->freed);
	hw->tables = NULL;
	hw->freed = NULL;
}

/* Have those that were freed taken back; a worker does it, as commands take time. */
static void hwswap_tables_kick(void)
{
	hwswap_kick_tables(msecs_to_jiffies(HWSWAP_QUARANTINE_MS));
}

/**
 * hwswap_table_freed - a cluster's swap table is about to be freed
 * @type: number of the swap device
 * @cluster: number of the cluster in it
 *
 * Context: under the cluster lock, perhaps with interrupts off. Does not sleep.
 */
void hwswap_table_freed(unsigned int type, unsigned int cluster)
{
	struct hwswap *hw = hwswap_active;
	struct hwswap_swapdev *sd;

	if (type >= hw->devices)
		return;
	sd = &hw->swapdev[type];
	/* Pairs with the release in hwswap_tell_on(). */
	if (!smp_load_acquire(&sd->live) || cluster >= sd->clusters)
		return;
	cluster += sd->base;
	/* A full barrier between the two: see hwswap_table_get(). */
	if (!test_and_set_bit(cluster, hw->freed) && READ_ONCE(hw->tables[cluster].page))
		hwswap_tables_kick();
}

/* The engine does not read the table any more. */
static void hwswap_table_put(struct hwswap *hw, u32 cluster)
{
	struct hwswap_table *table = &hw->tables[cluster];
	struct page *page = table->page;

	if (!page)
		return;
	dma_unmap_page(hw->dev, table->bus, PAGE_SIZE, DMA_TO_DEVICE);
	WRITE_ONCE(table->page, NULL);
	if (!--hw->tables_given)
		hwswap_windows_no_tables(hw);
	put_page(page);
}

/* The address of a table for the engine; false when there is none. */
static bool hwswap_table_map(struct hwswap *hw, struct page *page, dma_addr_t *bus)
{
	*bus = dma_map_page(hw->dev, page, 0, PAGE_SIZE, DMA_TO_DEVICE);
	if (dma_mapping_error(hw->dev, *bus))
		return false;
	/* The kernel writes to it all the time, and nobody would tell the engine. */
	if (!dma_need_sync(hw->dev, *bus)) {
		hwswap_windows_add_table(hw, *bus);
		return true;
	}
	if (!hw->tables_incoherent)
		dev_warn(hw->dev, "its DMA is not coherent with the kernel's memory, or out of its reach: swap tables are searched by software\n");
	hw->tables_incoherent = true;
	dma_unmap_page(hw->dev, *bus, PAGE_SIZE, DMA_TO_DEVICE);
	return false;
}

/* A cluster on the free list has no table. Its word is of this swapon, or means nothing. */
static bool hwswap_table_absent(const struct hwswap *hw, const struct hwswap_swapdev *sd,
				u32 cluster)
{
	u32 word = READ_ONCE(((u32 *)hw->words.cpu)[cluster]);

	return FIELD_GET(SWAP_GRANTS_WORD_LIST, word) == SWAP_GRANTS_LIST_FREE &&
	       FIELD_GET(SWAP_GRANTS_WORD_EPOCH, word) == sd->epoch;
}

/* Hold the table of a cluster, if it has one. */
static bool hwswap_table_get(struct hwswap *hw, const struct hwswap_swapdev *sd, u32 cluster)
{
	struct hwswap_table *table = &hw->tables[cluster];
	struct page *page;
	dma_addr_t bus;

	clear_bit(cluster, hw->freed);
	/* Before the cluster's lock is taken to look. */
	smp_mb__after_atomic();
	page = swap_offload_get_table(sd->type, cluster - sd->base);
	if (!page)
		return false;
	if (!hwswap_table_map(hw, page, &bus)) {
		put_page(page);
		return false;
	}
	table->bus = bus;
	WRITE_ONCE(table->page, page);
	hw->tables_given++;
	/* Freed meanwhile: the hook has seen the page, or the bit is seen here. */
	smp_mb();
	if (test_bit(cluster, hw->freed))
		hwswap_tables_kick();
	return true;
}

static int hwswap_take_range(struct hwswap *hw, const struct hwswap_swapdev *sd, u32 first, u32 nr)
{
	const u64 arg[3] = { (u64)(first - sd->base) * HWSWAP_SLOTS, 0, 0 };
	u32 i, held = 0;
	int ret;

	for (i = first; i < first + nr; i++)
		held += !!hw->tables[i].page;
	if (!held)
		return 0;
	ret = hwswap_cmd(hw, HWSWAP_OPCODE_TABLE_TAKE, sd->type, nr, arg);
	if (ret)
		return ret;
	for (i = first; i < first + nr; i++)
		hwswap_table_put(hw, i);
	return 0;
}

/**
 * hwswap_tables_take - take back the tables that the kernel has freed
 * @hw: the engine
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: 0, or an error of a command: then what it held stays held.
 */
int hwswap_tables_take(struct hwswap *hw)
{
	const struct hwswap_swapdev *sd;
	u32 at, end, nr;
	int ret;

	lockdep_assert_held(&hwswap_mutex);
	for (sd = hw->swapdev; sd < hw->swapdev + HWSWAP_MAX_TYPES; sd++) {
		if (!sd->on_engine)
			continue;
		end = sd->base + sd->clusters;
		for (at = sd->base; (at = find_next_bit(hw->freed, end, at)) < end; at += nr) {
			for (nr = 0; at + nr < end && nr < HWSWAP_GIVE_MAX; nr++) {
				if (!test_and_clear_bit(at + nr, hw->freed))
					break;
			}
			ret = hwswap_take_range(hw, sd, at, nr);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/**
 * hwswap_tables_give - let the engine know the tables of some clusters
 * @hw: the engine
 * @sd: the device
 * @first: the first of them, in the device
 * @nr: how many, at most HWSWAP_GIVE_MAX
 *
 * Tables that were freed are taken back first, of all devices.
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: 0, -EOPNOTSUPP when it cannot read them, or an error of a command.
 */
int hwswap_tables_give(struct hwswap *hw, const struct hwswap_swapdev *sd, u32 first, u32 nr)
{
	u32 at, end = sd->base + first + nr, begin = end, last = 0;
	__le64 *addresses = hw->gives.cpu;
	u64 arg[3] = { 0, 0, hw->gives.bus };
	int ret;

	if (!hwswap_has_tables(hw))
		return -EOPNOTSUPP;
	ret = hwswap_tables_take(hw);
	if (ret)
		return ret;
	for (at = sd->base + first; at < end; at++) {
		if (hw->tables[at].page || hwswap_table_absent(hw, sd, at) ||
		    !hwswap_table_get(hw, sd, at))
			continue;
		hwswap_count(HWSWAP_STAT_TABLES_GIVEN);
		begin = min(begin, at);
		last = at;
	}
	if (hw->tables_incoherent)
		return -EOPNOTSUPP;
	if (begin == end)
		return 0;
	/* Those that it knows in between are given again: one command for all of them. */
	for (at = begin; at <= last; at++)
		addresses[at - begin] = cpu_to_le64(hw->tables[at].page ? hw->tables[at].bus : 0);
	arg[0] = (u64)(begin - sd->base) * HWSWAP_SLOTS;
	return hwswap_cmd(hw, HWSWAP_OPCODE_TABLE_GIVE, sd->type, last - begin + 1, arg);
}

/**
 * hwswap_tables_drop - take back all tables
 * @hw: the engine; it is not asked to search meanwhile
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: 0, or an error of a command: then the engine is not to be used.
 */
int hwswap_tables_drop(struct hwswap *hw)
{
	u32 i;

	for (i = 0; i < hw->usable; i++) {
		if (hw->tables[i].page)
			set_bit(i, hw->freed);
	}
	return hwswap_tables_take(hw);
}

/**
 * hwswap_tables_off - the engine has forgotten a device
 * @hw: the engine
 * @sd: the device
 */
void hwswap_tables_off(struct hwswap *hw, const struct hwswap_swapdev *sd)
{
	u32 i;

	for (i = sd->base; i < sd->base + sd->clusters; i++) {
		hwswap_table_put(hw, i);
		clear_bit(i, hw->freed);
	}
}

/**
 * hwswap_tables_release - let go of all tables
 * @hw: the engine, quiet: nothing of it is under way to memory
 */
void hwswap_tables_release(struct hwswap *hw)
{
	u32 i;

	if (!hw->tables)
		return;
	for (i = 0; i < hw->usable; i++)
		hwswap_table_put(hw, i);
	bitmap_zero(hw->freed, hw->usable);
}

/**
 * hwswap_tables_quarantined - tables that the kernel has freed and the engine has not
 * @hw: the engine
 *
 * Return: how many.
 */
u32 hwswap_tables_quarantined(const struct hwswap *hw)
{
	u32 at, nr = 0;

	for_each_set_bit(at, hw->freed, hw->usable)
		nr += !!READ_ONCE(hw->tables[at].page);
	return nr;
}
