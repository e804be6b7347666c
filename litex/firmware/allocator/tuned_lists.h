/* SPDX-License-Identifier: Apache-2.0 */
/* The tuned allocator's state: clusters on lists by their free runs, and bits that say so. For tuned.c alone. */
#ifndef HWSWAP_TUNED_LISTS_H
#define HWSWAP_TUNED_LISTS_H

#include "bits.h"
#include "list.h"
#include "locks.h"
#include "swap.h"
#include "tables.h"
#include "words.h"

#define WORDS (SWAP_SLOTS / BITS_WORD)

/** enum place - the list a cluster is on */
enum place {
  FREE,  /* empty */
  READY, /* of its order: it has an aligned free run of that order */
  REST,  /* of its order: it has free slots, but no such run; order 0 may take them */
  FULL,  /* on no list */
};

/**
 * struct cluster - 512 slots
 * @used: one bit per slot
 * @link: in the list that @place and @order name
 * @table: one word per slot; NULL while the cluster is empty
 * @runs: one bit per word of @used: it has an aligned free run of the cluster's order; a run longer than a word counts
 *	for its first word
 * @holes: one bit per word of @used: it has a free slot
 * @count: slots in use, bad ones included
 * @first: offset of its first slot
 * @lock: of all of it but @link; @place changes under the device's lock as well
 *
 * Aligned so that its size is one of 96 or 128 bytes: an index becomes an address without a multiplication.
 */
struct cluster {
  bits_t used[WORDS];
  struct list link;
  uint64_t *table;
  uint32_t first;
  uint16_t runs, holes;
  uint16_t count;
  uint8_t order;
  uint8_t place;
  union lock lock;
} __attribute__((aligned(32)));

/**
 * struct device - a swap device
 * @link: in the list of devices with write permission, by priority
 * @ready_orders: orders whose READY list is not empty, one bit each
 * @rest_orders: the same for REST
 * @lock: of the lists and of which are empty
 */
struct device {
  struct list link;
  bool writeok, listed;
  unsigned type, flags;
  int priority;
  uint32_t pages, nr_clusters;
  union lock lock OWN_LINE;
  uint32_t ready_orders, rest_orders;
  struct list free, ready[SWAP_ORDERS], rest[SWAP_ORDERS];
  struct cluster clusters[];
};

/** struct next - the cluster a CPU takes slots of an order from */
struct next {
  struct device *device;
  struct cluster *cluster;
};

/** struct cpu - a CPU's own state */
struct cpu {
  struct next next[SWAP_ORDERS];
} OWN_LINE;

struct swap {
  struct swap_memory memory;
  struct swap_tables tables;
  unsigned nr_devices, nr_cpus;
  union lock lock; /* of the list of devices */
  struct list listed;
  struct device *devices[SWAP_DEVICES];
  struct cpu cpus[];
};

#include "devices.h"

/* Lists, under the device's lock. */

static void put(struct device *device, struct cluster *cluster, unsigned place) {
  const unsigned order = cluster->order;

  cluster->place = (uint8_t)place;
  if (place == READY) {
    list_add_before(&device->ready[order], &cluster->link);
    device->ready_orders |= 1u << order;
  } else if (place == REST) {
    list_add_before(&device->rest[order], &cluster->link);
    device->rest_orders |= 1u << order;
  } else if (place == FREE) {
    list_add_before(&device->free, &cluster->link);
  }
}

static void take_off(struct device *device, struct cluster *cluster) {
  const unsigned order = cluster->order;

  if (cluster->place == FULL)
    return;
  list_remove(&cluster->link);
  if (cluster->place == READY && list_empty(&device->ready[order]))
    device->ready_orders &= ~(1u << order);
  else if (cluster->place == REST && list_empty(&device->rest[order]))
    device->rest_orders &= ~(1u << order);
}

static __attribute__((noinline)) void relist(struct device *device, struct cluster *cluster, unsigned place) {
  lock_take(&device->lock, LOCK_DEVICE);
  take_off(device, cluster);
  put(device, cluster, place);
  lock_drop(&device->lock, LOCK_DEVICE);
}

/* To the list its bits name. */
static inline void settle(struct device *device, struct cluster *cluster) {
  const unsigned place = cluster->runs ? READY : cluster->holes ? REST : FULL;

  if (cluster->place != place)
    relist(device, cluster, place);
}

/* Bits of words. */

/* Words a run of this order spans, at least one. */
static inline unsigned span_of(unsigned order) { return order > BITS_LOG2 ? 1u << (order - BITS_LOG2) : 1; }

/* Finds out anew whether the word, or the words of the run it belongs to, have a run of the cluster's order. */
static __attribute__((noinline)) void look_for_runs(struct cluster *cluster, unsigned word) {
  const unsigned span = span_of(cluster->order);
  bits_t used = 0;
  bool has;

  word &= ~(span - 1);
  if (cluster->order <= BITS_LOG2) {
    has = bits_free_runs(cluster->used[word], cluster->order) != 0;
  } else {
    for (unsigned i = word; i < word + span; i++)
      used |= cluster->used[i];
    has = !used;
  }
  if (has)
    cluster->runs |= (uint16_t)(1u << word);
  else
    cluster->runs &= (uint16_t)~(1u << word);
}

#endif
