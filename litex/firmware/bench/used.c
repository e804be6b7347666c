// SPDX-License-Identifier: Apache-2.0
/* The bench's own account of slots in use; the states a device is brought into; and a run, from empty to empty. */
#include "bench.h"

static uint32_t used[BENCH_PAGES / 32];

void used_reset(void) {
  for (unsigned i = 0; i < BENCH_PAGES / 32; i++)
    used[i] = 0;
}

bool used_has(uint32_t offset) { return used[offset / 32] >> offset % 32 & 1; }

/* Goes through a range word by word; all of its slots were as `before`, and change. */
static void flip(uint32_t offset, unsigned nr, bool before, const char *wrong) {
  if (!offset || offset >= BENCH_PAGES || nr > BENCH_PAGES - offset)
    fail("slots outside of the device were given");
  while (nr) {
    const unsigned first = offset % 32, part = nr < 32 - first ? nr : 32 - first;
    const uint32_t mask = UINT32_MAX >> (32 - part) << first;

    if ((used[offset / 32] & mask) != (before ? mask : 0))
      fail(wrong);
    used[offset / 32] ^= mask;
    offset += part;
    nr -= part;
  }
}

void used_take(uint32_t offset, unsigned nr) { flip(offset, nr, false, "slots were given that are in use"); }

void used_give(uint32_t offset, unsigned nr) { flip(offset, nr, true, "slots are freed that are not in use"); }

static void give_back(const struct scheme *scheme, uint32_t offset, unsigned nr) {
  used_give(offset, nr);
  if (scheme->free((struct swap_place){.offset = offset}, nr) != SWAP_OK)
    fail("slots in use could not be freed");
}

/* The order that cluster n gets in the fragmented state. */
static unsigned order_of(uint32_t cluster) { return (cluster % 3) * 2; }

/* 32 bits of a number, mixed: the fate of a slot depends on seed and slot alone, whatever the order they are asked in.
 */
static uint32_t mix(uint32_t number) {
  number += BENCH_SEED * UINT32_C(0x9e3779b9);
  number = (number ^ number >> 16) * UINT32_C(0x7feb352d);
  number = (number ^ number >> 15) * UINT32_C(0x846ca68b);
  return number ^ number >> 16;
}

/*
 * All slots are taken, cluster by cluster in orders 0, 2, 4, 0, 2, 4 ...; then a part is freed at random. In
 * order 0 clusters slot by slot, in the others alternately slot by slot, which leaves hardly a run, and folio by folio.
 * They are visited in an order that jumps about the device.
 */
void fragment(const struct scheme *scheme, uint32_t mask) {
  struct swap_place place;

  for (uint32_t cluster = 0; cluster < BENCH_CLUSTERS; cluster++) {
    const unsigned order = order_of(cluster);

    for (unsigned slot = cluster ? 0 : 1; slot < SWAP_SLOTS; slot += 1u << order) {
      if (scheme->alloc_plain(order, &place) != SWAP_OK)
        fail("a device could not be filled");
      used_take(place.offset, 1u << order);
    }
  }
  if (scheme->alloc_plain(0, &place) != SWAP_NO_SPACE)
    fail("a full device gave a slot");

  /* An odd step visits every slot of a power of two. */
  for (uint32_t i = 0, offset = 0, size = 1; i < size; i++) {
    while (size < BENCH_PAGES)
      size *= 2;
    offset = (offset + 40503) & (size - 1);
    if (offset >= BENCH_PAGES || !used_has(offset))
      continue;

    const uint32_t cluster = offset / SWAP_SLOTS;
    const unsigned order = order_of(cluster), nr = order && cluster % 2 == 0 ? 1u << order : 1;
    const uint32_t first = offset & ~(uint32_t)(nr - 1);

    if (first == offset && (mix(offset) & mask) == mask)
      give_back(scheme, offset, nr);
  }
}

void free_everything(const struct scheme *scheme) {
  for (uint32_t offset = 1; offset < BENCH_PAGES; offset++) {
    unsigned nr = 0;

    while (offset + nr < BENCH_PAGES && (offset + nr) / SWAP_SLOTS == offset / SWAP_SLOTS && used_has(offset + nr))
      nr++;
    if (nr)
      give_back(scheme, offset, nr);
  }
}

void introduce(void) {
  /* Whether the linker could give all that is measured its place in the caches (image.ld). */
  extern const uint32_t layout_fits;

  json_begin();
  json_text("kind", "platform");
  json_text("cpu", CONFIG_CPU_NAME);
  json_hex("build", (uint64_t)HWSWAP_BUILD_HASH_HI << 32 | HWSWAP_BUILD_HASH_LO);
  json_number("clusters", BENCH_CLUSTERS);
  json_number("seed", BENCH_SEED);
  json_number("layout_fits", layout_fits);
}

void run(const struct scheme *scheme, unsigned state, void (*measured)(const struct scheme *scheme, unsigned state)) {
  const size_t mark = private_mark();
  const char *wrong;

  used_reset();
  shared_reset();
  scheme->start();
  if (state)
    fragment(scheme, state == 1 ? 1 : 15);
  measured(scheme, state);
  free_everything(scheme);
  wrong = scheme->check();
  if (wrong) {
    print(scheme->name);
    print(": ");
    fail(wrong);
  }
  scheme->stop();
  private_return(mark);
}
