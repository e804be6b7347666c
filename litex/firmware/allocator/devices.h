/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Add, switch and remove devices while no other hart allocates or frees, and check a free: stock and tuned share it.
 * Each includes this once, after its own struct cluster, device, next, cpu and swap, whose members used here
 * have the same names, and defines the functions that are declared first.
 */
#ifndef HWSWAP_DEVICES_H
#define HWSWAP_DEVICES_H

#include "hwswap_map.h"

/* Frees slots of a cluster that is locked, if all are in use. */
static inline enum swap_status free_range(struct swap *swap, struct device *device, struct cluster *cluster,
                                          unsigned slot, unsigned nr);

/* Makes lists and clusters of a device, whose other members are set. */
static void device_empty(struct device *device);

/* Counts slots of one cluster as used for good; before the device is listed. */
static enum swap_status set_bad(struct swap *swap, struct device *device, uint32_t offset, unsigned nr);

/* Puts a device on the list of devices, its clusters on lists the first time; takes it off. */
static void enlist(struct swap *swap, struct device *device);
static void unlist(struct device *device);

/* Gives the table of a cluster of a device that goes back. */
static void drop_table(struct swap *swap, struct cluster *cluster);

static inline struct device *device_of(const struct swap *swap, unsigned type) {
  return type < SWAP_DEVICES ? swap->devices[type] : NULL;
}

/* Inside one cluster, without the header. */
static inline bool inside(const struct device *device, uint32_t offset, unsigned nr) {
  return offset && nr >= 1 && nr <= SWAP_SLOTS - offset % SWAP_SLOTS && offset < device->pages &&
         nr <= device->pages - offset;
}

/* Devices of higher priority first; after its equals. */
static void list_device(struct swap *swap, struct device *device) {
  struct list *place;

  for (place = swap->listed.next; place != &swap->listed; place = place->next) {
    if (list_entry(place, struct device, link)->priority < device->priority)
      break;
  }
  list_add_before(place, &device->link);
}

static enum swap_status free_slots(struct swap *swap, unsigned type, uint32_t offset, unsigned nr) {
  struct device *device = device_of(swap, type);
  struct cluster *cluster;
  enum swap_status status;

  if (!device || !device->listed)
    return SWAP_BAD_DEVICE;
  if (!inside(device, offset, nr))
    return SWAP_BAD_RANGE;
  cluster = &device->clusters[offset / SWAP_SLOTS];
  lock_take(&cluster->lock, LOCK_CLUSTER);
  status = free_range(swap, device, cluster, offset % SWAP_SLOTS, nr);
  lock_drop(&cluster->lock, LOCK_CLUSTER);
  return status;
}

static size_t device_bytes(uint32_t nr_clusters) {
  return sizeof(struct device) + nr_clusters * sizeof(struct cluster);
}

static COLD void device_destroy(struct swap *swap, struct device *device) {
  unlist(device);
  for (uint32_t i = 0; i < device->nr_clusters; i++) {
    if (device->clusters[i].table)
      drop_table(swap, &device->clusters[i]);
  }
  swap->devices[device->type] = NULL;
  swap->memory.put(swap->memory.context, device, device_bytes(device->nr_clusters));
}

static COLD enum swap_status device_prepare(struct swap *swap, unsigned type, uint32_t pages, unsigned flags,
                                            int priority) {
  const uint32_t nr_clusters = pages / SWAP_SLOTS + (pages % SWAP_SLOTS != 0);
  struct device *device;

  if (type >= swap->nr_devices || swap->devices[type])
    return SWAP_BAD_DEVICE;
  if (!(flags & HWSWAP_DEVICE_FLAGS_FLAGS_SOLIDSTATE) || (flags & HWSWAP_DEVICE_FLAGS_FLAGS_DISCARD))
    return SWAP_UNSUPPORTED;
  if (!pages || pages > UINT32_MAX - SWAP_SLOTS)
    return SWAP_BAD_RANGE;
  device = swap->memory.get(swap->memory.context, device_bytes(nr_clusters));
  if (!device)
    return SWAP_NO_MEMORY;
  *device =
      (struct device){.type = type, .flags = flags, .priority = priority, .pages = pages, .nr_clusters = nr_clusters};
  device_empty(device);
  swap->devices[type] = device;
  /* The header slot, and the last cluster's slots beyond the device's end. */
  if (set_bad(swap, device, 0, 1) == SWAP_OK &&
      (!(pages % SWAP_SLOTS) || set_bad(swap, device, pages, SWAP_SLOTS - pages % SWAP_SLOTS) == SWAP_OK))
    return SWAP_OK;
  device_destroy(swap, device);
  return SWAP_NO_MEMORY;
}

static COLD enum swap_status device_mark_bad(struct swap *swap, unsigned type, uint32_t offset, unsigned nr) {
  struct device *device = device_of(swap, type);

  if (!device || device->listed)
    return SWAP_BAD_DEVICE;
  if (!inside(device, offset, nr))
    return SWAP_BAD_RANGE;
  return set_bad(swap, device, offset, nr);
}

static COLD enum swap_status device_swapon(struct swap *swap, unsigned type) {
  struct device *device = device_of(swap, type);

  if (!device || device->writeok)
    return SWAP_BAD_DEVICE;
  enlist(swap, device);
  device->listed = true;
  device->writeok = true;
  return SWAP_OK;
}

static COLD enum swap_status device_swapoff_begin(struct swap *swap, unsigned type) {
  struct device *device = device_of(swap, type);

  if (!device)
    return SWAP_BAD_DEVICE;
  unlist(device);
  device->writeok = false;
  return SWAP_OK;
}

static COLD enum swap_status device_swapoff(struct swap *swap, unsigned type) {
  struct device *device = device_of(swap, type);

  if (!device)
    return SWAP_BAD_DEVICE;
  for (unsigned cpu = 0; cpu < swap->nr_cpus; cpu++) {
    for (unsigned order = 0; order < SWAP_ORDERS; order++) {
      if (swap->cpus[cpu].next[order].device == device)
        swap->cpus[cpu].next[order] = (struct next){0};
    }
  }
  device_destroy(swap, device);
  return SWAP_OK;
}

static size_t swap_bytes(unsigned cpus) { return sizeof(struct swap) + sizeof(struct cpu) * cpus; }

static COLD struct swap *swap_create(const struct swap_memory *memory, unsigned devices, unsigned cpus) {
  struct swap *swap = memory->get(memory->context, swap_bytes(cpus));

  if (!swap)
    return NULL;
  *swap = (struct swap){.memory = *memory, .nr_cpus = cpus};
  swap->nr_devices = devices < SWAP_DEVICES ? devices : SWAP_DEVICES;
  swap->tables.memory = &swap->memory;
  list_init(&swap->listed);
  for (unsigned cpu = 0; cpu < cpus; cpu++)
    swap->cpus[cpu] = (struct cpu){0};
  return swap;
}

static COLD void swap_destroy(struct swap *swap) {
  const struct swap_memory memory = swap->memory;

  for (unsigned type = 0; type < SWAP_DEVICES; type++) {
    if (swap->devices[type])
      device_destroy(swap, swap->devices[type]);
  }
  swap_tables_destroy(&swap->tables);
  memory.put(memory.context, swap, swap_bytes(swap->nr_cpus));
}

static COLD uint64_t swap_word(const struct swap *swap, unsigned type, uint32_t offset) {
  const struct device *device = device_of(swap, type);

  if (!device || offset >= device->nr_clusters * SWAP_SLOTS || !device->clusters[offset / SWAP_SLOTS].table)
    return SWAP_WORD_FREE;
  return device->clusters[offset / SWAP_SLOTS].table[offset % SWAP_SLOTS];
}

/* An allocator's operations; its own beside those of this file. */
#define SWAP_OPS(allocate)                                                                                             \
  {                                                                                                                    \
      .create = swap_create,                                                                                           \
      .destroy = swap_destroy,                                                                                         \
      .prepare = device_prepare,                                                                                       \
      .mark_bad = device_mark_bad,                                                                                     \
      .swapon = device_swapon,                                                                                         \
      .swapoff_begin = device_swapoff_begin,                                                                           \
      .swapoff = device_swapoff,                                                                                       \
      .alloc = allocate,                                                                                               \
      .free = free_slots,                                                                                              \
      .word = swap_word,                                                                                               \
  }

#endif
