// SPDX-License-Identifier: Apache-2.0
/*
 * The swap allocator of Linux 7.3: its rules, done as stock software does them. Clusters on lists; a cluster's table of
 * words is all that tells which slots are free, and a scan reads it slot by slot in steps of the allocation's size, an
 * empty cluster's too. Every word is read and written by itself, because readers without lock follow it. A table is
 * cleared when a cluster gets it. Several harts are kept apart by the kernel's locks (locks.h).
 */
#include "stock_lists.h"

/* Allocation. */

static bool range_is_free(const struct cluster *cluster, unsigned slot, unsigned nr) {
  for (unsigned end = slot + nr; slot < end; slot++) {
    if (word_get(cluster, slot) != SWAP_WORD_FREE)
      return false;
  }
  return true;
}

static void commit(struct swap *swap, struct device *device, struct cluster *cluster, unsigned slot, unsigned order,
                   uint64_t pfn) {
  const uint64_t word = swap_word_folio(pfn);
  const unsigned nr = 1u << order;

  if (!cluster->state.count)
    cluster->state.order = (uint8_t)order;
  for (unsigned i = 0; i < nr; i++)
    word_set(cluster, slot + i, word);
  cluster->state.count = (uint16_t)(cluster->state.count + nr);
  used_add(swap, device, nr);
}

/*
 * Looks for a run from slot `start` up, in steps of its size, and takes it. The cluster ends on the list its count
 * says, and the CPU goes on after the run, or nowhere.
 */
static bool scan(struct swap *swap, struct device *device, struct cluster *cluster, struct next *next, unsigned order,
                 unsigned start, uint64_t pfn, struct swap_place *place) {
  const unsigned nr = 1u << order;
  uint32_t goes_on = 0;
  bool found = false;
  unsigned slot = start;

  if (cluster->state.count + nr <= SWAP_SLOTS && device->writeok) {
    for (; slot + nr <= SWAP_SLOTS; slot += nr) {
      found = range_is_free(cluster, slot, nr);
      if (found)
        break;
    }
  }
  if (found) {
    commit(swap, device, cluster, slot, order, pfn);
    place->type = device->type;
    place->offset = index_of(device, cluster) * SWAP_SLOTS + slot;
    if (cluster->state.count < SWAP_SLOTS && slot + 2 * nr <= SWAP_SLOTS)
      goes_on = place->offset + nr;
  }
  relocate(swap, device, cluster);
  next->device = device;
  next->offset = goes_on;
  report(swap, device, cluster, slot, found ? nr : 0, true);
  return found;
}

/* Takes clusters off the head of a list and scans them: the first, or until one has a run. */
static bool scan_list(struct swap *swap, struct device *device, struct list *list, bool all, struct next *next,
                      unsigned order, uint64_t pfn, struct swap_place *place) {
  bool found = false;

  do {
    struct cluster *cluster = isolate(device, list);

    if (!cluster)
      return false;
    if (cluster->table || table_give(swap, cluster))
      found = scan(swap, device, cluster, next, order, 0, pfn, place);
    else
      give_up(device, cluster);
    lock_drop(&cluster->lock, LOCK_CLUSTER);
  } while (all && !found);
  return found;
}

static bool alloc_on(struct swap *swap, struct device *device, struct next *next, unsigned order, uint64_t pfn,
                     struct swap_place *place) {
  const bool top = order == SWAP_ORDERS - 1; /* a whole cluster: only free ones will do */

  if (order && !(device->flags & HWSWAP_DEVICE_FLAGS_FLAGS_BLKDEV))
    return false;
  if (!top && scan_list(swap, device, &device->nonfull[order], true, next, order, pfn, place))
    return true;
  if (scan_list(swap, device, &device->free, false, next, order, pfn, place))
    return true;
  if (!top && scan_list(swap, device, &device->frag[order], false, next, order, pfn, place))
    return true;
  if (order)
    return false;
  for (unsigned other = 1; other < SWAP_ORDERS; other++) {
    if (scan_list(swap, device, &device->frag[other], true, next, order, pfn, place) ||
        scan_list(swap, device, &device->nonfull[other], true, next, order, pfn, place))
      return true;
  }
  return false;
}

/* Whether a cluster that is locked may serve an order: it is in use, and not of another one. */
static inline bool serves(const struct cluster *cluster, unsigned order) {
  return (cluster->state.flag == HWSWAP_FLAG_NONFULL || cluster->state.flag == HWSWAP_FLAG_FRAG) &&
         (!order || !cluster->state.count || cluster->state.order == order);
}

static __attribute__((always_inline)) inline bool alloc_fast(struct swap *swap, struct next *next, unsigned order,
                                                             uint64_t pfn, struct swap_place *place) {
  struct device *device = next->device;
  struct cluster *cluster;
  bool found = false;

  if (!device || !next->offset)
    return false;
  cluster = &device->clusters[next->offset / SWAP_SLOTS];
  lock_take(&cluster->lock, LOCK_CLUSTER);
  if (serves(cluster, order))
    found = scan(swap, device, cluster, next, order, cluster->state.count ? next->offset % SWAP_SLOTS : 0, pfn, place);
  lock_drop(&cluster->lock, LOCK_CLUSTER);
  return found;
}

/*
 * The available devices in turn, each moved after its equals first. Two equals that both fail could be seen for ever,
 * since the successor is looked up before the move; so there are at most two visits for each device there could be.
 */
static __attribute__((noinline)) bool alloc_slow(struct swap *swap, struct next *next, unsigned order, uint64_t pfn,
                                                 struct swap_place *place) {
  struct device *device;

  lock_take(&swap->lock, LOCK_LIST);
  device = next_available(swap, &swap->listed);
  for (unsigned visits = 0; device && visits < 2 * swap->nr_devices; visits++) {
    struct device *successor = next_available(swap, &device->link);
    bool found;

    unlist(device);
    make_available(swap, device);
    lock_drop(&swap->lock, LOCK_LIST);
    found = alloc_on(swap, device, next, order, pfn, place);
    if (found || order)
      return found;
    lock_take(&swap->lock, LOCK_LIST);
    if (successor && !successor->available)
      successor = next_available(swap, &swap->listed);
    device = successor;
  }
  lock_drop(&swap->lock, LOCK_LIST);
  return false;
}

static enum swap_status stock_alloc(struct swap *swap, unsigned cpu, unsigned order, uint64_t pfn,
                                    struct swap_place *place) {
  struct next *next;

  if (cpu >= swap->nr_cpus || order >= SWAP_ORDERS)
    return SWAP_BAD_RANGE;
  next = &swap->cpus[cpu].next[order];
  if (alloc_fast(swap, next, order, pfn, place) || alloc_slow(swap, next, order, pfn, place))
    return SWAP_OK;
  return SWAP_NO_SPACE;
}

bool stock_steer(struct swap *swap, unsigned cpu, unsigned order, unsigned type, uint32_t number) {
  struct device *device = device_of(swap, type);
  struct cluster *cluster;
  bool usable;

  if (!device || number >= device->nr_clusters || !device->writeok ||
      (order && !(device->flags & HWSWAP_DEVICE_FLAGS_FLAGS_BLKDEV)))
    return false;
  cluster = &device->clusters[number];
  lock_take(&cluster->lock, LOCK_CLUSTER);
  if (cluster->state.flag == HWSWAP_FLAG_FREE && table_give(swap, cluster)) {
    cluster->state.order = (uint8_t)order;
    move(swap, device, cluster, HWSWAP_FLAG_NONFULL);
  }
  usable = serves(cluster, order);
  lock_drop(&cluster->lock, LOCK_CLUSTER);
  /* Offset 0 stands for nowhere; it is the header, for which the first cluster is always of order 0. */
  if (usable)
    swap->cpus[cpu].next[order] = (struct next){device, number ? number * SWAP_SLOTS : 1};
  return usable;
}

bool stock_at_hint(struct swap *swap, unsigned cpu, unsigned order, uint64_t pfn, struct swap_place *place) {
  return alloc_fast(swap, &swap->cpus[cpu].next[order], order, pfn, place);
}

/* Freeing. */

static inline enum swap_status free_range(struct swap *swap, struct device *device, struct cluster *cluster,
                                          unsigned slot, unsigned nr) {
  if (!cluster->table)
    return SWAP_BAD_RANGE;
  for (unsigned i = slot; i < slot + nr; i++) {
    const uint64_t word = word_get(cluster, i);

    if (word == SWAP_WORD_FREE || word == SWAP_WORD_BAD)
      return SWAP_BAD_RANGE;
  }
  for (unsigned i = slot; i < slot + nr; i++)
    word_set(cluster, i, SWAP_WORD_FREE);
  cluster->state.count = (uint16_t)(cluster->state.count - nr);
  used_sub(swap, device, nr);
  if (!cluster->state.count)
    move(swap, device, cluster, HWSWAP_FLAG_FREE);
  else if (cluster->state.flag != HWSWAP_FLAG_NONFULL)
    move(swap, device, cluster, HWSWAP_FLAG_NONFULL);
  report(swap, device, cluster, slot, nr, false);
  return SWAP_OK;
}

/* Devices come and go. */

static COLD enum swap_status set_bad(struct swap *swap, struct device *device, uint32_t offset, unsigned nr) {
  struct cluster *cluster = &device->clusters[offset / SWAP_SLOTS];
  const unsigned slot = offset % SWAP_SLOTS;

  if (!cluster->table && !table_give(swap, cluster))
    return SWAP_NO_MEMORY;
  if (!range_is_free(cluster, slot, nr))
    return SWAP_BAD_RANGE;
  for (unsigned i = slot; i < slot + nr; i++)
    word_set(cluster, i, SWAP_WORD_BAD);
  cluster->state.count = (uint16_t)(cluster->state.count + nr);
  device->used += nr;
  return SWAP_OK;
}

static COLD void device_empty(struct device *device) {
  list_init(&device->free);
  list_init(&device->full);
  for (unsigned order = 0; order < SWAP_ORDERS; order++) {
    list_init(&device->nonfull[order]);
    list_init(&device->frag[order]);
  }
  for (uint32_t i = 0; i < device->nr_clusters; i++)
    device->clusters[i] = (struct cluster){.state = {.flag = HWSWAP_FLAG_NONE}};
}

static COLD void enlist(struct swap *swap, struct device *device) {
  for (uint32_t i = 0; i < device->nr_clusters && !device->listed; i++) {
    struct cluster *cluster = &device->clusters[i];

    cluster->state.flag = cluster->state.count ? HWSWAP_FLAG_NONFULL : HWSWAP_FLAG_FREE;
    list_add_before(list_of(device, cluster->state.flag, 0), &cluster->link);
  }
  make_available(swap, device);
}

void stock_follow(struct swap *swap, stock_changed *changed, void *context) {
  swap->changed = changed;
  swap->context = context;
}

struct stock_state stock_state_of(const struct swap *swap, unsigned type, uint32_t cluster) {
  return swap->devices[type]->clusters[cluster].state;
}

const struct swap_ops swap_stock = SWAP_OPS(stock_alloc);
