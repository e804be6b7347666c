/* SPDX-License-Identifier: Apache-2.0 */
/* The stock allocator's state: clusters on lists, devices on a list, table words. For stock.c alone. */
#ifndef HWSWAP_STOCK_LISTS_H
#define HWSWAP_STOCK_LISTS_H

#include "stock.h"

#include "list.h"
#include "locks.h"
#include "tables.h"
#include "words.h"

/**
 * struct cluster - 512 slots
 * @link: in the list that the state names
 * @table: one word per slot; NULL while the cluster is on FREE
 * @lock: of all of it but @link
 */
struct cluster {
  struct list link;
  uint64_t *table;
  struct stock_state state;
  union lock lock;
};

/**
 * struct device - a swap device
 * @link: in the list of available devices
 * @available: it is in that list
 * @writeok: slots of it may be given
 * @listed: its clusters are on lists
 * @used: slots in use
 * @lock: of the lists of clusters
 */
struct device {
  struct list link;
  bool available, writeok, listed;
  unsigned type, flags;
  int priority;
  uint32_t pages, nr_clusters;
  uint32_t used OWN_LINE;
  union lock lock OWN_LINE;
  struct list free, full, nonfull[SWAP_ORDERS], frag[SWAP_ORDERS];
  struct cluster clusters[];
};

/** struct next - where a CPU goes on with one order; offset 0: nowhere */
struct next {
  struct device *device;
  uint32_t offset;
};

/** struct cpu - a CPU's own state; no lock, as nothing else runs on it */
struct cpu {
  struct next next[SWAP_ORDERS];
} OWN_LINE;

struct swap {
  struct swap_memory memory;
  struct swap_tables tables;
  unsigned nr_devices, nr_cpus;
  union lock lock; /* of the list of available devices */
  struct list listed;
  struct device *devices[SWAP_DEVICES];
  stock_changed *changed;
  void *context;
  struct cpu cpus[];
};

#include "devices.h"

/* Table words, each access by itself. */

static inline uint64_t word_get(const struct cluster *cluster, unsigned slot) {
  return *(const volatile uint64_t *)&cluster->table[slot];
}

static inline void word_set(struct cluster *cluster, unsigned slot, uint64_t word) {
  *(volatile uint64_t *)&cluster->table[slot] = word;
}

static bool table_give(struct swap *swap, struct cluster *cluster) {
  bool fresh;

  cluster->table = swap_table_get(&swap->tables, &fresh);
  if (!cluster->table)
    return false;
  for (unsigned slot = 0; slot < SWAP_SLOTS; slot++)
    cluster->table[slot] = SWAP_WORD_FREE;
  return true;
}

static void drop_table(struct swap *swap, struct cluster *cluster) {
  swap_table_put(&swap->tables, cluster->table);
  cluster->table = NULL;
}

/* The list of available devices: highest priority first, equals in turn. */

static inline uint32_t slots_of(const struct device *device) { return device->nr_clusters * SWAP_SLOTS; }

static void make_available(struct swap *swap, struct device *device) {
  if (device->available)
    return;
  list_device(swap, device);
  device->available = true;
}

static void unlist(struct device *device) {
  if (device->available)
    list_remove(&device->link);
  device->available = false;
}

/*
 * Slots of a device are taken or freed. The hart that takes the last one or frees the first one puts the list right;
 * under the lock it looks again, as another hart may have done the opposite.
 */

static inline void used_add(struct swap *swap, struct device *device, unsigned nr) {
  if (count_add(&device->used, nr) != slots_of(device))
    return;
  lock_take(&swap->lock, LOCK_LIST);
  if (count_get(&device->used) == slots_of(device))
    unlist(device);
  lock_drop(&swap->lock, LOCK_LIST);
}

static inline void used_sub(struct swap *swap, struct device *device, unsigned nr) {
  if (count_add(&device->used, -nr) + nr != slots_of(device) || !device->writeok)
    return;
  lock_take(&swap->lock, LOCK_LIST);
  if (count_get(&device->used) != slots_of(device))
    make_available(swap, device);
  lock_drop(&swap->lock, LOCK_LIST);
}

static struct device *next_available(struct swap *swap, struct list *link) {
  return link->next == &swap->listed ? NULL : list_entry(link->next, struct device, link);
}

/* Clusters and their lists. */

static inline uint32_t index_of(const struct device *device, const struct cluster *cluster) {
  return (uint32_t)(cluster - device->clusters);
}

static struct list *list_of(struct device *device, unsigned flag, unsigned order) {
  switch (flag) {
  case HWSWAP_FLAG_NONFULL:
    return &device->nonfull[order];
  case HWSWAP_FLAG_FRAG:
    return &device->frag[order];
  case HWSWAP_FLAG_FREE:
    return &device->free;
  default:
    return &device->full;
  }
}

/* To the tail of the list that the flag names. */
static void move(struct swap *swap, struct device *device, struct cluster *cluster, unsigned flag) {
  const unsigned before = cluster->state.flag;

  cluster->state.flag = (uint8_t)flag;
  if (flag == HWSWAP_FLAG_FREE) {
    cluster->state.order = 0;
    drop_table(swap, cluster);
  }
  lock_take(&device->lock, LOCK_DEVICE);
  if (before != HWSWAP_FLAG_NONE)
    list_remove(&cluster->link);
  list_add_before(list_of(device, flag, cluster->state.order), &cluster->link);
  lock_drop(&device->lock, LOCK_DEVICE);
}

/* The first cluster of a list that no other hart has, off the list and locked. */
static struct cluster *isolate(struct device *device, struct list *list) {
  struct cluster *found = NULL;

  lock_take(&device->lock, LOCK_DEVICE);
  for (struct list *link = list->next; link != list; link = link->next) {
    struct cluster *cluster = list_entry(link, struct cluster, link);

    if (lock_try(&cluster->lock, LOCK_CLUSTER)) {
      list_remove(&cluster->link);
      cluster->state.flag = HWSWAP_FLAG_NONE;
      found = cluster;
      break;
    }
  }
  lock_drop(&device->lock, LOCK_DEVICE);
  return found;
}

/* An isolated cluster goes back to the head of FREE. */
static COLD void give_up(struct device *device, struct cluster *cluster) {
  cluster->state.flag = HWSWAP_FLAG_FREE;
  lock_take(&device->lock, LOCK_DEVICE);
  list_add_before(device->free.next, &cluster->link);
  lock_drop(&device->lock, LOCK_DEVICE);
}

/* After a scan: where the count says. */
static void relocate(struct swap *swap, struct device *device, struct cluster *cluster) {
  unsigned flag = HWSWAP_FLAG_FRAG;

  if (!cluster->state.count)
    flag = HWSWAP_FLAG_FREE;
  else if (cluster->state.count == SWAP_SLOTS)
    flag = HWSWAP_FLAG_FULL;
  if (cluster->state.flag != flag)
    move(swap, device, cluster, flag);
}

static inline void report(struct swap *swap, struct device *device, struct cluster *cluster, unsigned start,
                          unsigned nr, bool taken) {
  if (swap->changed)
    swap->changed(swap->context, device->type, index_of(device, cluster), cluster->state, start, nr, taken);
}

#endif
