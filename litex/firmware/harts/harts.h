/* SPDX-License-Identifier: Apache-2.0 */
/* The bench on several harts: its parts; docs/soc.md describes the measurements. */
#ifndef HWSWAP_HARTS_H
#define HWSWAP_HARTS_H

#include "bench.h"

#if SWAP_HARTS < 2
#error "this program is for several harts: build it with -DSWAP_HARTS=4"
#endif

/*
 * Sizes, set by whoever builds the program, beside BENCH_CLUSTERS and BENCH_SCHEMES:
 *   HARTS_STEPS   timed operations of the hart that is through first
 *   HARTS_WARM    operations before, which are not timed
 *   HARTS_HELD    allocations that a hart holds at most
 *   HARTS_STATES  one bit per state: empty, fragmented, nearly full
 *   HARTS_LOADS   one bit per load of harts_loads
 */

/**
 * struct load - the harts' work
 * @name: in one word
 * @orders: that are drawn from, by chance of 1 in 32 each
 * @passed: each allocation of a hart is freed by the next one
 */
struct load {
  const char *name;
  uint8_t orders[32];
  bool passed;
};

extern const struct load harts_loads[];
extern const unsigned harts_nr_loads;

/* Has the first `nr` harts, this one too, run `work`; returns when all have. */
void harts_run(unsigned nr, void (*work)(unsigned hart));

/* Measures a load on so many harts; `state` is printed. All that is allocated is freed again. */
void harts_measure(const struct scheme *scheme, const char *state, const struct load *load, unsigned nr);

#endif
