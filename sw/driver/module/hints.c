// SPDX-License-Identifier: GPL-2.0
/*
 * Hint rings: one for each CPU and order, written by the engine, read here with
 * plain loads. All of it runs under the swap allocator's per-CPU lock, so a ring
 * has one reader.
 *
 * HINT_HEAD says which hints are used up. It is published after the change that
 * a hint has caused is in the mirror and its notice is posted, so that the engine
 * never takes a slot back before it knows that the slot is in use.
 */
#include <linux/bitfield.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "hints.h"
#include "lines.h"
#include "lock.h"
#include "mirror.h"
#include "stats.h"
#include "work.h"

/* So many refused hints in a row mean that the engine follows something else. */
#define HWSWAP_STREAK	4096

/**
 * struct hwswap_hint_cpu - how far a CPU is; under the swap allocator's per-CPU lock
 * @want: what the CPU line's WANT holds
 * @streak: hints refused in a row
 * @hint_head: hints ever popped, an order each
 */
struct hwswap_hint_cpu {
	u32 want;
	u32 streak;
	u32 hint_head[HWSWAP_ORDERS];
};

static DEFINE_PER_CPU(struct hwswap_hint_cpu, hwswap_hint_cpus);

/**
 * hwswap_hints_reset - start with empty rings
 * @hw: the engine, reset, with no hook registered
 */
void hwswap_hints_reset(struct hwswap *hw)
{
	unsigned int i;

	memset(hw->hints.cpu, 0, hw->hints.size);
	for_each_possible_cpu(i)
		memset(per_cpu_ptr(&hwswap_hint_cpus, i), 0, sizeof(struct hwswap_hint_cpu));
}

static __le64 *hwswap_hint_ring(const struct hwswap *hw, unsigned int cpu, unsigned int order)
{
	return (__le64 *)hw->hints.cpu + (((size_t)cpu * HWSWAP_ORDERS + order) << hw->hint_log2);
}

/**
 * hwswap_publish_head - tell the engine which hints are used up
 * @hw: the engine
 * @order: whose ring
 */
void hwswap_publish_head(struct hwswap *hw, unsigned int order)
{
	struct hwswap_cpu_line *line = hwswap_cpu_line(hw, smp_processor_id());

	/* The notice first: see the top of this file. */
	dma_wmb();
	WRITE_ONCE(line->hint_head[order],
		   cpu_to_le32(this_cpu_read(hwswap_hint_cpus.hint_head[order])));
}

/**
 * hwswap_pop - take the next hint off a ring
 * @hw: the engine
 * @order: whose ring
 * @hint: filled in
 *
 * HINT_HEAD is not published for the hint that is returned; its user does that.
 *
 * Return: true when there is one.
 */
static bool hwswap_pop(struct hwswap *hw, unsigned int order, struct swap_offload_hint *hint)
{
	struct hwswap_hint_cpu *cpu = this_cpu_ptr(&hwswap_hint_cpus);
	unsigned int id = smp_processor_id(), tries, type;
	__le64 *ring = hwswap_hint_ring(hw, id, order);
	u32 size = 1U << hw->hint_log2, head;
	u64 entry;

	for (tries = 0; tries < size; tries++) {
		head = cpu->hint_head[order];
		/* One load has all of the entry: there is nothing to order it with. */
		entry = le64_to_cpu(READ_ONCE(ring[head & (size - 1)]));
		if (FIELD_GET(HWSWAP_HINT_HINT_PHASE, entry) == ((head >> hw->hint_log2) & 1))
			break;
		cpu->hint_head[order] = head + 1;

		if (!(entry & HWSWAP_HINT_HINT_VALID)) {
			hwswap_count(HWSWAP_STAT_HINT_VOID);
			hwswap_publish_head(hw, order);
			continue;
		}
		type = FIELD_GET(HWSWAP_HINT_HINT_TYPE, entry);
		if (FIELD_GET(HWSWAP_HINT_HINT_ORDER, entry) != order || type >= hw->devices) {
			hwswap_doubt(hw, "a hint ring holds garbage");
			hwswap_publish_head(hw, order);
			return false;
		}
		if (FIELD_GET(HWSWAP_HINT_HINT_EPOCH, entry) !=
		    READ_ONCE(hw->swapdev[type].epoch)) {
			hwswap_count(HWSWAP_STAT_HINT_STALE_EPOCH);
			hwswap_publish_head(hw, order);
			continue;
		}
		hint->type = type;
		hint->offset = FIELD_GET(HWSWAP_HINT_HINT_SLOT, entry);
		return true;
	}

	hwswap_count(HWSWAP_STAT_HINT_MISSES);
	if (!(cpu->want & BIT(order))) {
		cpu->want |= BIT(order);
		WRITE_ONCE(hwswap_cpu_line(hw, id)->want, cpu_to_le64(cpu->want));
	}
	return false;
}

/**
 * hwswap_hint - propose slots
 * @order: of the folio
 * @hint: filled in
 *
 * Return: true when there is a proposal.
 */
bool hwswap_hint(unsigned int order, struct swap_offload_hint *hint)
{
	struct hwswap *hw = hwswap_active;

	return READ_ONCE(hwswap_mode) >= HWSWAP_HINT && order < HWSWAP_ORDERS &&
	       hwswap_pop(hw, order, hint);
}

/**
 * hwswap_hint_done - what became of a proposal
 * @order: of the folio
 * @hint: the proposal
 * @outcome: what became of it
 */
void hwswap_hint_done(unsigned int order, const struct swap_offload_hint *hint,
		      enum swap_offload_outcome outcome)
{
	static const enum hwswap_stat refusals[SWAP_OFFLOAD_NR_OUTCOMES] = {
		[SWAP_OFFLOAD_BAD_HINT] = HWSWAP_STAT_REFUSED_BAD_HINT,
		[SWAP_OFFLOAD_BAD_DEVICE] = HWSWAP_STAT_REFUSED_BAD_DEVICE,
		[SWAP_OFFLOAD_BAD_PRIORITY] = HWSWAP_STAT_REFUSED_PRIORITY,
		[SWAP_OFFLOAD_BAD_LIST] = HWSWAP_STAT_REFUSED_BAD_LIST,
		[SWAP_OFFLOAD_BAD_ORDER] = HWSWAP_STAT_REFUSED_BAD_ORDER,
		[SWAP_OFFLOAD_IN_USE] = HWSWAP_STAT_REFUSED_IN_USE,
		[SWAP_OFFLOAD_NO_TABLE] = HWSWAP_STAT_REFUSED_NO_TABLE,
	};
	struct hwswap *hw = hwswap_active;

	hwswap_publish_head(hw, order);
	if (outcome == SWAP_OFFLOAD_TAKEN) {
		hwswap_count(HWSWAP_STAT_HINTS_TAKEN);
		hwswap_count(HWSWAP_STAT_HINT_TAKES_ORDER0 + order);
		this_cpu_write(hwswap_hint_cpus.streak, 0);
		return;
	}
	hwswap_count(HWSWAP_STAT_HINTS_REFUSED);
	hwswap_count(refusals[outcome]);
	/* The better device may be one that it has no room for: no sign of a wrong engine. */
	if (outcome == SWAP_OFFLOAD_BAD_PRIORITY)
		return;
	if (this_cpu_inc_return(hwswap_hint_cpus.streak) == HWSWAP_STREAK)
		hwswap_doubt(hw, "its hints are refused one after another");
}

/**
 * hwswap_shadow_compare - compare what software took with the engine's next hint
 * @hw: the engine
 * @change: software's allocation, not in the mirror yet
 *
 * The hint is used up by that.
 *
 * Return: the order whose HINT_HEAD is to be published after the notice, or -1.
 */
int hwswap_shadow_compare(struct hwswap *hw, const struct swap_offload_change *change)
{
	unsigned int order = ilog2(change->nr);
	struct swap_offload_hint hint;

	if (order >= HWSWAP_ORDERS || !hwswap_pop(hw, order, &hint))
		return -1;
	if (hint.type == change->type &&
	    hint.offset == (unsigned long)change->cluster * HWSWAP_SLOTS + change->start)
		hwswap_count(HWSWAP_STAT_SHADOW_AGREE);
	else if (hwswap_mirror_accepts(hw, hint.type, hint.offset, order))
		hwswap_count(HWSWAP_STAT_SHADOW_VALID);
	else
		hwswap_count(HWSWAP_STAT_SHADOW_STALE);
	return order;
}
