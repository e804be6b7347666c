/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine as an adviser of the stock allocator (docs/interface.md): the allocator's tables are the truth, every
 * change of a cluster goes into its record in shared memory and is announced by a notice, and the engine's hints are
 * popped with plain loads, checked by the allocator itself, and taken by its own code.
 *
 * One CPU, number 0 of the engine's.
 */
#ifndef HWSWAP_ADVISORY_H
#define HWSWAP_ADVISORY_H

#include "engine.h"
#include "stock.h"

/** struct advisory_counts - how often each thing happened */
struct advisory_counts {
  uint32_t taken;     /* hints */
  uint32_t refused;   /* hints */
  uint32_t misses;    /* the ring was empty */
  uint32_t voids;     /* recalled hints that were skipped */
  uint32_t notices;   /* posted */
  uint32_t coalesced; /* not needed: an earlier one had not been taken */
};

/**
 * struct advisory_note - what is known of a cluster's record
 * @used: its bitmap
 * @seq: its sequence number
 * @meta: upper half of its META
 * @notice: number of its last notice, plus 1; 0: there was none
 */
struct advisory_note {
  uint32_t used[SWAP_SLOTS / 32];
  uint32_t seq;
  uint32_t meta;
  uint32_t notice;
  uint32_t unused; /* an index becomes an address without a multiplication */
};

/**
 * struct advisory - engine and allocator
 * @engine: in advisory mode
 * @swap: the stock allocator
 * @records, @cpu_line, @engine_line, @notices, @hints: memory shared with the engine
 * @notes: of each engine cluster in use
 * @base: engine cluster at which a device starts
 * @epoch: of a device
 * @notice_tail: notices ever posted
 * @want: orders that are wanted
 * @hint_head: hints ever popped, by order
 * @counts: since they were last set to 0
 */
struct advisory {
  struct engine *engine;
  struct swap *swap;
  struct shared records, cpu_line, engine_line, notices, hints;
  struct advisory_note *notes;
  uint32_t base[SWAP_DEVICES];
  uint8_t epoch[SWAP_DEVICES];
  uint32_t notice_tail;
  uint32_t want;
  uint32_t hint_head[SWAP_ORDERS];
  struct advisory_counts counts;
};

/**
 * advisory_start - connect engine and allocator
 * @advisory: filled in
 * @engine: started in advisory mode, not enabled yet; gets enabled
 * @swap: a stock allocator without devices
 * @clusters: engine clusters that devices will take, from 0 on
 * @depth: slots that a hint ring shall hold
 * @poll: engine cycles between two looks at the CPU line
 */
void advisory_start(struct advisory *advisory, struct engine *engine, struct swap *swap, uint32_t clusters,
                    unsigned depth, uint32_t poll);

/* Tells the engine of a device that the allocator has; `clusters` of them, from the engine's cluster `base` on. */
void advisory_swapon(struct advisory *advisory, unsigned type, uint32_t pages, uint32_t clusters, uint32_t base);

/* Allocates: by a hint, else by the allocator. */
enum swap_status advisory_alloc(struct advisory *advisory, unsigned order, uint64_t pfn, struct swap_place *place);

/* Frees by the allocator; the engine learns of it. */
enum swap_status advisory_free(struct advisory *advisory, struct swap_place place, unsigned nr);

/* No order is wanted any more; returns when the engine has seen that and has taken all notices. */
void advisory_quiet(struct advisory *advisory);

/* Takes all outstanding hints of a device back; returns how many. */
uint32_t advisory_recall(struct advisory *advisory, unsigned type);

/**
 * advisory_verify - compare the allocator's tables with the engine's own picture
 * @advisory: quiet
 * @type: device
 * @clusters: of it
 *
 * Return: NULL, or what is wrong, in a sentence.
 */
const char *advisory_verify(struct advisory *advisory, unsigned type, uint32_t clusters);

#endif
