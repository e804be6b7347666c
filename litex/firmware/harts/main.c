// SPDX-License-Identifier: Apache-2.0
/* Measures each scheme on 1, 2 and 4 harts, and prints the results in lines of JSON. */
#include "harts.h"

const struct load harts_loads[] = {
    {.name = "order0"},
    {.name = "passed", .passed = true},
    {.name = "order4", .orders = {[0 ... 31] = 4}},
    {.name = "mixed",
     .orders = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 8, 9}},
};
const unsigned harts_nr_loads = sizeof(harts_loads) / sizeof(*harts_loads);

static const char *const states[] = {"empty", "fragmented", "full"};

static void loads(const struct scheme *scheme, unsigned state) {
  for (unsigned load = 0; load < harts_nr_loads; load++) {
    for (unsigned nr = 1; nr <= SWAP_HARTS && HARTS_LOADS >> load & 1; nr *= 2)
      harts_measure(scheme, states[state], &harts_loads[load], nr);
  }
}

int main(void) {
  introduce();
  json_number("harts", SWAP_HARTS);
  json_number("steps", HARTS_STEPS);
  json_number("warm", HARTS_WARM);
  json_number("held", HARTS_HELD);
  json_end();
  for (unsigned i = 0; i < bench_nr_schemes; i++) {
    for (unsigned state = 0; state < sizeof(states) / sizeof(*states); state++) {
      if (BENCH_SCHEMES >> i & 1 && HARTS_STATES >> state & 1)
        run(bench_schemes[i], state, loads);
    }
  }
  return 0;
}
