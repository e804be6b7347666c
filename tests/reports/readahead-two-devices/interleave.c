// SPDX-License-Identifier: Apache-2.0
// interleave: pages whose neighbours lie on another swap device, read and paged out again until SIGTERM.
//
// Each CPU allocates slots from a cluster of its own, and devices of equal priority take turns: paged out by two CPUs
// in turn, neighbours lie on two devices. A line "ready" says that they did. Then the pages are read in random order,
// verified, and paged out again. At the end a line of JSON.

#include "common.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define PAGES 2048UL
#define CLUSTER 512UL
#define TRIES 8
#define SEED 7

static volatile sig_atomic_t stop;

static void stopped(int signal) { stop = signal; }

static void page_out(char *base) {
  for (unsigned long i = 0; i < PAGES; i++) {
    run_on_cpu(i % 2);
    madvise(base + i * PAGE_BYTES, PAGE_BYTES, MADV_PAGEOUT);
  }
}

/* Takes a cluster more on the second CPU: both may come to the devices in step. */
static void page_out_more(void) {
  char *more = map_pages(CLUSTER * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);

  pages_fill(more, CLUSTER * PAGE_BYTES, SEED, 0);
  run_on_cpu(1);
  madvise(more, CLUSTER * PAGE_BYTES, MADV_PAGEOUT);
}

/* Returns how many pages are on another device than the one before them. */
static unsigned long neighbours(const char *base) {
  static uint64_t entries[PAGES];
  unsigned long found = 0;
  int fd = open_or_die("/proc/self/pagemap", 0);

  read_pagemap(fd, entries, base, PAGES);
  for (unsigned long i = 1; i < PAGES; i++)
    found += entries[i] & entries[i - 1] & PAGEMAP_SWAPPED && PAGEMAP_TYPE(entries[i]) != PAGEMAP_TYPE(entries[i - 1]);
  return found;
}

int main(void) {
  char *base = map_pages(PAGES * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);
  uint64_t random = SEED, mismatches = 0, on_two = 0;

  madvise(base, PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
  signal(SIGTERM, stopped);
  for (int tries = 0; on_two < PAGES / 2 && tries < TRIES; tries++) {
    if (tries)
      page_out_more();
    pages_fill(base, PAGES * PAGE_BYTES, SEED, 0);
    page_out(base);
    on_two = neighbours(base);
  }
  if (on_two < PAGES / 2)
    die("%" PRIu64 " of %lu pages have a neighbour on another device", on_two, PAGES);
  puts("ready");
  fflush(stdout);
  while (!stop) {
    for (unsigned long i = 0; i < PAGES; i++)
      mismatches += pages_check(base + random_below(&random, PAGES) * PAGE_BYTES, PAGE_BYTES, SEED, 0);
    page_out(base);
  }
  mismatches += pages_check(base, PAGES * PAGE_BYTES, SEED, 0);
  printf("{\"on_two\": %" PRIu64 ", \"verified_bytes\": %lu, \"mismatches\": %" PRIu64 "}\n", on_two,
         PAGES * PAGE_BYTES, mismatches);
  return mismatches != 0;
}
