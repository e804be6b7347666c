/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A swap allocator in two forms that give the same service: `stock` works as Linux 7.3 does; `tuned` has better
 * algorithms. Freestanding C, for RV32, RV64 and the host; one thread at a time, no locks.
 *
 * A swap device is an array of slots of one page; slot 0 is its header. 512 slots are a cluster. An allocation of order
 * k is 2^k slots, aligned to their number. Every cluster in use has a table of 512 words of 64 bits, one per slot
 * (words.h), which allocator and free keep: the rest of a memory manager reads it.
 *
 * Rules both forms keep: a cluster's first allocation gives it its order; order k > 0 goes into empty clusters or those
 * of order k; order 0 may go anywhere. Devices of higher priority come first, equals take turns.
 */
#ifndef HWSWAP_SWAP_H
#define HWSWAP_SWAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWAP_SLOTS 512u /* of a cluster */
#define SWAP_ORDERS 10u /* 0 to 9: 1 to 512 slots */
#define SWAP_DEVICES 32u

/* Functions that no allocation or free calls: kept apart from those, so that these share the instruction cache. */
#define COLD __attribute__((cold))

/* Device flags: HWSWAP_DEVICE_FLAGS_FLAGS_* of hwswap_map.h. Neither form knows rotating or discarding devices. */

/** enum swap_status - how an operation ended; one that is not SWAP_OK has changed nothing */
enum swap_status {
  SWAP_OK,
  SWAP_NO_SPACE,    /* no slots of that order can be had */
  SWAP_BAD_DEVICE,  /* number out of range, device there already, not there, or not in the phase for this */
  SWAP_BAD_RANGE,   /* slots outside of the device, across clusters, or not in the state that is needed */
  SWAP_UNSUPPORTED, /* rotating or discarding */
  SWAP_NO_MEMORY,
};

/**
 * struct swap_place - where an allocation went
 * @type: number of the device
 * @offset: first slot, counted from the device's start
 */
struct swap_place {
  uint32_t type;
  uint32_t offset;
};

/**
 * struct swap_memory - where an allocator gets its memory
 * @get: `bytes` bytes, aligned to 64 bytes, of any content; NULL when there are none
 * @put: takes back memory that get gave
 * @context: passed to both
 */
struct swap_memory {
  void *(*get)(void *context, size_t bytes);
  void (*put)(void *context, void *block, size_t bytes);
  void *context;
};

struct swap;

/**
 * struct swap_ops - an allocator
 * @create: makes one without devices; NULL without memory. @devices bounds how many devices there will be, @cpus how
 *	many CPUs allocate
 * @destroy: gives all memory back
 * @prepare: a device comes: @pages slots, device flags, priority (higher is used first)
 * @mark_bad: slots of a prepared device, all in one cluster, are never to be given
 * @swapon: the device is ready; or, after swapoff_begin, it stays
 * @swapoff_begin: no slot of the device is given any more
 * @swapoff: forgets the device
 * @alloc: 2^order slots for a CPU; their words say that they hold the folio @pfn
 * @free: gives back slots of one cluster, all in use
 * @word: a slot's word; 0 where its cluster has no table
 */
struct swap_ops {
  struct swap *(*create)(const struct swap_memory *memory, unsigned devices, unsigned cpus);
  void (*destroy)(struct swap *swap);
  enum swap_status (*prepare)(struct swap *swap, unsigned type, uint32_t pages, unsigned flags, int priority);
  enum swap_status (*mark_bad)(struct swap *swap, unsigned type, uint32_t offset, unsigned nr);
  enum swap_status (*swapon)(struct swap *swap, unsigned type);
  enum swap_status (*swapoff_begin)(struct swap *swap, unsigned type);
  enum swap_status (*swapoff)(struct swap *swap, unsigned type);
  enum swap_status (*alloc)(struct swap *swap, unsigned cpu, unsigned order, uint64_t pfn, struct swap_place *place);
  enum swap_status (*free)(struct swap *swap, unsigned type, uint32_t offset, unsigned nr);
  uint64_t (*word)(const struct swap *swap, unsigned type, uint32_t offset);
};

extern const struct swap_ops swap_stock, swap_tuned;

#endif
