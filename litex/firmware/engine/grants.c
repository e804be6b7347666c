// SPDX-License-Identifier: Apache-2.0
/* The slots in use, for the engine to read; places from it, for the allocator to begin at. */
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

/* Returns the lowest unit that is left; there is one. Neither CPU has an instruction that counts zeros. */
static inline uint32_t first(const struct grants_held *held, unsigned order) {
  static const uint8_t place[32] = {0,  1,  28, 2,  29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4,  8,
                                    31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6,  11, 5,  10, 9};
  const unsigned half = !held->mask[0];
  const uint32_t mask = held->mask[half];

  /* A de Bruijn sequence: each pattern of five bits is in it once. */
  return held->offset + ((half * 32u + place[(uint32_t)((mask & -mask) * 0x077cb531u) >> 27]) << order);
}

static inline void take_first(struct grants_held *held) {
  const unsigned half = !held->mask[0];

  held->mask[half] &= held->mask[half] - 1;
}

/* Takes a grant from the ring, if there is one that is worth anything; all its fields may be wrong. */
static __attribute__((noinline)) bool pop(struct grants *grants, unsigned order) {
  struct grants_held *held = &grants->held[order];
  bool live;

  for (unsigned tries = 0; tries < 1u << grants->log2; tries++) {
    const uint32_t head = grants->head[order];
    const size_t entry = entry_of(grants, order, head);
    const uint32_t upper = shared_read_half(grants->rings, entry + HWSWAP_GRANT_PLACE_OFFSET + 4);

    if (UPPER_GET(HWSWAP_GRANT_PLACE_PHASE, upper) == (head >> grants->log2 & 1))
      break;
    barrier_read();
    held->offset = shared_read_half(grants->rings, entry + HWSWAP_GRANT_PLACE_OFFSET);
    held->mask[0] = shared_read_half(grants->rings, entry + HWSWAP_GRANT_MASK_OFFSET);
    held->mask[1] = shared_read_half(grants->rings, entry + HWSWAP_GRANT_MASK_OFFSET + 4);
    held->type = (uint8_t)UPPER_GET(HWSWAP_GRANT_PLACE_TYPE, upper);
    grants->head[order] = head + 1;
    barrier_write();
    shared_write_half(grants->lines, line_of() + HWSWAP_GRANT_LINE_HEAD_OFFSET + 4 * order, head + 1);
    live = UPPER_GET(HWSWAP_GRANT_PLACE_VALID, upper) && UPPER_GET(HWSWAP_GRANT_PLACE_ORDER, upper) == order &&
           held->type < SWAP_DEVICES &&
           UPPER_GET(HWSWAP_GRANT_PLACE_EPOCH, upper) == grants->devices[held->type].epoch &&
           (held->mask[0] | held->mask[1]) &&
           stock_steer(grants->swap, hart_number(), order,
                       (struct swap_place){.type = held->type, .offset = first(held, order)});
    if (live) {
      grants->counts.popped++;
      return true;
    }
    grants->counts.refused++;
  }
  held->mask[0] = held->mask[1] = 0;
  grants->counts.misses++;
  if (!(grants->want & 1u << order)) {
    grants->want |= 1u << order;
    barrier_write();
    shared_write_half(grants->lines, line_of() + HWSWAP_GRANT_LINE_WANT_OFFSET, grants->want);
  }
  return false;
}

static __attribute__((noinline)) enum swap_status alloc_without(struct grants *grants, unsigned order, uint64_t pfn,
                                                                struct swap_place *place) {
  if (order && shared_read_half(grants->no_run, 0) >> order & 1) {
    grants->counts.no_run++;
    return SWAP_NO_SPACE;
  }
  return swap_stock.alloc(grants->swap, hart_number(), order, pfn, place);
}

enum swap_status grants_alloc(struct grants *grants, unsigned order, uint64_t pfn, struct swap_place *place) {
  struct grants_held *held = &grants->held[order];
  enum swap_status status;
  uint32_t offset;

  if (!(held->mask[0] | held->mask[1]) && !pop(grants, order))
    return alloc_without(grants, order, pfn, place);
  offset = first(held, order);
  take_first(held);
  stock_go_on(grants->swap, hart_number(), order, offset);
  status = swap_stock.alloc(grants->swap, hart_number(), order, pfn, place);
  if (status == SWAP_OK && place->offset == offset) {
    grants->counts.hits++;
    return SWAP_OK;
  }
  /* The rest of the grant is no better. */
  grants->counts.strays++;
  held->mask[0] = held->mask[1] = 0;
  return status;
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
  for (unsigned order = 0; order < SWAP_ORDERS; order++) {
    struct grants_held *held = &grants->held[order];

    held->mask[0] = held->mask[1] = 0;
  }
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
