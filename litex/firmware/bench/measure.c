// SPDX-License-Identifier: Apache-2.0
/* Batches of one order: so many allocations, each timed; then the frees, in another order, each timed. */
#include "bench.h"

/**
 * struct series - cycles of each operation
 * @extra: cycles that belong to all operations together
 * @failures: operations that gave nothing; they are timed too
 */
struct series {
  uint32_t cycles[BENCH_OPERATIONS * BENCH_ROUNDS];
  uint32_t nr, extra, failures;
};

static struct series allocs, frees;
static struct swap_place places[BENCH_OPERATIONS];
static uint32_t overhead;

uint32_t measure_overhead(void) {
  uint32_t least = UINT32_MAX;

  /* The first rounds fill the instruction cache. */
  for (unsigned i = 0; i < 16; i++) {
    const uint32_t before = cycles_now(), cycles = cycles_now() - before;

    if (cycles < least)
      least = cycles;
  }
  overhead = least;
  return least;
}

static inline void add(struct series *series, uint32_t cycles) {
  series->cycles[series->nr++] = cycles > overhead ? cycles - overhead : 0;
}

/* The value at place n in rising order; the values change places. */
static uint32_t nth(uint32_t *values, uint32_t nr, uint32_t n) {
  int32_t low = 0, high = (int32_t)nr - 1, place = (int32_t)n;

  while (low < high) {
    const uint32_t pivot = values[place];
    int32_t i = low, j = high;

    do {
      while (values[i] < pivot)
        i++;
      while (values[j] > pivot)
        j--;
      if (i <= j) {
        const uint32_t value = values[i];

        values[i++] = values[j];
        values[j--] = value;
      }
    } while (i <= j);
    if (j < place)
      low = i;
    if (place < i)
      high = j;
  }
  return values[n];
}

static void count(const struct scheme *scheme, struct bench_count sums[BENCH_COUNTS]) {
  struct bench_count more[BENCH_COUNTS] = {0};

  if (!scheme->counts)
    return;
  scheme->counts(more);
  for (unsigned i = 0; i < BENCH_COUNTS; i++) {
    sums[i].name = more[i].name;
    sums[i].value += more[i].value;
  }
}

static void tell(const struct scheme *scheme, const char *state, unsigned order, const char *operation,
                 struct series *series, const struct bench_count counts[BENCH_COUNTS]) {
  uint64_t sum = series->extra;
  uint32_t most = 0;

  json_begin();
  json_text("kind", "cell");
  json_text("scheme", scheme->name);
  json_text("state", state);
  json_number("order", order);
  json_text("op", operation);
  json_number("n", series->nr);
  json_number("failures", series->failures);
  if (series->nr) {
    for (uint32_t i = 0; i < series->nr; i++) {
      sum += series->cycles[i];
      if (series->cycles[i] > most)
        most = series->cycles[i];
    }
    json_number("sum", sum);
    json_number("extra", series->extra);
    json_number("p50", nth(series->cycles, series->nr, (series->nr - 1) / 2));
    json_number("p99", nth(series->cycles, series->nr, (series->nr - 1) * 99 / 100));
    json_number("max", most);
  }
  for (unsigned i = 0; i < BENCH_COUNTS && counts[i].name; i++)
    json_number(counts[i].name, counts[i].value);
  json_end();
}

static __attribute__((noinline)) uint32_t allocate(const struct scheme *scheme, unsigned order, uint32_t wanted) {
  uint32_t held = 0;

  for (uint32_t i = 0; i < wanted; i++) {
    uint32_t before;
    enum swap_status status;

    before = cycles_now();
    status = scheme->alloc(order, &places[held]);
    add(&allocs, cycles_now() - before);
    if (status == SWAP_OK)
      held++;
    else if (status == SWAP_NO_SPACE)
      allocs.failures++;
    else
      fail("an allocation ended with an error");
  }
  for (uint32_t i = 0; i < held; i++)
    used_take(places[i].offset, 1u << order);
  return held;
}

/* In an order that jumps about, the same for every scheme. */
static __attribute__((noinline)) void give_back(const struct scheme *scheme, unsigned order, uint32_t held) {
  const unsigned nr = 1u << order;
  uint32_t size = 1, at = 0;

  while (size < held)
    size *= 2;
  for (uint32_t i = 0; i < size; i++) {
    at = (at + 421) & (size - 1);
    if (at >= held)
      continue;

    uint32_t before;
    enum swap_status status;

    before = cycles_now();
    status = scheme->free(places[at], nr);
    add(&frees, cycles_now() - before);
    if (status != SWAP_OK)
      fail("slots in use could not be freed");
  }
  for (uint32_t i = 0; i < held; i++)
    used_give(places[i].offset, nr);
}

static void batch(const struct scheme *scheme, const char *state, unsigned order) {
  struct bench_count before[BENCH_COUNTS] = {0}, alloc_counts[BENCH_COUNTS] = {0}, free_counts[BENCH_COUNTS] = {0};
  uint32_t wanted = BENCH_COUNT >> order;

  if (wanted < BENCH_LEAST)
    wanted = BENCH_LEAST;
  /* An empty device has no more. */
  if (wanted > (BENCH_CLUSTERS - 1) * (SWAP_SLOTS >> order))
    wanted = (BENCH_CLUSTERS - 1) * (SWAP_SLOTS >> order);
  if (wanted > BENCH_OPERATIONS)
    wanted = BENCH_OPERATIONS;

  /* The preparation of the state does not count. */
  count(scheme, before);
  allocs.nr = allocs.extra = allocs.failures = 0;
  frees.nr = frees.extra = frees.failures = 0;
  for (unsigned round = 0; round < BENCH_ROUNDS; round++) {
    const uint32_t held = allocate(scheme, order, wanted);

    count(scheme, alloc_counts);
    give_back(scheme, order, held);
    count(scheme, free_counts);
  }
  if (scheme->drop) {
    const uint32_t before = cycles_now();

    /* Places still held must be let go some time; it counts for the frees. */
    scheme->drop();
    frees.extra = cycles_now() - before;
  }
  tell(scheme, state, order, "alloc", &allocs, alloc_counts);
  tell(scheme, state, order, "free", &frees, free_counts);
}

void measure(const struct scheme *scheme, const char *state) {
  for (unsigned order = 0; order < SWAP_ORDERS; order++) {
    if (BENCH_ORDERS >> order & 1)
      batch(scheme, state, order);
  }
}
