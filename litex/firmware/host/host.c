// SPDX-License-Identifier: Apache-2.0
/*
 * The allocators as a shared library on the host, for tests: memory from the C library, of arbitrary content, counted.
 */
#include <stdlib.h>
#include <string.h>

#include "swap.h"

static size_t held;

static void *host_get(void *context, size_t bytes) {
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);

  (void)context;
  if (block) {
    memset(block, 0xa5, bytes);
    held += bytes;
  }
  return block;
}

static void host_put(void *context, void *block, size_t bytes) {
  (void)context;
  memset(block, 0x5a, bytes);
  free(block);
  held -= bytes;
}

/* Makes an allocator; its devices and CPUs are bounded by the numbers. */
struct swap *host_create(const struct swap_ops *ops, unsigned devices, unsigned cpus) {
  static const struct swap_memory memory = {.get = host_get, .put = host_put};

  return ops->create(&memory, devices, cpus);
}

/* Bytes that allocators hold. */
size_t host_held(void) { return held; }
