// SPDX-License-Identifier: Apache-2.0
/*
 * The allocators with their locks on the host, for tests: each thread is a hart, and allocates and frees at random. A
 * slot that two threads have at once, or a word that is not its folio's, is an error; data races are for the sanitizer.
 *
 * threads stock|tuned HARTS STEPS SEED
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwswap_map.h"
#include "locks.h"
#include "swap.h"
#include "words.h"

#define CLUSTERS 6
#define DEVICES 2
#define PAGES (CLUSTERS * SWAP_SLOTS)
#define HELD 200

/* Defined by host.c. */
struct swap *host_create(const struct swap_ops *ops, unsigned devices, unsigned cpus);
size_t host_held(void);

struct hart_counts hart_counts[SWAP_HARTS];

static _Thread_local unsigned number;

unsigned hart_number(void) { return number; }

uint32_t lock_clock(void) { return 0; }

void lock_rest(void) { sched_yield(); }

static const struct swap_ops *ops;
static struct swap *swap;
static uint32_t owner[DEVICES][PAGES];
static unsigned long steps, seed;
static unsigned long failed[SWAP_HARTS][SWAP_ORDERS], done[SWAP_HARTS][SWAP_ORDERS];

/** struct held - an allocation, and its owner */
struct held {
  struct swap_place place;
  unsigned order;
};

static _Noreturn void wrong(const char *sentence) {
  fprintf(stderr, "threads: %s\n", sentence);
  exit(1);
}

static void own(const struct held *held, uint32_t before, uint32_t after) {
  for (unsigned i = 0; i < 1u << held->order; i++) {
    uint32_t expected = before;

    if (!__atomic_compare_exchange_n(&owner[held->place.type][held->place.offset + i], &expected, after, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      wrong("a slot was given to two harts, or freed by one that does not have it");
  }
}

static void allocate(struct held *held, unsigned *nr, unsigned order) {
  struct held *one = &held[*nr];

  one->order = order;
  switch (ops->alloc(swap, number, order, number, &one->place)) {
  case SWAP_OK:
    own(one, 0, number + 1);
    done[number][order]++;
    ++*nr;
    break;
  case SWAP_NO_SPACE:
    failed[number][order]++;
    break;
  default:
    wrong("an allocation ended with an error");
  }
}

static void give_back(struct held *held, unsigned *nr, unsigned at) {
  const struct held one = held[at];

  held[at] = held[--*nr];
  own(&one, number + 1, 0);
  if (ops->free(swap, one.place.type, one.place.offset, 1u << one.order) != SWAP_OK)
    wrong("slots in use could not be freed");
}

static void *churn(void *context) {
  struct held held[HELD];
  unsigned nr = 0;

  number = (unsigned)(uintptr_t)context;
  uint64_t random = seed * 977 + number;

  for (unsigned long step = 0; step < steps; step++) {
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const unsigned drawn = (unsigned)(random >> 33);

    /* Half of the time it takes more than it gives, so that the devices fill up and empty again. */
    if (nr < HELD && (!nr || drawn % 8 < (step / 512 % 2 ? 6u : 2u)))
      allocate(held, &nr, drawn / 8 % 4 ? 0 : drawn / 32 % SWAP_ORDERS);
    else
      give_back(held, &nr, drawn / 8 % nr);
  }
  while (nr)
    give_back(held, &nr, nr - 1);
  return NULL;
}

static void look(void) {
  for (unsigned type = 0; type < DEVICES; type++) {
    if (ops->word(swap, type, 0) != SWAP_WORD_BAD)
      wrong("the header slot's word is not that of a bad slot");
    for (uint32_t offset = 1; offset < PAGES; offset++) {
      if (ops->word(swap, type, offset) != SWAP_WORD_FREE)
        wrong("a slot's word is not free although all slots are");
    }
  }
}

int main(int argc, char **argv) {
  const unsigned flags = HWSWAP_DEVICE_FLAGS_FLAGS_BLKDEV | HWSWAP_DEVICE_FLAGS_FLAGS_SOLIDSTATE;
  pthread_t threads[SWAP_HARTS];
  unsigned long harts;

  if (argc != 5 || (strcmp(argv[1], "stock") && strcmp(argv[1], "tuned")))
    wrong("say threads stock|tuned HARTS STEPS SEED");
  ops = strcmp(argv[1], "stock") ? &swap_tuned : &swap_stock;
  harts = strtoul(argv[2], NULL, 10);
  steps = strtoul(argv[3], NULL, 10);
  seed = strtoul(argv[4], NULL, 10);
  if (!harts || harts > SWAP_HARTS)
    wrong("the number of harts is out of range");
  swap = host_create(ops, DEVICES, SWAP_HARTS);
  for (unsigned type = 0; type < DEVICES; type++) {
    if (ops->prepare(swap, type, PAGES, flags, -1) != SWAP_OK || ops->swapon(swap, type) != SWAP_OK)
      wrong("a device is refused");
  }
  for (unsigned long i = 0; i < harts; i++) {
    if (pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)i))
      wrong("there are no threads");
  }
  for (unsigned long i = 0; i < harts; i++)
    pthread_join(threads[i], NULL);
  look();
  /* Spare memory that harts kept is given back as well. */
  for (unsigned type = 0; type < DEVICES; type++) {
    if (ops->swapoff_begin(swap, type) != SWAP_OK || ops->swapoff(swap, type) != SWAP_OK)
      wrong("a device cannot be taken away");
  }
  ops->destroy(swap);
  if (host_held())
    wrong("memory was not given back");
  for (unsigned order = 0; order < SWAP_ORDERS; order++) {
    unsigned long all = 0, none = 0;

    for (unsigned long i = 0; i < harts; i++) {
      all += done[i][order];
      none += failed[i][order];
    }
    printf("order %u: %lu allocated, %lu found no room\n", order, all, none);
  }
  return 0;
}
