// SPDX-License-Identifier: Apache-2.0
/*
 * A swap allocator that gives the service of the stock one with better algorithms.
 *
 * Indexed placement: a cluster is listed by its order and by whether it has an aligned free run of that order, so an
 * allocation looks at one cluster, which has room for it, or at none. Inside a cluster two bits for each word of its
 * bitmap say whether there is a run, and whether there is any free slot. Bitmaps are searched by words, a folio's
 * table words are written as one fill, ranges are checked by masks, and a table that comes back is all free words
 * already. Several harts are kept apart by the same locks as stock's (locks.h).
 */
#include "tuned_lists.h"

/* Allocation. */

/* An empty cluster, which is locked and on no list, becomes one of this order; or stays empty without memory. */
static __attribute__((noinline)) bool open(struct swap *swap, struct device *device, struct cluster *cluster,
                                           unsigned order) {
  bool fresh;
  uint64_t *table = swap_table_get(&swap->tables, &fresh);

  if (table) {
    if (fresh)
      swap_fill(table, SWAP_WORD_FREE, SWAP_SLOTS);
    else
      table[0] = SWAP_WORD_FREE;
    cluster->table = table;
    cluster->order = (uint8_t)order;
    cluster->holes = (uint16_t)((1u << WORDS) - 1);
    /* One bit in every span words. */
    cluster->runs = (uint16_t)(((1u << WORDS) - 1) / ((1u << span_of(order)) - 1));
  }
  lock_take(&device->lock, LOCK_DEVICE);
  put(device, cluster, table ? READY : FREE);
  lock_drop(&device->lock, LOCK_DEVICE);
  return table;
}

/* Takes the lowest run of the cluster's own order; there is one. */
static inline unsigned take_run(struct cluster *cluster) {
  const unsigned order = cluster->order, word = bits_lowest32(cluster->runs);
  unsigned slot = 0;

  if (order <= BITS_LOG2) {
    const bits_t runs = bits_free_runs(cluster->used[word], order);

    slot = bits_lowest(runs);
    cluster->used[word] |= bits_mask(slot, 1u << order);
    if (!(runs & (runs - 1)))
      cluster->runs &= (uint16_t)~(1u << word);
    if (cluster->used[word] == BITS_ALL)
      cluster->holes &= (uint16_t)~(1u << word);
  } else {
    const unsigned span = span_of(order);

    for (unsigned i = word; i < word + span; i++)
      cluster->used[i] = BITS_ALL;
    cluster->runs &= (uint16_t)~(1u << word);
    cluster->holes &= (uint16_t)~(((1u << span) - 1) << word);
  }
  return word * BITS_WORD + slot;
}

/* Takes the lowest free slot of a cluster of another order; there is one. */
static __attribute__((noinline)) unsigned take_hole(struct cluster *cluster) {
  const unsigned word = bits_lowest32(cluster->holes), slot = bits_lowest(~cluster->used[word]);

  cluster->used[word] |= (bits_t)1 << slot;
  if (cluster->used[word] == BITS_ALL)
    cluster->holes &= (uint16_t)~(1u << word);
  if (cluster->runs)
    look_for_runs(cluster, word);
  return word * BITS_WORD + slot;
}

/* The first cluster of a list that no other hart has, locked. */
static inline struct cluster *first_of(struct list *list) {
  for (struct list *link = list->next; link != list; link = link->next) {
    struct cluster *cluster = list_entry(link, struct cluster, link);

    if (lock_try(&cluster->lock, LOCK_CLUSTER))
      return cluster;
  }
  return NULL;
}

/* The first such cluster of several lists, of the lowest order. */
static inline struct cluster *first_of_orders(struct list lists[SWAP_ORDERS], uint32_t orders) {
  struct cluster *cluster = NULL;

  for (; orders && !cluster; orders &= orders - 1)
    cluster = first_of(&lists[bits_lowest32(orders)]);
  return cluster;
}

/* The cluster that slots of this order are to come from, locked; an empty one is off its list. NULL: there is none. */
static struct cluster *choose_listed(struct device *device, unsigned order) {
  struct cluster *cluster = NULL;

  if (device->ready_orders & 1u << order)
    cluster = first_of(&device->ready[order]);
  if (cluster) {
    /* The next CPU finds another one. */
    list_remove(&cluster->link);
    list_add_before(&device->ready[order], &cluster->link);
    return cluster;
  }
  cluster = first_of(&device->free);
  if (cluster) {
    take_off(device, cluster);
    cluster->place = FULL;
    return cluster;
  }
  if (order)
    return NULL;
  /* Prefer clusters that no other order can use. */
  cluster = first_of_orders(device->rest, device->rest_orders);
  return cluster ? cluster : first_of_orders(device->ready, device->ready_orders);
}

/* The cluster of a device that slots of this order are to come from, locked; NULL: it has none. */
static struct cluster *choose(struct swap *swap, struct device *device, unsigned order) {
  struct cluster *cluster;

  if (order && !(device->flags & HWSWAP_DEVICE_FLAGS_FLAGS_BLKDEV))
    return NULL;
  lock_take(&device->lock, LOCK_DEVICE);
  cluster = choose_listed(device, order);
  lock_drop(&device->lock, LOCK_DEVICE);
  if (!cluster || cluster->table || open(swap, device, cluster, order))
    return cluster;
  lock_drop(&cluster->lock, LOCK_CLUSTER);
  return NULL;
}

/*
 * Goes through the devices for a cluster that slots of this order are to come from; it is locked. The list may change
 * while a device is looked at, so that one is missed which another hart has put in front.
 */
static __attribute__((noinline)) struct next find(struct swap *swap, unsigned order) {
  struct next found = {0};
  struct list *link;

  lock_take(&swap->lock, LOCK_LIST);
  for (link = swap->listed.next; link != &swap->listed; link = link->next) {
    struct device *device = list_entry(link, struct device, link);

    lock_drop(&swap->lock, LOCK_LIST);
    found.device = device;
    found.cluster = choose(swap, device, order);
    lock_take(&swap->lock, LOCK_LIST);
    if (!found.cluster)
      continue;
    /* After its equals, if there are others. */
    if (device->link.next != device->link.previous) {
      list_remove(&device->link);
      list_device(swap, device);
    }
    break;
  }
  lock_drop(&swap->lock, LOCK_LIST);
  return found;
}

static enum swap_status tuned_alloc(struct swap *swap, unsigned cpu, unsigned order, uint64_t pfn,
                                    struct swap_place *place) {
  struct next *current, from;
  struct cluster *cluster;
  unsigned slot;

  if (cpu >= swap->nr_cpus || order >= SWAP_ORDERS)
    return SWAP_BAD_RANGE;
  current = &swap->cpus[cpu].next[order];
  from = *current;
  cluster = from.cluster;
  if (cluster) {
    lock_take(&cluster->lock, LOCK_CLUSTER);
    /* Nothing has runs that is empty. */
    if (!cluster->runs || cluster->order != order || !from.device->writeok) {
      lock_drop(&cluster->lock, LOCK_CLUSTER);
      cluster = NULL;
    }
  }
  if (!cluster) {
    from = find(swap, order);
    cluster = from.cluster;
    if (!cluster)
      return SWAP_NO_SPACE;
    if (cluster->order == order)
      *current = from;
  }
  slot = cluster->order == order ? take_run(cluster) : take_hole(cluster);
  settle(from.device, cluster);
  cluster->count = (uint16_t)(cluster->count + (1u << order));
  swap_fill(&cluster->table[slot], swap_word_folio(pfn), 1u << order);
  lock_drop(&cluster->lock, LOCK_CLUSTER);
  place->type = from.device->type;
  place->offset = cluster->first + slot;
  return SWAP_OK;
}

/* Freeing. */

/* Calls `action` for each word of a range, with the bits of the range in it; stops when it returns false. */
static __attribute__((noinline)) bool by_word(struct cluster *cluster, unsigned slot, unsigned nr,
                                              bool (*action)(struct cluster *cluster, unsigned word, bits_t mask)) {
  while (nr) {
    const unsigned first = slot % BITS_WORD, room = BITS_WORD - first, part = nr < room ? nr : room;

    if (!action(cluster, slot / BITS_WORD, bits_mask(first, part)))
      return false;
    slot += part;
    nr -= part;
  }
  return true;
}

static bool word_is_used(struct cluster *cluster, unsigned word, bits_t mask) {
  return (cluster->used[word] & mask) == mask;
}

static COLD bool word_is_free(struct cluster *cluster, unsigned word, bits_t mask) {
  return !(cluster->used[word] & mask);
}

static COLD bool word_use(struct cluster *cluster, unsigned word, bits_t mask) {
  cluster->used[word] |= mask;
  if (cluster->used[word] == BITS_ALL)
    cluster->holes &= (uint16_t)~(1u << word);
  return true;
}

static bool word_clear(struct cluster *cluster, unsigned word, bits_t mask) {
  cluster->used[word] &= ~mask;
  cluster->holes |= (uint16_t)(1u << word);
  return true;
}

static bool word_look(struct cluster *cluster, unsigned word, bits_t mask) {
  (void)mask;
  look_for_runs(cluster, word);
  return true;
}

static __attribute__((noinline)) void close(struct swap *swap, struct device *device, struct cluster *cluster) {
  swap_table_put(&swap->tables, cluster->table);
  cluster->table = NULL;
  cluster->runs = 0;
  lock_take(&device->lock, LOCK_DEVICE);
  take_off(device, cluster);
  cluster->order = 0;
  put(device, cluster, FREE);
  lock_drop(&device->lock, LOCK_DEVICE);
}

static inline enum swap_status free_range(struct swap *swap, struct device *device, struct cluster *cluster,
                                          unsigned slot, unsigned nr) {
  if (!cluster->table)
    return SWAP_BAD_RANGE;
  if (slot % BITS_WORD + nr <= BITS_WORD) {
    /* Most ranges lie in one word. */
    const bits_t mask = bits_mask(slot % BITS_WORD, nr);
    const unsigned word = slot / BITS_WORD;

    if ((cluster->used[word] & mask) != mask)
      return SWAP_BAD_RANGE;
    cluster->used[word] &= ~mask;
    cluster->holes |= (uint16_t)(1u << word);
  } else {
    if (!by_word(cluster, slot, nr, word_is_used))
      return SWAP_BAD_RANGE;
    by_word(cluster, slot, nr, word_clear);
  }
  swap_fill(&cluster->table[slot], SWAP_WORD_FREE, nr);
  cluster->count = (uint16_t)(cluster->count - nr);
  if (!cluster->count) {
    close(swap, device, cluster);
    return SWAP_OK;
  }
  /* One whole run, which is how most come back, is a run again. */
  if (nr == 1u << cluster->order && !(slot & (nr - 1)))
    cluster->runs |= (uint16_t)(1u << slot / BITS_WORD);
  else
    by_word(cluster, slot, nr, word_look);
  settle(device, cluster);
  return SWAP_OK;
}

/* Devices come and go. */

static COLD enum swap_status set_bad(struct swap *swap, struct device *device, uint32_t offset, unsigned nr) {
  struct cluster *cluster = &device->clusters[offset / SWAP_SLOTS];
  const unsigned slot = offset % SWAP_SLOTS;

  if (!cluster->table) {
    take_off(device, cluster);
    if (!open(swap, device, cluster, 0))
      return SWAP_NO_MEMORY;
  }
  if (!by_word(cluster, slot, nr, word_is_free))
    return SWAP_BAD_RANGE;
  by_word(cluster, slot, nr, word_use);
  by_word(cluster, slot, nr, word_look);
  swap_fill(&cluster->table[slot], SWAP_WORD_BAD, nr);
  cluster->count = (uint16_t)(cluster->count + nr);
  settle(device, cluster);
  return SWAP_OK;
}

static COLD void device_empty(struct device *device) {
  list_init(&device->free);
  for (unsigned order = 0; order < SWAP_ORDERS; order++) {
    list_init(&device->ready[order]);
    list_init(&device->rest[order]);
  }
  for (uint32_t i = 0; i < device->nr_clusters; i++) {
    device->clusters[i] = (struct cluster){.first = i * SWAP_SLOTS};
    put(device, &device->clusters[i], FREE);
  }
}

static COLD void enlist(struct swap *swap, struct device *device) { list_device(swap, device); }

static COLD void unlist(struct device *device) {
  if (device->writeok)
    list_remove(&device->link);
}

static COLD void drop_table(struct swap *swap, struct cluster *cluster) {
  swap_fill(cluster->table, SWAP_WORD_FREE, SWAP_SLOTS);
  swap_table_put(&swap->tables, cluster->table);
}

const struct swap_ops swap_tuned = SWAP_OPS(tuned_alloc);
