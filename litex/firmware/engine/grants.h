/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bitmaps and grants beside the stock allocator (docs/grants.md), as the kernel has them: the slots in use are stored
 * where the engine reads them; a grant says in which cluster the allocator's next search begins, and the allocator's
 * own code does the rest.
 *
 * A hart is the engine's CPU of its number. Each has a struct grants, in an array; the first one has got the memory
 * that all share.
 */
#ifndef HWSWAP_GRANTS_H
#define HWSWAP_GRANTS_H

#include "engine.h"
#include "stock.h"

/** struct grants_counts - how often each thing happened */
struct grants_counts {
  uint32_t hits;    /* allocations in a cluster that was granted */
  uint32_t misses;  /* those that had no grant of use */
  uint32_t no_run;  /* of these, large orders that failed at once */
  uint32_t popped;  /* grants of clusters that may serve the order */
  uint32_t refused; /* other grants, taken back ones included */
};

/**
 * struct grants_note - the words stored for a cluster
 * @used: its bitmap
 * @word: its WORD
 */
struct grants_note {
  uint32_t used[SWAP_SLOTS / 32];
  uint32_t word;
  uint32_t unused[15]; /* an index becomes an address without a multiplication */
};

/**
 * struct grants_device - a device that the engine was told of
 * @base: engine cluster at which it starts
 * @epoch: of its swapon
 */
struct grants_device {
  uint32_t base;
  uint32_t epoch;
};

/**
 * struct grants - engine and allocator
 * @swap: the stock allocator
 * @log2: entries of a ring, as a power of two
 * @used, @words, @lines, @rings, @no_run: memory shared with the engine
 * @notes: of each engine cluster
 * @devices: by number
 * @want: orders that are wanted
 * @held: orders for which the allocator is in a cluster that was granted
 * @head: grants ever popped, by order
 * @counts: since they were last set to 0
 */
struct grants {
  struct swap *swap;
  unsigned log2;
  struct shared used, words, lines, rings, no_run;
  struct grants_note *notes;
  struct grants_device *devices;
  uint32_t want, held;
  uint32_t head[SWAP_ORDERS];
  struct grants_counts counts;
} OWN_LINE;

/**
 * grants_start - connect engine and allocator
 * @grants: filled in: one for each hart
 * @engine: started, not enabled yet; gets enabled
 * @swap: a stock allocator without devices
 */
void grants_start(struct grants *grants, struct engine *engine, struct swap *swap);

/* Tells the engine of a device that the allocator has, with `clusters` clusters from the engine's cluster `base` on. */
void grants_swapon(struct grants *grants, unsigned type, uint32_t clusters, uint32_t base);

/* Ends the grants of a device: when this returns, the engine grants nothing of it and has taken back all grants. */
void grants_swapoff(struct grants *grants, unsigned type);

/* Allocates: in a cluster that was granted, as long as there is one. */
enum swap_status grants_alloc(struct grants *grants, unsigned order, uint64_t pfn, struct swap_place *place);

/* Frees by the allocator; the engine learns of it. */
enum swap_status grants_free(struct grants *grants, struct swap_place place, unsigned nr);

/* No order is wanted any more, and nothing is held. */
void grants_drop(struct grants *grants);

/* Waits until the engine has read all clusters and looked at all rings. */
void grants_settle(void);

/**
 * grants_verify - compare the words that the engine reads with the allocator's tables
 * @grants: dropped and settled
 * @type: device
 * @clusters: of it
 *
 * Return: NULL, or the error, in a sentence.
 */
const char *grants_verify(struct grants *grants, unsigned type, uint32_t clusters);

#endif
