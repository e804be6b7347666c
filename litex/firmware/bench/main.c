// SPDX-License-Identifier: Apache-2.0
/* Measures each scheme on an empty and on a fragmented device, and prints the results in lines of JSON. */
#include "bench.h"

static void batches(const struct scheme *scheme, unsigned state) { measure(scheme, state ? "fragmented" : "empty"); }

int main(void) {
  introduce();
  json_number("xlen", __riscv_xlen);
  json_number("coherent", HWSWAP_DMA_COHERENT);
  json_number("engine_own_clock", HWSWAP_ENGINE_OWN_CLOCK);
  json_number("timer_overhead", measure_overhead());
  json_number("rounds", BENCH_ROUNDS);
  json_end();
  for (unsigned i = 0; i < bench_nr_schemes; i++) {
    for (unsigned state = 0; state < (bench_schemes[i]->alloc_plain ? 2 : 1); state++) {
      if (BENCH_SCHEMES >> i & 1)
        run(bench_schemes[i], state, batches);
    }
  }
  return 0;
}
