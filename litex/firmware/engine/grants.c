// SPDX-License-Identifier: Apache-2.0
/* The slots in use, for the engine to read; clusters from it, for the allocator to begin at. */
#include "grants.h"

#define PATIENCE 2000000u

/* Engine cycles of rest after a look that found nothing, and after each burst of a round, as in the driver. */
#define PAUSE 64u
#define PACE 152u

static inline size_t entry_of(const struct grants *grants, unsigned order, uint32_t head) {
  const size_t ring = (size_t)hart_number() * SWAP_ORDERS + order;

  return ((ring << grants->log2) + (head & ((1u << grants->log2) - 1))) * HWSWAP_GRANT_SIZE;
}

/* Returns the offset of this hart's line. */
static inline size_t line_of(void) { return (size_t)hart_number() * HWSWAP_GRANT_LINE_SIZE; }

static void store_range(struct grants *grants, uint32_t cluster, unsigned start, unsigned nr, bool used) {
  struct grants_note *note = &grants->notes[cluster];

  while (nr) {
    const unsigned first = start % 32, word = start / 32, part = nr < 32 - first ? nr : 32 - first;
    const uint32_t mask = UINT32_MAX >> (32 - part) << first;

    note->used[word] = used ? note->used[word] | mask : note->used[word] & ~mask;
    shared_write_half(grants->used, (size_t)cluster * (SWAP_SLOTS / 8) + word * 4, note->used[word]);
    start += part;
    nr -= part;
  }
}

static inline uint32_t word_of(struct stock_state state, uint32_t epoch) {
  return (uint32_t)(FIELD_PUT(HWSWAP_CLUSTER_WORD_WORD_ORDER, state.order) |
                    FIELD_PUT(HWSWAP_CLUSTER_WORD_WORD_LIST, state.flag) |
                    FIELD_PUT(HWSWAP_CLUSTER_WORD_WORD_EPOCH, epoch));
}

static void changed(void *context, unsigned type, uint32_t cluster, struct stock_state state, unsigned start,
                    unsigned nr, bool taken) {
  struct grants *grants = (struct grants *)context + hart_number();
  const uint32_t number = grants->devices[type].base + cluster, word = word_of(state, grants->devices[type].epoch);
  struct grants_note *note = &grants->notes[number];

  store_range(grants, number, start, nr, taken);
  if (word != note->word) {
    note->word = word;
    shared_write_half(grants->words, (size_t)number * 4, word);
  }
}

/*
 * Takes the next grant of a ring, and has the allocator begin in its cluster if that is worth anything: all of it may
 * be wrong. False: there is none.
 */
static __attribute__((noinline)) bool pop(struct grants *grants, unsigned order) {
  const uint32_t head = grants->head[order], bit = 1u << order;
  const size_t entry = entry_of(grants, order, head) + HWSWAP_GRANT_PLACE_OFFSET;
  const uint32_t upper = shared_read_half(grants->rings, entry + 4);
  const unsigned type = UPPER_GET(HWSWAP_GRANT_PLACE_TYPE, upper);
  uint32_t cluster;

  if (UPPER_GET(HWSWAP_GRANT_PLACE_PHASE, upper) == (head >> grants->log2 & 1))
    return false;
  barrier_read();
  cluster = shared_read_half(grants->rings, entry);
  grants->head[order] = head + 1;
  /* The engine reads the last grant's cluster again when it sees the new head: what was taken there comes first. */
  barrier_write();
  shared_write_half(grants->lines, line_of() + HWSWAP_GRANT_LINE_HEAD_OFFSET + 4 * order, head + 1);
  if (UPPER_GET(HWSWAP_GRANT_PLACE_VALID, upper) && UPPER_GET(HWSWAP_GRANT_PLACE_ORDER, upper) == order &&
      type < SWAP_DEVICES && UPPER_GET(HWSWAP_GRANT_PLACE_EPOCH, upper) == grants->devices[type].epoch &&
      stock_steer(grants->swap, hart_number(), order, type, cluster)) {
    grants->held |= bit;
    grants->counts.popped++;
  } else {
    grants->held &= ~bit;
    grants->counts.refused++;
  }
  return true;
}

static __attribute__((noinline)) enum swap_status alloc_without(struct grants *grants, unsigned order, uint64_t pfn,
                                                                struct swap_place *place) {
  const uint32_t bit = 1u << order;

  grants->held &= ~bit;
  grants->counts.misses++;
  if (!(grants->want & bit)) {
    grants->want |= bit;
    barrier_write();
    shared_write_half(grants->lines, line_of() + HWSWAP_GRANT_LINE_WANT_OFFSET, grants->want);
  }
  if (order && shared_read_half(grants->no_run, 0) >> order & 1) {
    grants->counts.no_run++;
    return SWAP_NO_SPACE;
  }
  return swap_stock.alloc(grants->swap, hart_number(), order, pfn, place);
}

enum swap_status grants_alloc(struct grants *grants, unsigned order, uint64_t pfn, struct swap_place *place) {
  /* An engine that grants clusters without room, one after another, keeps no hart here. */
  for (unsigned pops = 0;; pops++) {
    if (grants->held >> order & 1 && stock_at_hint(grants->swap, hart_number(), order, pfn, place)) {
      grants->counts.hits++;
      return SWAP_OK;
    }
    if (pops == 1u << grants->log2 || !pop(grants, order))
      return alloc_without(grants, order, pfn, place);
  }
}

enum swap_status grants_free(struct grants *grants, struct swap_place place, unsigned nr) {
  return swap_stock.free(grants->swap, place.type, place.offset, nr);
}

COLD void grants_start(struct grants *grants, struct engine *engine, struct swap *swap) {
  const size_t notes = engine->clusters * sizeof(*grants->notes);
  const uint64_t state = engine_read(HWSWAP_REG_GRANT_STATE);

  *grants = (struct grants){.swap = swap, .log2 = (unsigned)FIELD_GET(HWSWAP_GRANT_STATE_RING_LOG2, state)};
  if (!engine->has_grants)
    fail("the engine was built without grants: build the SoC with PROFILE=full");
  if (engine->cpus < SWAP_HARTS)
    fail("the engine has fewer CPUs than the program has harts: build it with more");
  grants->devices = private_get(SWAP_DEVICES * sizeof(*grants->devices));
  grants->notes = private_get(notes);
  if (!grants->devices || !grants->notes)
    fail("there is not enough memory for a note of each device and cluster");
  __builtin_memset(grants->devices, 0, SWAP_DEVICES * sizeof(*grants->devices));
  __builtin_memset(grants->notes, 0, notes);
  grants->used = shared_get((size_t)engine->clusters * (SWAP_SLOTS / 8));
  grants->words = shared_get((size_t)engine->clusters * HWSWAP_CLUSTER_WORD_SIZE);
  grants->lines = shared_get((size_t)engine->cpus * HWSWAP_GRANT_LINE_SIZE);
  grants->rings = shared_get((size_t)engine->cpus * SWAP_ORDERS * HWSWAP_GRANT_SIZE << grants->log2);
  grants->no_run = shared_get(64);
  for (unsigned hart = 1; hart < SWAP_HARTS; hart++)
    grants[hart] = *grants;
  engine_write(HWSWAP_REG_GRANT_WORD_BASE, grants->words.bus);
  engine_write(HWSWAP_REG_GRANT_LINE_BASE, grants->lines.bus);
  engine_write(HWSWAP_REG_GRANT_NO_RUN_BASE, grants->no_run.bus);
  engine_write(HWSWAP_REG_GRANT_RING_BASE, grants->rings.bus);
  engine_write(HWSWAP_REG_GRANT_CHUNK_BASE, grants->used.bus);
  engine_enable(0);
  engine_write(HWSWAP_REG_GRANT_CONTROL, HWSWAP_GRANT_CONTROL_READ | HWSWAP_GRANT_CONTROL_GRANT |
                                             FIELD_PUT(HWSWAP_GRANT_CONTROL_PAUSE, PAUSE) |
                                             FIELD_PUT(HWSWAP_GRANT_CONTROL_PACE, PACE));
  stock_follow(swap, changed, grants);
}

static COLD void write_device(struct grants *grants, unsigned type, uint32_t clusters, bool live) {
  unsigned looks = 0;

  engine_write(HWSWAP_REG_GRANT_RANGE, FIELD_PUT(HWSWAP_GRANT_RANGE_BASE, grants->devices[type].base) |
                                           FIELD_PUT(HWSWAP_GRANT_RANGE_CLUSTERS, clusters));
  engine_write(HWSWAP_REG_GRANT_DEVICE, FIELD_PUT(HWSWAP_GRANT_DEVICE_TYPE, type) |
                                            FIELD_PUT(HWSWAP_GRANT_DEVICE_LIVE, live) |
                                            FIELD_PUT(HWSWAP_GRANT_DEVICE_EPOCH, grants->devices[type].epoch));
  while (engine_read(HWSWAP_REG_GRANT_STATE) & HWSWAP_GRANT_STATE_DEVICE_BUSY) {
    if (++looks == PATIENCE)
      fail("the engine does not take a device's entry");
  }
}

COLD void grants_swapon(struct grants *grants, unsigned type, uint32_t clusters, uint32_t base) {
  grants->devices[type].base = base;
  grants->devices[type].epoch++;
  write_device(grants, type, clusters, true);
  for (uint32_t i = 0; i < clusters; i++) {
    struct grants_note *note = &grants->notes[base + i];

    note->word = word_of(stock_state_of(grants->swap, type, i), grants->devices[type].epoch);
    for (unsigned slot = 0; slot < SWAP_SLOTS; slot++)
      store_range(grants, base + i, slot, 1, swap_stock.word(grants->swap, type, i * SWAP_SLOTS + slot) != 0);
    shared_write_half(grants->words, (size_t)(base + i) * 4, note->word);
  }
}

COLD void grants_swapoff(struct grants *grants, unsigned type) {
  grants_drop(grants);
  write_device(grants, type, 0, false);
}

void grants_drop(struct grants *grants) {
  grants->held = 0;
  grants->want = 0;
  barrier_write();
  shared_write_half(grants->lines, line_of() + HWSWAP_GRANT_LINE_WANT_OFFSET, 0);
}

static uint32_t rounds(void) {
  return (uint32_t)FIELD_GET(HWSWAP_GRANT_STATE_ROUNDS, engine_read_half(HWSWAP_REG_GRANT_STATE));
}

static uint32_t passes(void) {
  return UPPER_GET(HWSWAP_GRANT_STATE_PASSES, engine_read_half(HWSWAP_REG_GRANT_STATE + 4));
}

/* Waits until a count has gone on by two: a pass that is under way then began after this call. */
static COLD void wait_two(uint32_t (*count)(void)) {
  uint32_t seen = count();
  unsigned looks = 0;

  for (unsigned steps = 0; steps < 2;) {
    const uint32_t now = count();

    steps += now != seen;
    seen = now;
    if (++looks == PATIENCE)
      fail("the engine looks neither at clusters nor at rings");
  }
}

COLD void grants_settle(void) {
  barrier_full();
  wait_two(rounds);
  wait_two(passes);
}

COLD const char *grants_verify(struct grants *grants, unsigned type, uint32_t clusters) {
  for (uint32_t i = 0; i < clusters; i++) {
    const uint32_t cluster = grants->devices[type].base + i;
    const uint32_t word = word_of(stock_state_of(grants->swap, type, i), grants->devices[type].epoch);

    if (shared_read_half(grants->words, (size_t)cluster * 4) != word)
      return "a cluster's word is not what the allocator has";
    for (unsigned slot = 0; slot < SWAP_SLOTS; slot++) {
      const uint32_t used = shared_read_half(grants->used, (size_t)cluster * (SWAP_SLOTS / 8) + slot / 32 * 4);

      if ((used >> slot % 32 & 1) != (swap_stock.word(grants->swap, type, i * SWAP_SLOTS + slot) != 0))
        return "a cluster's bitmap differs from the allocator's table";
    }
  }
  return NULL;
}
