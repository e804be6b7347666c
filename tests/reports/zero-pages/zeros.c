// SPDX-License-Identifier: Apache-2.0
// zeros ROUNDS SEED: pages that are all zeros or are not, in every mixture within 64 kB, go out one by one and come
// back as large folios where the kernel may read so. A page of zeros in one round is none in the next, so a
// slot whose mark of zeros is old gives wrong bytes. Prints a line of JSON.

#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES 4096UL
#define GROUP 16 /* pages of 64 kB */
#define SIZES "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"

static uint64_t seed;

/* A mixture of 16 pages, drawn for each group and round: sometimes all alike, mostly not. */
static bool is_zero(uint64_t round, size_t page) {
  uint64_t drawn = mix64(mix64(seed * 1000 + round) + page / GROUP);

  if (drawn % 8 == 0)
    return drawn & 256;
  return (drawn >> (16 + page % GROUP)) & 1;
}

static size_t wrong_bytes(const char *at, uint64_t round, size_t page) {
  size_t wrong = 0;

  if (!is_zero(round, page))
    return pages_check(at, PAGE_BYTES, seed, round);
  for (size_t i = 0; i < PAGE_BYTES; i++)
    wrong += at[i] != 0;
  return wrong;
}

int main(int argc, char **argv) {
  uint64_t rounds, mismatches = 0, verified = 0;
  char *base;

  if (argc != 3)
    die("usage: zeros ROUNDS SEED");
  rounds = parse_number(argv[1], "ROUNDS", 1, 1000);
  seed = parse_number(argv[2], "SEED", 1, UINT32_MAX);
  base = map_pages(PAGES * PAGE_BYTES, HUGE_BYTES, PROT_READ | PROT_WRITE);
  for (uint64_t round = 1; round <= rounds; round++) {
    /* New pages each round, single ones in two of three. */
    if (madvise(base, PAGES * PAGE_BYTES, MADV_DONTNEED) || write_text(SIZES, round % 3 ? "never" : "always"))
      die("cannot begin a round: %s", strerror(errno));
    for (size_t page = 0; page < PAGES; page++) {
      if (is_zero(round, page))
        memset(base + page * PAGE_BYTES, 0, PAGE_BYTES);
      else
        pages_fill(base + page * PAGE_BYTES, PAGE_BYTES, seed, round);
    }
    for (int time = 0; time < 2; time++) {
      if (madvise(base, PAGES * PAGE_BYTES, MADV_PAGEOUT) || write_text(SIZES, "always"))
        die("cannot page out: %s", strerror(errno));
      for (size_t page = 0; page < PAGES; page++)
        mismatches += wrong_bytes(base + page * PAGE_BYTES, round, page);
      verified += PAGES * PAGE_BYTES;
    }
  }
  printf("{\"tool\":\"zeros\",\"verified_bytes\":%" PRIu64 ",\"mismatches\":%" PRIu64 "}\n", verified, mismatches);
  return mismatches != 0;
}
