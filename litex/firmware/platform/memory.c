// SPDX-License-Identifier: Apache-2.0
/* Memory: two regions that only grow, and the functions a compiler expects to be there. */
#include "platform.h"

#define HALF (MAIN_RAM_BASE + MAIN_RAM_SIZE / 2)
#define END (MAIN_RAM_BASE + MAIN_RAM_SIZE)

extern char image_end[];

static uintptr_t private_used, shared_used;

static uintptr_t align(uintptr_t address, uintptr_t to) { return (address + to - 1) & ~(to - 1); }

void *private_get(size_t bytes) {
  /* A start with a fixed place in the caches: image.ld says why. */
  const uintptr_t start = align((uintptr_t)image_end, 8192) + 2048 + private_used;

  if (start + bytes > (uintptr_t)HALF)
    return NULL;
  private_used += align(bytes, 64);
  return (void *)start;
}

size_t private_mark(void) { return private_used; }

void private_return(size_t mark) { private_used = mark; }

struct shared shared_get(size_t bytes) {
  const uintptr_t start = (uintptr_t)HALF + shared_used;
  uintptr_t address = start;

  if (start + bytes > (uintptr_t)END)
    fail("there is not enough memory to share with the engine");
  shared_used += align(bytes, 64);
#if !HWSWAP_DMA_COHERENT
  address = start - (uintptr_t)MAIN_RAM_BASE + (uintptr_t)HWSWAP_WINDOW_BASE;
#endif
  for (size_t i = 0; i < align(bytes, 64) / 4; i++)
    ((volatile uint32_t *)address)[i] = 0;
  return (struct shared){.cpu = (volatile void *)address, .bus = start};
}

uint64_t shared_bus(size_t *bytes) {
  *bytes = (uintptr_t)END - (uintptr_t)HALF;
  return (uintptr_t)HALF;
}

void shared_reset(void) { shared_used = 0; }

void *memset(void *start, int value, size_t bytes) {
  unsigned char *at = start, *end = at + bytes;
  const unsigned long word = (unsigned long)-1 / 255 * (unsigned char)value;

  while (at != end && (uintptr_t)at % sizeof(word))
    *at++ = (unsigned char)value;
  for (; (size_t)(end - at) >= 8 * sizeof(word); at += 8 * sizeof(word)) {
    unsigned long *words = (unsigned long *)at;

    words[0] = word;
    words[1] = word;
    words[2] = word;
    words[3] = word;
    words[4] = word;
    words[5] = word;
    words[6] = word;
    words[7] = word;
  }
  while (at != end)
    *at++ = (unsigned char)value;
  return start;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
  const unsigned char *source = from;
  unsigned char *target = to;

  if (((uintptr_t)source | (uintptr_t)target) % sizeof(unsigned long) == 0) {
    for (; bytes >= sizeof(unsigned long); bytes -= sizeof(unsigned long)) {
      *(unsigned long *)target = *(const unsigned long *)source;
      target += sizeof(unsigned long);
      source += sizeof(unsigned long);
    }
  }
  while (bytes--)
    *target++ = *source++;
  return to;
}
