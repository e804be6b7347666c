// SPDX-License-Identifier: GPL-2.0
/*
 * Bitmaps and grants (docs/grants.md). The kernel stores the slots in use and pops
 * grants in memory that the driver gives it here; the engine reads and writes the same
 * memory. So the driver has nothing to do for an allocation or a free. It only follows
 * swap devices that come and go (devices.c), and lets the engine rest.
 */
#include <linux/bitfield.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/swap_grants.h>

#include "devices.h"
#include "grants.h"
#include "lock.h"
#include "registers.h"
#include "stats.h"

static_assert(HWSWAP_CHUNK == SWAP_GRANTS_CHUNK);
static_assert(HWSWAP_ORDERS == SWAP_GRANTS_ORDERS);
static_assert(sizeof(struct swap_grants_line) == HWSWAP_GRANT_LINE_SIZE);

/* Engine clock cycles of rest after a look at clusters or rings that found nothing. */
#define HWSWAP_PAUSE_CYCLES	64ULL

/* With 8 cycles a burst, and as long as the bus does not wait, 152 are 5 % of it. */
static ushort pace = 152;
module_param(pace, ushort, 0444);
MODULE_PARM_DESC(pace, "Engine clock cycles of rest after each burst in which clusters are read in turn (default 152)");

static bool open_placement;
module_param_named(open, open_placement, bool, 0444);
MODULE_PARM_DESC(open, "Grants of any order in any cluster; the kernel has to permit it: /sys/kernel/mm/swap/any_order (default n)");

/* The memory given to the kernel; under hwswap_mutex. */
static struct swap_grants_map hwswap_map;
static_assert(sizeof(*hwswap_map.rings) == HWSWAP_GRANT_SIZE);

/* Judge the engine by so many grants, at least. */
#define HWSWAP_GRANTS_JUDGED	64

/* Counts at the last judgement; under hwswap_mutex. */
static struct {
	u64 good;
	u64 wrong;
} hwswap_judged;

/* Let the engine read clusters and serve rings, or make it leave both alone. */
static void hwswap_grants_control(struct hwswap *hw, bool run)
{
	hwswap_write(hw, HWSWAP_REG_GRANT_CONTROL,
		     FIELD_PREP(HWSWAP_GRANT_CONTROL_READ, run) |
		     FIELD_PREP(HWSWAP_GRANT_CONTROL_GRANT, run) |
		     FIELD_PREP(HWSWAP_GRANT_CONTROL_OPEN, open_placement) |
		     FIELD_PREP(HWSWAP_GRANT_CONTROL_PAUSE, HWSWAP_PAUSE_CYCLES) |
		     FIELD_PREP(HWSWAP_GRANT_CONTROL_PACE, pace));
}

/*
 * No ring is wanted, or one is again. The kernel calls this only while the driver is
 * registered, so the engine is attached.
 */
static void hwswap_rest(bool rest)
{
	struct hwswap *hw = hwswap_active;

	/* The watch expects no heartbeat from before the stop until after the start. */
	if (rest)
		WRITE_ONCE(hw->rests, true);
	hwswap_grants_control(hw, !rest);
	if (!rest)
		WRITE_ONCE(hw->rests, false);
	else
		hwswap_count(HWSWAP_STAT_RESTS);
}

static const struct swap_grants_ops hwswap_grants_ops = {
	.device = hwswap_device,
	.rest	= hwswap_rest,
};

/* Memory */

static int hwswap_map_memory(struct hwswap *hw)
{
	struct hwswap_dma *const shared[] = {
		&hw->used, &hw->words, &hw->grant_lines, &hw->grants, &hw->no_run,
	};
	struct swap_grants_map *map = &hwswap_map;
	unsigned int chunks = DIV_ROUND_UP(hw->usable, HWSWAP_CHUNK), i;

	map->bitmaps = kcalloc(chunks, sizeof(*map->bitmaps), GFP_KERNEL);
	if (!map->bitmaps)
		return -ENOMEM;
	for (i = 0; i < chunks; i++)
		map->bitmaps[i] = hw->used.cpu + i * HWSWAP_CHUNK_BYTES;
	map->clusters = hw->usable;
	map->words = hw->words.cpu;
	map->cpus = hw->cpus;
	map->ring_log2 = hw->grant_log2;
	map->lines = hw->grant_lines.cpu;
	map->rings = hw->grants.cpu;
	map->no_run = hw->no_run.cpu;
	/* Leave nothing of an earlier attach: the engine begins with empty rings. */
	for (i = 0; i < ARRAY_SIZE(shared); i++)
		memset(shared[i]->cpu, 0, shared[i]->size);
	return 0;
}

/* Begin and end */

static void hwswap_grants_program(struct hwswap *hw)
{
	unsigned int i;

	hwswap_write(hw, HWSWAP_REG_GRANT_WORD_BASE, hw->words.bus);
	hwswap_write(hw, HWSWAP_REG_GRANT_LINE_BASE, hw->grant_lines.bus);
	hwswap_write(hw, HWSWAP_REG_GRANT_NO_RUN_BASE, hw->no_run.bus);
	hwswap_write(hw, HWSWAP_REG_GRANT_RING_BASE, hw->grants.bus);
	for (i = 0; i < DIV_ROUND_UP(hw->usable, HWSWAP_CHUNK); i++)
		hwswap_write(hw, HWSWAP_REG_GRANT_CHUNK_BASE + i * HWSWAP_REG_GRANT_CHUNK_STRIDE,
			     hw->used.bus + i * HWSWAP_CHUNK_BYTES);
	WRITE_ONCE(hw->rests, false);
	hwswap_grants_control(hw, true);
}

/**
 * hwswap_grants_start - let the kernel take the engine's grants
 * @hw: the engine, reset and programmed
 *
 * All devices that are in use are told of, and stored, before this returns.
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: NULL, or why not.
 */
const char *hwswap_grants_start(struct hwswap *hw)
{
	int ret;

	lockdep_assert_held(&hwswap_mutex);
	if (hwswap_map_memory(hw))
		return "there is no memory for its bitmaps";
	hwswap_grants_program(hw);
	memset(&hwswap_judged, 0, sizeof(hwswap_judged));
	ret = swap_grants_register(&hwswap_map, &hwswap_grants_ops);
	if (!ret)
		return NULL;
	kfree(hwswap_map.bitmaps);
	switch (ret) {
	case -EBUSY:
		return "another module gives grants already";
	case -EOPNOTSUPP:
		return "the kernel's swap clusters have not 512 slots, as the engine's have";
	default:
		return "the kernel does not take its memory for bitmaps and grants";
	}
}

/**
 * hwswap_grants_stop - the kernel stores nothing and takes no grant any more
 *
 * Context: under hwswap_mutex, after hwswap_grants_start(). Sleeps.
 */
void hwswap_grants_stop(void)
{
	lockdep_assert_held(&hwswap_mutex);
	swap_grants_unregister(&hwswap_grants_ops);
	kfree(hwswap_map.bitmaps);
}

/**
 * hwswap_grants_refused - see whether most of the engine's grants are wrong
 *
 * Refused grants that were right but late, as those of clusters that have filled since,
 * or of a device that is not the best one, do not count.
 *
 * Context: under hwswap_mutex, between hwswap_grants_start() and hwswap_grants_stop().
 * Return: whether most of those since the last judgement were wrong; false while there
 * are too few to judge.
 */
bool hwswap_grants_refused(void)
{
	static const enum swap_grants_count whys[] = {
		SWAP_GRANTS_DEVICE, SWAP_GRANTS_EPOCH, SWAP_GRANTS_ORDER, SWAP_GRANTS_PLACE,
	};
	u64 counts[SWAP_GRANTS_NR_COUNTS], good, wrong = 0;
	unsigned int i;

	lockdep_assert_held(&hwswap_mutex);
	swap_grants_counts(counts);
	for (i = 0; i < ARRAY_SIZE(whys); i++)
		wrong += counts[whys[i]];
	wrong -= hwswap_judged.wrong;
	good = counts[SWAP_GRANTS_POPPED] - hwswap_judged.good;
	if (good + wrong < HWSWAP_GRANTS_JUDGED)
		return false;
	hwswap_judged.wrong += wrong;
	hwswap_judged.good += good;
	return wrong > good;
}

/**
 * hwswap_grants_verify - compare bitmaps and words with the kernel's own tables
 * @m: file for the result
 *
 * They must be equal at any time.
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: 0, or -EINTR.
 */
int hwswap_grants_verify(struct seq_file *m)
{
	unsigned int looked = 0, different = 0, type, c;
	int differ;

	for (type = 0; type < HWSWAP_MAX_TYPES; type++) {
		for (c = 0; ; c++) {
			differ = swap_grants_verify(type, c);
			if (differ < 0)
				break;
			looked++;
			different += differ;
			if (signal_pending(current))
				return -EINTR;
			cond_resched();
		}
	}
	seq_printf(m, "clusters %u differences %u\n", looked, different);
	return 0;
}
