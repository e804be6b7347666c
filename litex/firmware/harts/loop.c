// SPDX-License-Identifier: Apache-2.0
/*
 * Each hart allocates until it holds half of HARTS_HELD allocations, then allocates and frees at random, so that it
 * holds none to HARTS_HELD; each call is timed by itself, waiting included. All harts work at the same time: they begin
 * together, and end when the first has done its steps.
 */
#include "harts.h"

/** struct tally - cycles of one operation; those that failed are in it */
struct tally {
  uint64_t sum;
  uint32_t nr, failures, max;
};

/** struct held - an allocation */
struct held {
  struct swap_place place;
  uint32_t order;
};

/**
 * struct worker - a hart's own
 * @allocs, @frees: the cycles they took
 * @held: its allocations; of a load that passes on: a ring that the next hart takes from
 * @put, @taken: counts of the ring
 */
struct worker {
  struct tally allocs, frees;
  uint32_t random, nr_held, steps;
  struct held held[HARTS_HELD];
  volatile uint32_t put OWN_LINE;
  volatile uint32_t taken OWN_LINE;
} OWN_LINE;

static struct worker workers[SWAP_HARTS];
static struct {
  const struct scheme *scheme;
  const struct load *load;
  uint32_t harts;
} now OWN_LINE;
static uint32_t waiting OWN_LINE;
static volatile uint32_t stop OWN_LINE;

static inline uint32_t draw(struct worker *worker) {
  worker->random = worker->random * UINT32_C(1664525) + UINT32_C(1013904223);
  return worker->random >> 16;
}

static inline void add(struct tally *tally, uint32_t cycles, bool failed) {
  tally->sum += cycles;
  tally->nr++;
  tally->failures += failed;
  if (cycles > tally->max)
    tally->max = cycles;
}

static __attribute__((noinline)) bool allocate(struct worker *worker, struct held *held) {
  enum swap_status status;
  uint32_t before;

  held->order = now.load->orders[draw(worker) % 32];
  before = cycles_now();
  status = now.scheme->alloc(held->order, &held->place);
  add(&worker->allocs, cycles_now() - before, status != SWAP_OK);
  if (status != SWAP_OK && status != SWAP_NO_SPACE)
    fail("an allocation ended with an error");
  return status == SWAP_OK;
}

static __attribute__((noinline)) void give_back(struct worker *worker, const struct held *held) {
  enum swap_status status;
  uint32_t before;

  before = cycles_now();
  status = now.scheme->free(held->place, 1u << held->order);
  add(&worker->frees, cycles_now() - before, false);
  if (status != SWAP_OK)
    fail("slots in use could not be freed");
}

/* Allocates, and adds the places to those it holds or to its ring; there is room. */
static void allocate_one(struct worker *worker) {
  if (!now.load->passed)
    worker->nr_held += allocate(worker, &worker->held[worker->nr_held]);
  else if (allocate(worker, &worker->held[worker->put % HARTS_HELD]))
    __atomic_store_n(&worker->put, worker->put + 1, __ATOMIC_RELEASE);
}

static void step_own(struct worker *worker) {
  if (!worker->nr_held || (worker->nr_held < HARTS_HELD && draw(worker) % 2)) {
    allocate_one(worker);
  } else {
    const uint32_t at = draw(worker) % worker->nr_held;
    const struct held held = worker->held[at];

    worker->held[at] = worker->held[--worker->nr_held];
    give_back(worker, &held);
  }
}

/* Puts into its own ring, or takes from that of the hart before; where it can do neither, it does nothing. */
static void step_passed(struct worker *worker, unsigned hart) {
  struct worker *from = &workers[hart ? hart - 1 : now.harts - 1];
  const bool room = worker->put - worker->taken < HARTS_HELD, some = from->put != from->taken;

  if (room && (!some || draw(worker) % 2)) {
    allocate_one(worker);
  } else if (some) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    give_back(worker, &from->held[from->taken % HARTS_HELD]);
    __atomic_store_n(&from->taken, from->taken + 1, __ATOMIC_RELEASE);
  }
}

static void steps(struct worker *worker, unsigned hart, uint32_t nr) {
  while (worker->allocs.nr + worker->frees.nr < nr && !stop) {
    if (now.load->passed)
      step_passed(worker, hart);
    else
      step_own(worker);
  }
}

/* All harts together. */
static void meet(void) {
  const uint32_t round = __atomic_fetch_add(&waiting, 1, __ATOMIC_ACQ_REL) / now.harts;

  while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) / now.harts == round)
    ;
}

static void forget(struct worker *worker, unsigned hart) {
  worker->allocs = (struct tally){0};
  worker->frees = (struct tally){0};
  for (unsigned kind = 0; kind < LOCK_KINDS; kind++)
    hart_counts[hart].waited[kind] = 0;
}

static void work(unsigned hart) {
  struct worker *worker = &workers[hart];

  forget(worker, hart);
  worker->random = BENCH_SEED * 977 + hart;
  for (unsigned i = 0; i < HARTS_HELD / 2; i++)
    allocate_one(worker);
  forget(worker, hart);
  steps(worker, hart, HARTS_WARM);
  meet();
  stop = 0;
  forget(worker, hart);
  meet();
  steps(worker, hart, HARTS_STEPS);
  stop = 1;
}

static void let_go(unsigned hart) {
  (void)hart;
  if (now.scheme->drop)
    now.scheme->drop();
}

/* Calls `action` for all that a hart still holds. */
static void for_held(struct worker *worker, void (*action)(const struct held *held)) {
  for (uint32_t i = worker->taken; i != worker->put; i++)
    action(&worker->held[i % HARTS_HELD]);
  for (uint32_t i = 0; i < worker->nr_held; i++)
    action(&worker->held[i]);
}

static void note(const struct held *held) { used_take(held->place.offset, 1u << held->order); }

static void free_noted(const struct held *held) {
  used_give(held->place.offset, 1u << held->order);
  if (now.scheme->free(held->place, 1u << held->order) != SWAP_OK)
    fail("slots in use could not be freed");
}

static void tell_tally(const char *operation, const struct tally *tally) {
  json_text("op", operation);
  json_number("n", tally->nr);
  json_number("failures", tally->failures);
  json_number("sum", tally->sum);
  json_number("max", tally->max);
}

static void tell_key(const char *kind, const char *state) {
  json_begin();
  json_text("kind", kind);
  json_text("scheme", now.scheme->name);
  json_text("state", state);
  json_text("load", now.load->name);
  json_number("harts", now.harts);
}

static void tell(const char *state, const char *operation, size_t offset) {
  struct tally all = {0};

  for (unsigned hart = 0; hart < now.harts; hart++) {
    const struct tally *one = (const struct tally *)((const char *)&workers[hart] + offset);

    all.sum += one->sum;
    all.nr += one->nr;
    all.failures += one->failures;
    if (one->max > all.max)
      all.max = one->max;
  }
  tell_key("cell", state);
  tell_tally(operation, &all);
  json_end();
}

static void tell_locks(const char *state) {
  static const char *const names[LOCK_KINDS] = {"cluster", "device", "list", "memory"};

  tell_key("locks", state);
  for (unsigned kind = 0; kind < LOCK_KINDS; kind++) {
    uint64_t waited = 0;

    for (unsigned hart = 0; hart < now.harts; hart++)
      waited += hart_counts[hart].waited[kind];
    json_number(names[kind], waited);
  }
  json_end();
}

void harts_measure(const struct scheme *scheme, const char *state, const struct load *load, unsigned nr) {
  now.scheme = scheme;
  now.load = load;
  now.harts = nr;
  waiting = 0;
  stop = 0;
  for (unsigned hart = 0; hart < nr; hart++) {
    workers[hart].nr_held = 0;
    workers[hart].put = workers[hart].taken = 0;
  }
  harts_run(nr, work);
  tell(state, "alloc", offsetof(struct worker, allocs));
  tell(state, "free", offsetof(struct worker, frees));
  tell_locks(state);
  harts_run(nr, let_go);
  /* No slot twice, none that the state has in use. */
  for (unsigned hart = 0; hart < nr; hart++)
    for_held(&workers[hart], note);
  for (unsigned hart = 0; hart < nr; hart++)
    for_held(&workers[hart], free_noted);
  let_go(0);
}
