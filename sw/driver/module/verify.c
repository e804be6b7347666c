// SPDX-License-Identifier: GPL-2.0
/* Kernel, records and engine, compared cluster by cluster. */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "arena.h"
#include "cmd.h"
#include "mirror.h"
#include "registers.h"
#include "stats.h"
#include "verify.h"

/* How often a cluster that differs is looked at again before it counts. */
#define HWSWAP_VERIFY_TRIES	200
#define HWSWAP_VERIFY_DETAILS	20

/** enum hwswap_verdict - how a cluster looks on the three sides */
enum hwswap_verdict {
	HWSWAP_SAME,
	HWSWAP_LATE,		/* the engine has an older record */
	HWSWAP_RECORD_DIFFERS,	/* the record is not what the kernel's tables say */
	HWSWAP_ENGINE_DIFFERS,	/* the engine is not what the record says */
};

/** struct hwswap_compare - what hwswap_compare_one() compares */
struct hwswap_compare {
	const struct hwswap_record *record;	/* what the engine is shown */
	const struct hwswap_record *dumped;	/* what it says it holds */
	enum hwswap_verdict verdict;
	u64 kernel[HWSWAP_SLOTS / 64];
	u16 count;
	u8 order;
	u8 list;
};

/* Under the cluster lock: the record cannot change meanwhile. */
static void hwswap_compare_one(const struct swap_offload_snapshot *snap, void *data)
{
	const u64 state = HWSWAP_CLUSTER_STATE_META_COUNT | HWSWAP_CLUSTER_STATE_META_ORDER |
			  HWSWAP_CLUSTER_STATE_META_FLAG | HWSWAP_CLUSTER_STATE_META_EPOCH;
	struct hwswap_compare *cmp = data;
	u64 meta = le64_to_cpu(cmp->record->meta), dump = le64_to_cpu(cmp->dumped->meta);
	unsigned int i;

	bitmap_to_arr64(cmp->kernel, snap->used, HWSWAP_SLOTS);
	cmp->count = snap->count;
	cmp->order = snap->order;
	cmp->list = snap->list;

	cmp->verdict = HWSWAP_RECORD_DIFFERS;
	for (i = 0; i < ARRAY_SIZE(cmp->kernel); i++) {
		if (le64_to_cpu(cmp->record->bitmap[i]) != cmp->kernel[i])
			return;
	}
	/* A cluster in somebody's hands is off-list; its record says where it was. */
	if (FIELD_GET(HWSWAP_CLUSTER_STATE_META_COUNT, meta) != snap->count ||
	    (snap->list != SWAP_OFFLOAD_LIST_NONE &&
	     (FIELD_GET(HWSWAP_CLUSTER_STATE_META_FLAG, meta) != snap->list ||
	      FIELD_GET(HWSWAP_CLUSTER_STATE_META_ORDER, meta) != snap->order)))
		return;

	cmp->verdict = HWSWAP_LATE;
	if ((meta ^ dump) & HWSWAP_CLUSTER_STATE_META_SEQ)
		return;
	cmp->verdict = HWSWAP_ENGINE_DIFFERS;
	if ((meta ^ dump) & state)
		return;
	for (i = 0; i < ARRAY_SIZE(cmp->kernel); i++) {
		if (cmp->dumped->bitmap[i] != cmp->record->bitmap[i])
			return;
	}
	cmp->verdict = HWSWAP_SAME;
}

static int hwswap_dump(struct hwswap *hw, u32 first, u32 nr)
{
	const u64 arg[3] = { first, hw->dump.bus, 0 };

	return hwswap_cmd(hw, HWSWAP_OPCODE_DUMP, 0, nr, arg, NULL);
}

static void hwswap_verify_report(struct seq_file *m, const struct hwswap_swapdev *sd, u32 cluster,
				 const struct hwswap_compare *cmp)
{
	static const char *const verdicts[] = {
		[HWSWAP_LATE] = "late",
		[HWSWAP_RECORD_DIFFERS] = "record",
		[HWSWAP_ENGINE_DIFFERS] = "engine",
	};
	u64 kernel, record, engine;
	unsigned int i;

	seq_printf(m, "%s: device %u cluster %u kernel count %u order %u list %u, record meta %016llx, engine meta %016llx\n",
		   verdicts[cmp->verdict], sd->dev.type, cluster, cmp->count, cmp->order, cmp->list,
		   le64_to_cpu(cmp->record->meta), le64_to_cpu(cmp->dumped->meta));
	for (i = 0; i < ARRAY_SIZE(cmp->kernel); i++) {
		kernel = cmp->kernel[i];
		record = le64_to_cpu(cmp->record->bitmap[i]);
		engine = le64_to_cpu(cmp->dumped->bitmap[i]);
		if (kernel != record || kernel != engine)
			seq_printf(m, "  slots %u: kernel %016llx record %016llx engine %016llx\n",
				   i * 64, kernel, record, engine);
	}
}

/** struct hwswap_verify_sums - sums of one verification */
struct hwswap_verify_sums {
	u32 clusters;
	u32 differences;
};

static int hwswap_verify_device(struct seq_file *m, struct hwswap *hw, struct hwswap_swapdev *sd,
				struct hwswap_verify_sums *sum)
{
	u32 first, i, nr, tries;
	struct hwswap_compare cmp;
	int ret;

	for (first = 0; first < sd->clusters; first += nr) {
		nr = min(sd->clusters - first, (u32)HWSWAP_DUMP_CLUSTERS);
		ret = hwswap_dump(hw, sd->base + first, nr);
		if (ret)
			return ret;
		for (i = 0; i < nr; i++) {
			cmp.record = hwswap_record(hw, sd->base + first + i);
			cmp.dumped = (struct hwswap_record *)hw->dump.cpu + i;
			for (tries = 0; ; tries++) {
				if (signal_pending(current))
					return -EINTR;
				/* A device that is switched off needs no comparison. */
				if (swap_offload_snapshot(sd->dev.type, first + i,
							  hwswap_compare_one, &cmp))
					return 0;
				if (cmp.verdict == HWSWAP_SAME || tries == HWSWAP_VERIFY_TRIES)
					break;
				usleep_range(1000, 2000);
				ret = hwswap_dump(hw, sd->base + first, nr);
				if (ret)
					return ret;
			}
			sum->clusters++;
			if (cmp.verdict == HWSWAP_SAME)
				continue;
			if (sum->differences++ < HWSWAP_VERIFY_DETAILS)
				hwswap_verify_report(m, sd, first + i, &cmp);
		}
	}
	return 0;
}

/**
 * hwswap_verify - compare kernel, records and engine, cluster by cluster
 * @hw: the engine, attached
 * @m: where to print what differs, and the sums
 *
 * Swap can go on: while the engine holds an older record than the one it is shown, it
 * is given time. A signal ends it.
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: 0, -EINTR, or an error of a command.
 */
int hwswap_verify(struct hwswap *hw, struct seq_file *m)
{
	struct hwswap_verify_sums sum = {};
	unsigned int i, tries;
	int ret;

	for (tries = 0; !hwswap_mirror_settled(hw) && tries < 500; tries++) {
		if (signal_pending(current))
			return -EINTR;
		/* Also gives a simulated engine time in which to catch up. */
		hwswap_read(hw, HWSWAP_REG_STATUS);
		usleep_range(500, 1000);
	}
	for (i = 0; i < hw->devices; i++) {
		if (!hw->swapdev[i].on_engine || !READ_ONCE(hw->swapdev[i].live))
			continue;
		ret = hwswap_verify_device(m, hw, &hw->swapdev[i], &sum);
		if (ret)
			return ret;
	}
	seq_printf(m, "clusters %u differences %u\n", sum.clusters, sum.differences);
	hwswap_count(HWSWAP_STAT_VERIFIES);
	hwswap_count_add(HWSWAP_STAT_VERIFY_CLUSTERS, sum.clusters);
	hwswap_count_add(HWSWAP_STAT_VERIFY_DIFFERENCES, sum.differences);
	return 0;
}
