/* SPDX-License-Identifier: Apache-2.0 */
/* The bench's parts; docs/soc.md describes the measurements. */
#ifndef HWSWAP_BENCH_H
#define HWSWAP_BENCH_H

#include "grants.h"

/*
 * Sizes, set by whoever builds the program:
 *   BENCH_CLUSTERS  of the swap device
 *   BENCH_ROUNDS    times that all is allocated and freed
 *   BENCH_COUNT     slots allocated in a round, at most; for a large order at least BENCH_LEAST times
 *   BENCH_ORDERS    one bit per order
 *   BENCH_SCHEMES   one bit per scheme of bench_schemes
 */
#define BENCH_SEED 1
#define BENCH_PAGES (BENCH_CLUSTERS * SWAP_SLOTS)
#define BENCH_OPERATIONS 1024 /* in a round, at most */

/** struct bench_count - how often something happened */
struct bench_count {
  const char *name;
  uint32_t value;
};

#define BENCH_COUNTS 8 /* that a scheme has, at most */

/**
 * struct scheme - a way to allocate and free slots of one swap device
 * @name: in one word
 * @start: makes the device, empty
 * @alloc: 2^order slots, by all the means the scheme has
 * @alloc_plain: the same for preparing a state, without starting anything in advance; NULL: there is one state only
 * @free: gives 2^order slots back, or fewer
 * @drop: after a batch of one order: give up the work started in advance, which is timed; NULL: none is
 * @counts: events since it was last asked, by name, up to one without a name; NULL: nothing is counted
 * @check: NULL, or the error, in a sentence; all slots are free then
 * @stop: takes the device away
 */
struct scheme {
  const char *name;
  void (*start)(void);
  enum swap_status (*alloc)(unsigned order, struct swap_place *place);
  enum swap_status (*alloc_plain)(unsigned order, struct swap_place *place);
  enum swap_status (*free)(struct swap_place place, unsigned nr);
  void (*drop)(void);
  void (*counts)(struct bench_count counts[BENCH_COUNTS]);
  const char *(*check)(void);
  void (*stop)(void);
};

extern const struct scheme *const bench_schemes[];
extern const unsigned bench_nr_schemes;

/*
 * The slots in use, as the bench keeps account of them. Taking slots that are in use, or giving back slots that are
 * not, ends the program.
 */
void used_reset(void);
void used_take(uint32_t offset, unsigned nr);
void used_give(uint32_t offset, unsigned nr);
bool used_has(uint32_t offset);

/* Brings the device into its fragmented state; one in mask + 1 slots is free then, a power of two. */
void fragment(const struct scheme *scheme, uint32_t mask);

/* Frees all that is in use. */
void free_everything(const struct scheme *scheme);

/* Begins the line of JSON that describes the system under test; json_end() ends it. */
void introduce(void);

/**
 * run - measure a scheme in a state, from an empty device to one that is empty again, and see that all is right
 * @scheme: the scheme
 * @state: 0: empty; 1: fragmented, half of all slots are free; 2: nearly full, a sixteenth is
 * @measured: called when the device is in that state; frees all that it allocates
 */
void run(const struct scheme *scheme, unsigned state, void (*measured)(const struct scheme *scheme, unsigned state));

/* Measures a batch of each order that is asked for; `state` is printed. */
void measure(const struct scheme *scheme, const char *state);

/* The cycles between two readings of the cycle counter with nothing in between. */
uint32_t measure_overhead(void);

#endif
