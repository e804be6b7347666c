// SPDX-License-Identifier: Apache-2.0
// readback SIZE: pages so much out and reads it back, so that the swap cache keeps it; says "ready", waits for SIGTERM,
// and verifies it again. A line of JSON ends it.

#include "common.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define SEED 11

int main(int argc, char **argv) {
  uint64_t size = parse_size(argc == 2 ? argv[1] : "", "SIZE"), mismatches = 0;
  char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sigset_t signals;
  int received;

  if (base == MAP_FAILED)
    die("no memory");
  madvise(base, size, MADV_NOHUGEPAGE);
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  for (uint64_t at = 0; at < size; at += PAGE_BYTES)
    page_fill(base + at, SEED, 0);
  madvise(base, size, MADV_PAGEOUT);
  for (uint64_t at = 0; at < size; at += PAGE_BYTES)
    mismatches += page_check(base + at, SEED, 0);
  puts("ready");
  fflush(stdout);
  sigwait(&signals, &received);
  for (uint64_t at = 0; at < size; at += PAGE_BYTES)
    mismatches += page_check(base + at, SEED, 0);
  printf("{\"verified_bytes\": %" PRIu64 ", \"mismatches\": %" PRIu64 "}\n", 2 * size, mismatches);
  return mismatches != 0;
}
