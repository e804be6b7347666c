// SPDX-License-Identifier: GPL-2.0
/*
 * The mirror: the cluster-state array, which holds what the engine has to know
 * of each cluster, and the notice rings, which say where to look.
 *
 * A record is written under its cluster's lock, so it has one writer at a time.
 * The engine may read at any time: it takes the words in rising order and keeps
 * what it read only if the sequence numbers in the first and last word agree.
 */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/preempt.h>	/* local_lock.h uses it, and does not include it */
#include <linux/local_lock.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "arena.h"
#include "lines.h"
#include "mirror.h"
#include "stats.h"

/**
 * struct hwswap_cpu - a CPU's own state
 * @lock: guards the others and the CPU line's notice word; nests inside the cluster
 *	lock. Two tasks can want them at once where spinlocks are preemptible.
 * @notice_tail: notices ever posted
 * @resync: what the CPU line's RESYNC holds
 */
struct hwswap_cpu {
	local_lock_t lock;
	u32 notice_tail;
	u32 resync;
};

static DEFINE_PER_CPU(struct hwswap_cpu, hwswap_cpus) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/**
 * struct hwswap_note - the last notice of a cluster; under the cluster lock
 * @index: its number in the ring
 * @cpu: whose ring
 * @posted: there was one
 */
struct hwswap_note {
	u32 index;
	u16 cpu;
	u16 posted;
};

/**
 * hwswap_mirror_alloc - allocate what is kept of each cluster
 * @hw: the engine
 *
 * Return: 0 or -ENOMEM.
 */
int hwswap_mirror_alloc(struct hwswap *hw)
{
	hw->notes = kvcalloc(hw->usable, sizeof(*hw->notes), GFP_KERNEL);
	return hw->notes ? 0 : -ENOMEM;
}

/**
 * hwswap_mirror_free - give that back
 * @hw: the engine
 */
void hwswap_mirror_free(struct hwswap *hw)
{
	kvfree(hw->notes);
	hw->notes = NULL;
}

/**
 * hwswap_mirror_reset - start from an empty mirror
 * @hw: the engine, reset, with no hook registered
 */
void hwswap_mirror_reset(struct hwswap *hw)
{
	struct hwswap_cpu *cpu;
	unsigned int i;

	memset(hw->state.cpu, 0, hw->state.size);
	memset(hw->lines.cpu, 0, hw->lines.size);
	memset(hw->elines.cpu, 0, hw->elines.size);
	memset(hw->notices.cpu, 0, hw->notices.size);
	memset(hw->notes, 0, hw->usable * sizeof(*hw->notes));
	for_each_possible_cpu(i) {
		cpu = per_cpu_ptr(&hwswap_cpus, i);
		cpu->notice_tail = 0;
		cpu->resync = 0;
	}
}

/* Ask the engine to look at everything, unless it is going to anyway. */
static void hwswap_ask_resync(struct hwswap_cpu *cpu, struct hwswap_cpu_line *line,
			      const struct hwswap_engine_line *eline)
{
	/*
	 * RESYNC_ACK is published before the first record is fetched. So as long
	 * as an older request is unanswered, its fetches come after the record
	 * that our caller has just written, and behind a barrier.
	 */
	if (le32_to_cpu(READ_ONCE(eline->resync_ack)) != cpu->resync)
		return;
	cpu->resync++;
	WRITE_ONCE(line->notice,
		   cpu_to_le64(FIELD_PREP(HWSWAP_CPU_LINE_NOTICE_NOTICE_TAIL, cpu->notice_tail) |
			       FIELD_PREP(HWSWAP_CPU_LINE_NOTICE_RESYNC, cpu->resync)));
	hwswap_count(HWSWAP_STAT_RESYNCS);
}

/* Tell the engine that a record has changed; under the cluster lock. */
static void hwswap_post_notice(struct hwswap *hw, u32 cluster, u32 seq)
{
	struct hwswap_note *note = &hw->notes[cluster];
	const struct hwswap_engine_line *eline;
	struct hwswap_cpu_line *line;
	struct hwswap_cpu *cpu;
	unsigned int id;
	__le64 *ring;
	u32 taken;

	if (note->posted) {
		/*
		 * The record's new content must be visible before NOTICE_HEAD is
		 * read: the engine publishes the head and then fetches. Either we
		 * see the new head, or its fetch sees the new record.
		 */
		dma_mb();
		eline = hwswap_engine_line(hw, note->cpu);
		taken = le32_to_cpu(READ_ONCE(eline->notice_head));
		if (note->index - taken < (1U << HWSWAP_NOTICE_LOG2)) {
			hwswap_count(HWSWAP_STAT_NOTICE_COALESCED);
			return;
		}
	}

	local_lock(&hwswap_cpus.lock);
	cpu = this_cpu_ptr(&hwswap_cpus);
	id = smp_processor_id();
	line = hwswap_cpu_line(hw, id);
	eline = hwswap_engine_line(hw, id);

	if (cpu->notice_tail - le32_to_cpu(READ_ONCE(eline->notice_head)) >=
	    (1U << HWSWAP_NOTICE_LOG2)) {
		note->posted = 0;
		dma_mb();
		hwswap_ask_resync(cpu, line, eline);
		hwswap_count(HWSWAP_STAT_NOTICE_OVERFLOWS);
		goto out;
	}

	ring = (__le64 *)hw->notices.cpu + ((size_t)id << HWSWAP_NOTICE_LOG2);
	WRITE_ONCE(ring[cpu->notice_tail & ((1U << HWSWAP_NOTICE_LOG2) - 1)],
		   cpu_to_le64(FIELD_PREP(HWSWAP_NOTICE_NOTICE_CLUSTER, cluster) |
			       FIELD_PREP(HWSWAP_NOTICE_NOTICE_SEQ, seq)));
	note->index = cpu->notice_tail;
	note->cpu = id;
	note->posted = 1;
	/* The entry and the record before the tail that covers them. */
	dma_wmb();
	cpu->notice_tail++;
	WRITE_ONCE(line->notice,
		   cpu_to_le64(FIELD_PREP(HWSWAP_CPU_LINE_NOTICE_NOTICE_TAIL, cpu->notice_tail) |
			       FIELD_PREP(HWSWAP_CPU_LINE_NOTICE_RESYNC, cpu->resync)));
	hwswap_count(HWSWAP_STAT_NOTICES);
out:
	local_unlock(&hwswap_cpus.lock);
}

/* Opens a record for writing; returns its next sequence number. */
static u32 hwswap_record_begin(struct hwswap_record *rec)
{
	u32 seq = FIELD_GET(HWSWAP_CLUSTER_STATE_META_SEQ, le64_to_cpu(rec->meta)) + 1;

	WRITE_ONCE(rec->tail, cpu_to_le64(FIELD_PREP(HWSWAP_CLUSTER_STATE_TAIL_SEQ_BEGIN, seq)));
	/* A reader that sees new bitmap words sees that the tail has changed. */
	dma_wmb();
	return seq;
}

static __always_inline void hwswap_record_end(struct hwswap_record *rec, u32 seq,
					      unsigned int count, unsigned int order,
					      unsigned int list, u8 epoch)
{
	/* A reader that sees this META sees the bitmap that belongs to it. */
	dma_wmb();
	WRITE_ONCE(rec->meta,
		   cpu_to_le64(FIELD_PREP(HWSWAP_CLUSTER_STATE_META_SEQ, seq) |
			       FIELD_PREP(HWSWAP_CLUSTER_STATE_META_COUNT, count) |
			       FIELD_PREP(HWSWAP_CLUSTER_STATE_META_ORDER, order) |
			       FIELD_PREP(HWSWAP_CLUSTER_STATE_META_FLAG, list) |
			       FIELD_PREP(HWSWAP_CLUSTER_STATE_META_EPOCH, epoch)));
}

/* Set or clear a range in a record's bitmap; whole words where it can. */
static __always_inline void hwswap_record_range(struct hwswap_record *rec, unsigned int start,
						unsigned int nr, bool used)
{
	unsigned int end = min(start + nr, (unsigned int)HWSWAP_SLOTS), n;
	__le64 mask;

	/* Most changes are of one slot. */
	if (nr == 1) {
		mask = cpu_to_le64(BIT_ULL(start % 64));
		WRITE_ONCE(rec->bitmap[start / 64],
			   used ? rec->bitmap[start / 64] | mask : rec->bitmap[start / 64] & ~mask);
		return;
	}

	for (; start < end; start += n) {
		n = min(end - start, 64 - start % 64);
		mask = cpu_to_le64(GENMASK_ULL(start % 64 + n - 1, start % 64));
		if (used)
			WRITE_ONCE(rec->bitmap[start / 64], rec->bitmap[start / 64] | mask);
		else
			WRITE_ONCE(rec->bitmap[start / 64], rec->bitmap[start / 64] & ~mask);
	}
}

/**
 * hwswap_mirror_update - a cluster has changed
 * @hw: the engine
 * @cluster: its number in the engine
 * @epoch: of its device
 * @change: how
 *
 * Context: the update hook: under the cluster lock, perhaps with interrupts off.
 */
void hwswap_mirror_update(struct hwswap *hw, u32 cluster, u8 epoch,
			  const struct swap_offload_change *change)
{
	struct hwswap_record *rec = hwswap_record(hw, cluster);
	u32 seq = hwswap_record_begin(rec);

	if (change->delta)
		hwswap_record_range(rec, change->start, change->nr, change->delta > 0);
	hwswap_record_end(rec, seq, change->count, change->order, change->list, epoch);
	hwswap_post_notice(hw, cluster, seq);
}

/** struct hwswap_reading - what hwswap_read_one() needs to know */
struct hwswap_reading {
	struct hwswap *hw;
	struct hwswap_swapdev *sd;
};

static void hwswap_read_one(const struct swap_offload_snapshot *snap, void *data)
{
	const struct hwswap_reading *reading = data;
	struct hwswap_swapdev *sd = reading->sd;
	u64 words[HWSWAP_SLOTS / 64];
	struct hwswap_record *rec;
	unsigned int i;
	u32 seq;

	bitmap_to_arr64(words, snap->used, HWSWAP_SLOTS);
	rec = hwswap_record(reading->hw, sd->base + snap->cluster);
	seq = hwswap_record_begin(rec);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		WRITE_ONCE(rec->bitmap[i], cpu_to_le64(words[i]));
	hwswap_record_end(rec, seq, snap->count, snap->order, snap->list, sd->epoch);
}

/**
 * hwswap_mirror_read - bring all records of a device up to date with the kernel
 * @hw: the engine
 * @sd: the device, live
 *
 * Changes go on meanwhile: each cluster is read under its lock, before which its
 * changes went into a record of no value, and after which they go into a good one.
 * No notices: the engine is told to look at all of them.
 *
 * Return: 0, or -ENODEV when the device has gone.
 */
int hwswap_mirror_read(struct hwswap *hw, struct hwswap_swapdev *sd)
{
	struct hwswap_reading reading = { .hw = hw, .sd = sd };
	u32 i;
	int ret;

	for (i = 0; i < sd->clusters; i++) {
		ret = swap_offload_snapshot(sd->dev.type, i, hwswap_read_one, &reading);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

/**
 * hwswap_mirror_settled - has the engine taken all notices?
 * @hw: the engine
 *
 * Return: true when it has, and when no resync is pending.
 */
bool hwswap_mirror_settled(struct hwswap *hw)
{
	const struct hwswap_engine_line *eline;
	struct hwswap_cpu *cpu;
	unsigned int i;

	for_each_possible_cpu(i) {
		cpu = per_cpu_ptr(&hwswap_cpus, i);
		eline = hwswap_engine_line(hw, i);
		if (le32_to_cpu(READ_ONCE(eline->notice_head)) != READ_ONCE(cpu->notice_tail) ||
		    le32_to_cpu(READ_ONCE(eline->resync_ack)) != READ_ONCE(cpu->resync))
			return false;
	}
	return true;
}

/**
 * hwswap_mirror_accepts - would the kernel accept this hint now?
 * @hw: the engine
 * @type: number of the swap device
 * @offset: first slot
 * @order: order of the folio
 *
 * For statistics: answered from the records, without any lock.
 *
 * Return: true when it would, as far as the records say.
 */
bool hwswap_mirror_accepts(struct hwswap *hw, unsigned int type, unsigned long offset,
			   unsigned int order)
{
	unsigned int nr = 1U << order, start = offset % HWSWAP_SLOTS, list, i;
	const struct hwswap_swapdev *sd = &hw->swapdev[type];
	const struct hwswap_record *rec;
	u64 meta;

	/* Pairs with the release in hwswap_go_live(). */
	if (!smp_load_acquire(&sd->live))
		return false;
	if (!offset || offset % nr || offset / HWSWAP_SLOTS >= sd->clusters)
		return false;
	rec = hwswap_record(hw, sd->base + offset / HWSWAP_SLOTS);
	meta = le64_to_cpu(READ_ONCE(rec->meta));
	list = FIELD_GET(HWSWAP_CLUSTER_STATE_META_FLAG, meta);
	if (list == HWSWAP_FLAG_FREE)
		return true;
	if (list != HWSWAP_FLAG_NONFULL && list != HWSWAP_FLAG_FRAG)
		return false;
	if (order && FIELD_GET(HWSWAP_CLUSTER_STATE_META_COUNT, meta) &&
	    FIELD_GET(HWSWAP_CLUSTER_STATE_META_ORDER, meta) != order)
		return false;
	for (i = start; i < start + nr; i++) {
		if (le64_to_cpu(READ_ONCE(rec->bitmap[i / 64])) & BIT_ULL(i % 64))
			return false;
	}
	return true;
}
