// SPDX-License-Identifier: Apache-2.0
/* Work for several harts: hart 0 hands it out; the others look for it in a line of their own cache. */
#include "harts.h"

/* In .data, which is right from the first instruction on: hart 0 clears the variables while the others are here. */
static uint32_t started __attribute__((section(".data"))) = 0;

static struct {
  void (*work)(unsigned hart);
  uint32_t round, nr;
} job OWN_LINE;

static uint32_t arrived OWN_LINE;

/* Of harts 1 and above, each of 8 KiB (start.S). */
char harts_stacks[8192 * (SWAP_HARTS - 1) + 512] __attribute__((aligned(8192)));

struct hart_counts hart_counts[SWAP_HARTS];

_Noreturn void hart_main(unsigned hart);

void hart_main(unsigned hart) {
  uint32_t seen = 0;

  while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
    ;
  for (;;) {
    while (__atomic_load_n(&job.round, __ATOMIC_ACQUIRE) == seen)
      ;
    seen++;
    if (hart < job.nr)
      job.work(hart);
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
  }
}

void harts_run(unsigned nr, void (*work)(unsigned hart)) {
  job.work = work;
  job.nr = nr;
  __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&job.round, job.round + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
  work(0);
  while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) != SWAP_HARTS - 1)
    ;
}
