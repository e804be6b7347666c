// SPDX-License-Identifier: Apache-2.0
/* Measures each scheme on an empty and on a fragmented device, and says what it found in lines of JSON. */
#include "bench.h"

/* Whether the linker could give all that is measured its place in the caches (image.ld). */
extern const uint32_t layout_fits;

static void introduce(void) {
  json_begin();
  json_text("kind", "platform");
  json_text("cpu", CONFIG_CPU_NAME);
  json_hex("build", (uint64_t)HWSWAP_BUILD_HASH_HI << 32 | HWSWAP_BUILD_HASH_LO);
  json_number("xlen", __riscv_xlen);
  json_number("coherent", HWSWAP_DMA_COHERENT);
  json_number("engine_own_clock", HWSWAP_ENGINE_OWN_CLOCK);
  json_number("timer_overhead", measure_overhead());
  json_number("clusters", BENCH_CLUSTERS);
  json_number("rounds", BENCH_ROUNDS);
  json_number("pause", BENCH_PAUSE);
  json_number("gap", BENCH_GAP);
  json_number("seed", BENCH_SEED);
  json_number("layout_fits", layout_fits);
  json_end();
}

static void check(const struct scheme *scheme) {
  const char *wrong = scheme->check();

  if (wrong) {
    print(scheme->name);
    print(": ");
    fail(wrong);
  }
}

static void run(const struct scheme *scheme) {
  const size_t mark = private_mark();

  for (unsigned fragmented = 0; fragmented < (scheme->alloc_plain ? 2 : 1); fragmented++) {
    used_reset();
    shared_reset();
    scheme->start();
    if (fragmented)
      fragment(scheme, 1);
    measure(scheme, fragmented ? "fragmented" : "empty");
    free_everything(scheme);
    check(scheme);
    scheme->stop();
    private_return(mark);
  }
}

int main(void) {
  introduce();
  for (unsigned i = 0; i < bench_nr_schemes; i++) {
    if (BENCH_SCHEMES >> i & 1)
      run(bench_schemes[i]);
  }
  return 0;
}
