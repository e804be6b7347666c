// SPDX-License-Identifier: GPL-2.0
/*
 * Mode scan: searches of swap tables by the engine. The kernel calls these hooks where
 * it may sleep, and looks at each answer itself.
 *
 * The hooks only try to take hwswap_mutex: who holds it may be waiting for them
 * (hwswap_detach()).
 */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/sched/mm.h>

#include "cmd.h"
#include "lock.h"
#include "scan.h"
#include "stats.h"
#include "tables.h"
#include "work.h"

/*
 * Software looks at a slot in 21 instructions (x86-64, gcc 12.2, counted in the loop
 * of find_next_to_unuse()), so at a cluster in 10,752 when nothing is in use there.
 * How many clusters a command has to be about to be worth its price depends on the
 * way to the device: software searches the devices of fewer clusters.
 */
#define HWSWAP_SCAN_MIN_CLUSTERS	4

/* How long a search waits for other commands to end, before software does it. */
#define HWSWAP_SCAN_WAIT_MS	100

/* Take hwswap_mutex; not if somebody else has it for long. */
static bool hwswap_enter(struct hwswap *hw)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(HWSWAP_SCAN_WAIT_MS);

	while (!mutex_trylock(&hwswap_mutex)) {
		if (READ_ONCE(hw->closing) || time_after(jiffies, deadline))
			return false;
		usleep_range(50, 200);
	}
	return true;
}

/* Can the engine be asked about this device? Under hwswap_mutex. */
static bool hwswap_serves(const struct hwswap *hw, const struct hwswap_swapdev *sd)
{
	return !READ_ONCE(hw->doubt) && sd->on_engine && READ_ONCE(sd->live) &&
	       !hw->tables_incoherent;
}

/* What the engine wrote to its 64 bytes, as a bitmap of the kernel's. */
static void hwswap_take_bitmap(const struct hwswap *hw, unsigned long *slots)
{
	const __le64 *words = hw->found.cpu;
	u64 bits[HWSWAP_SLOTS / 64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bits); i++)
		bits[i] = le64_to_cpu(words[i]);
	bitmap_from_arr64(slots, bits, HWSWAP_SLOTS);
}

/* Search a range of slots; under hwswap_mutex. */
static int hwswap_search_range(struct hwswap *hw, const struct hwswap_swapdev *sd,
			       struct swap_offload_search *search, unsigned long from,
			       unsigned long nr)
{
	u64 kinds = BIT(HWSWAP_TABLE_KIND_UNUSED), result;
	u64 arg[3] = { 0, nr, hw->found.bus };
	unsigned int status;
	int ret;

	/* Whatever the kernel would not take for free. */
	if (search->kind == SWAP_OFFLOAD_FIND_USED)
		kinds |= BIT(HWSWAP_TABLE_KIND_SHADOW) | BIT(HWSWAP_TABLE_KIND_CACHED) |
			 BIT(HWSWAP_TABLE_KIND_POINTER) | BIT(HWSWAP_TABLE_KIND_OTHER);
	arg[0] = FIELD_PREP(HWSWAP_TABLE_SCAN_SLOTS_SLOT, from) |
		 FIELD_PREP(HWSWAP_TABLE_SCAN_SLOTS_KINDS, kinds);
	ret = hwswap_cmd_status(hw, HWSWAP_OPCODE_TABLE_SCAN, sd->type, 0, arg, &result, &status);
	if (ret)
		return ret;
	if (status == HWSWAP_STATUS_NO_SPACE)
		return 0;
	if (status != HWSWAP_STATUS_OK)
		return -EREMOTEIO;
	search->found = result;
	hwswap_take_bitmap(hw, search->slots);
	return 1;
}

/*
 * Under hwswap_mutex. So many clusters at a time as one command can give the tables of:
 * most searches end among the first, and look at no others then.
 */
static int hwswap_do_search(struct hwswap *hw, const struct hwswap_swapdev *sd,
			    struct swap_offload_search *search)
{
	unsigned long from = search->from, next;
	u32 first, nr;
	int ret;

	if (!hwswap_serves(hw, sd))
		return -EAGAIN;
	for (; from < search->end; from = next) {
		first = from / HWSWAP_SLOTS;
		if (first >= sd->clusters)
			break;
		nr = min(sd->clusters - first, HWSWAP_GIVE_MAX);
		next = (unsigned long)(first + nr) * HWSWAP_SLOTS;
		ret = hwswap_tables_give(hw, sd, first, nr);
		if (!ret)
			ret = hwswap_search_range(hw, sd, search, from, next - from);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * hwswap_search - find the first slot of a kind
 * @search: what and where; filled in
 *
 * Context: process context, sleeps; but does not wait for what waits for it.
 * Return: 1 when there is one, 0 when there is none, or why there is no answer.
 */
int hwswap_search(struct swap_offload_search *search)
{
	struct hwswap *hw = hwswap_active;
	struct hwswap_swapdev *sd;
	unsigned int noio;
	int ret;

	if (search->type >= hw->devices)
		return -EOPNOTSUPP;
	sd = &hw->swapdev[search->type];
	/* Pairs with the release in hwswap_tell_on(). */
	if (!smp_load_acquire(&sd->live) || sd->clusters < HWSWAP_SCAN_MIN_CLUSTERS)
		return -EOPNOTSUPP;
	if (!hwswap_enter(hw))
		return -EBUSY;
	noio = memalloc_noio_save();
	ret = hwswap_do_search(hw, sd, search);
	memalloc_noio_restore(noio);
	if (ret == -EREMOTEIO)
		hwswap_doubt(hw, "it refuses to search a swap table");
	mutex_unlock(&hwswap_mutex);

	if (ret < 0)
		hwswap_count(HWSWAP_STAT_SEARCHES_FAILED);
	else if (search->kind == SWAP_OFFLOAD_FIND_USED)
		hwswap_count(HWSWAP_STAT_SEARCHES_USED);
	if (!ret)
		hwswap_count(HWSWAP_STAT_SEARCHES_NOTHING);
	return ret;
}

/**
 * hwswap_searched - what the kernel thinks of what was found
 * @type: number of the swap device
 * @kind: what was looked for
 * @right: slots that were so
 * @wrong: slots that were not, or not any more
 */
void hwswap_searched(unsigned int type, enum swap_offload_kind kind, unsigned int right,
		     unsigned int wrong)
{
	if (kind != SWAP_OFFLOAD_FIND_USED)
		return;
	hwswap_count_add(HWSWAP_STAT_USED_RIGHT, right);
	hwswap_count_add(HWSWAP_STAT_USED_WRONG, wrong);
}
