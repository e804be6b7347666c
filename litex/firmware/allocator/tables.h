/* SPDX-License-Identifier: Apache-2.0 */
/* Swap tables: a page of 512 words for every cluster in use, kept for the next cluster when it is given back. */
#ifndef HWSWAP_TABLES_H
#define HWSWAP_TABLES_H

#include "swap.h"

/** struct swap_tables - tables that no cluster uses */
struct swap_tables {
  const struct swap_memory *memory;
  uint64_t *spare; /* the first word of each leads to the next one */
};

#define SWAP_TABLE_BYTES (SWAP_SLOTS * sizeof(uint64_t))

/* A table; its first word is of no meaning, the others are as they were when it was given back, or of no meaning. */
static inline uint64_t *swap_table_get(struct swap_tables *tables, bool *fresh) {
  uint64_t *table = tables->spare;

  *fresh = !table;
  if (!table)
    return tables->memory->get(tables->memory->context, SWAP_TABLE_BYTES);
  tables->spare = (uint64_t *)(uintptr_t)*table;
  return table;
}

static inline void swap_table_put(struct swap_tables *tables, uint64_t *table) {
  *table = (uintptr_t)tables->spare;
  tables->spare = table;
}

static inline void swap_tables_destroy(struct swap_tables *tables) {
  while (tables->spare) {
    uint64_t *table = tables->spare;

    tables->spare = (uint64_t *)(uintptr_t)*table;
    tables->memory->put(tables->memory->context, table, SWAP_TABLE_BYTES);
  }
}

#endif
