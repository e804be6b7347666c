/* SPDX-License-Identifier: Apache-2.0 */
/* Swap tables: a page of 512 words for every cluster in use, kept for the next cluster when it is given back. */
#ifndef HWSWAP_TABLES_H
#define HWSWAP_TABLES_H

#include "locks.h"
#include "swap.h"

#define SWAP_TABLE_BYTES (SWAP_SLOTS * sizeof(uint64_t))
#ifndef SWAP_TABLES_KEPT
#define SWAP_TABLES_KEPT 8 /* by a hart for itself; all others are shared */
#endif

/** struct swap_spare - tables that no cluster uses; the first word of each leads to the next one */
struct swap_spare {
  uint64_t *first;
#if SWAP_HARTS > 1
  unsigned nr;
#endif
} OWN_LINE;

/**
 * struct swap_tables - where tables come from, and go to
 * @memory: where new ones come from
 * @kept: spare ones, by hart
 * @lock: of the members after it, and of @memory
 * @shared: spare ones for all harts
 */
struct swap_tables {
  const struct swap_memory *memory;
  struct swap_spare kept[SWAP_HARTS];
#if SWAP_HARTS > 1
  union lock lock;
  struct swap_spare shared;
#endif
};

static inline uint64_t *swap_spare_take(struct swap_spare *spare) {
  uint64_t *table = spare->first;

  if (table)
    spare->first = (uint64_t *)(uintptr_t)*table;
  return table;
}

static inline void swap_spare_add(struct swap_spare *spare, uint64_t *table) {
  *table = (uintptr_t)spare->first;
  spare->first = table;
}

#if SWAP_HARTS > 1

static __attribute__((noinline, unused)) uint64_t *swap_table_shared(struct swap_tables *tables, bool *fresh) {
  uint64_t *table;

  lock_take(&tables->lock, LOCK_MEMORY);
  table = swap_spare_take(&tables->shared);
  *fresh = !table;
  if (!table)
    table = tables->memory->get(tables->memory->context, SWAP_TABLE_BYTES);
  lock_drop(&tables->lock, LOCK_MEMORY);
  return table;
}

static __attribute__((noinline, unused)) void swap_table_share(struct swap_tables *tables, uint64_t *table) {
  lock_take(&tables->lock, LOCK_MEMORY);
  swap_spare_add(&tables->shared, table);
  lock_drop(&tables->lock, LOCK_MEMORY);
}

#endif

/* A table; its first word is of no meaning, the others are as they were when it was given back, or of no meaning. */
static inline uint64_t *swap_table_get(struct swap_tables *tables, bool *fresh) {
  struct swap_spare *kept = &tables->kept[hart_number()];
  uint64_t *table = swap_spare_take(kept);

  *fresh = !table;
#if SWAP_HARTS > 1
  if (!table)
    return swap_table_shared(tables, fresh);
  kept->nr--;
  return table;
#else
  return table ? table : tables->memory->get(tables->memory->context, SWAP_TABLE_BYTES);
#endif
}

static inline void swap_table_put(struct swap_tables *tables, uint64_t *table) {
  struct swap_spare *kept = &tables->kept[hart_number()];

#if SWAP_HARTS > 1
  if (kept->nr == SWAP_TABLES_KEPT) {
    swap_table_share(tables, table);
    return;
  }
  kept->nr++;
#endif
  swap_spare_add(kept, table);
}

static inline void swap_spare_destroy(struct swap_tables *tables, struct swap_spare *spare) {
  for (uint64_t *table; (table = swap_spare_take(spare));)
    tables->memory->put(tables->memory->context, table, SWAP_TABLE_BYTES);
}

static inline void swap_tables_destroy(struct swap_tables *tables) {
  for (unsigned hart = 0; hart < SWAP_HARTS; hart++)
    swap_spare_destroy(tables, &tables->kept[hart]);
#if SWAP_HARTS > 1
  swap_spare_destroy(tables, &tables->shared);
#endif
}

#endif
