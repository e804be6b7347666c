// SPDX-License-Identifier: Apache-2.0
// shmem cut BYTES: pages a file of shmem of 256 kB out, cuts it to so many bytes, and verifies their whole pages.
// shmem rounds ROUNDS: a file of 4 MB that is written, paged out, cut or punched across large folios, and verified.
//
// Each round writes missing pages, pages all of it out, then cuts the file in a random page and makes it as long
// again, or punches a hole between two random pages, while another thread reads: entries of large folios are split
// under the cut. Bytes cut off have to read as zeros, all others as written. The exit status is 1 otherwise. A
// cut leaves the first byte of its page: at a page's border Linux 7.3.4 does not come back (report shmem-cut-hangs).

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGES 1024UL
#define BYTES (PAGES * PAGE_BYTES)
#define CUT_BYTES (256UL << 10)

static char *base;
static bool there[PAGES];
static atomic_bool done;

static void *read_on(void *unused) {
  uint64_t random = 5, sum = 0;

  while (!done)
    sum += *(volatile char *)(base + random_below(&random, PAGES) * PAGE_BYTES);
  (void)unused;
  return (void *)(uintptr_t)sum;
}

static void cut(int fd, uint64_t first, uint64_t last) {
  if (last < PAGES) {
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first * PAGE_BYTES, (last - first) * PAGE_BYTES))
      die("punch: %s", strerror(errno));
  } else {
    if (ftruncate(fd, first * PAGE_BYTES + 1) || ftruncate(fd, BYTES))
      die("truncate: %s", strerror(errno));
    base[first * PAGE_BYTES] = 0;
  }
  memset(there + first, false, last - first);
}

/* Makes a file, mapped where a large folio can be as a whole. */
static int make_file(size_t bytes) {
  int fd = memfd_create("shmem", MFD_CLOEXEC);

  if (fd < 0 || ftruncate(fd, bytes))
    die("no file: %s", strerror(errno));
  base = mmap((void *)0x10000000000, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  if (base == MAP_FAILED)
    die("no mapping: %s", strerror(errno));
  return fd;
}

static int cut_once(uint64_t left) {
  int fd = make_file(CUT_BYTES);

  pages_fill(base, CUT_BYTES, 1, 0);
  if (madvise(base, CUT_BYTES, MADV_PAGEOUT))
    die("cannot page out: %s", strerror(errno));
  if (ftruncate(fd, left))
    die("cannot truncate: %s", strerror(errno));
  return pages_check(base, left / PAGE_BYTES * PAGE_BYTES, 1, 0) != 0;
}

int main(int argc, char **argv) {
  static const char zeros[PAGE_BYTES];
  uint64_t rounds, random = 3;
  pthread_t reader;
  int fd;

  if (argc == 3 && !strcmp(argv[1], "cut"))
    return cut_once(parse_number(argv[2], "BYTES", 1, CUT_BYTES));
  if (argc != 3 || strcmp(argv[1], "rounds"))
    die("usage: shmem cut BYTES, shmem rounds ROUNDS");
  rounds = parse_number(argv[2], "ROUNDS", 1, 100000);
  fd = make_file(BYTES);
  for (uint64_t round = 1; round <= rounds; round++) {
    uint64_t first = random_below(&random, PAGES - 1);
    uint64_t last = round % 2 ? PAGES : first + 1 + random_below(&random, PAGES - first - 1);

    for (uint64_t i = 0; i < PAGES; i++)
      if (!there[i])
        pages_fill(base + i * PAGE_BYTES, PAGE_BYTES, 1, 0);
    memset(there, true, sizeof(there));
    madvise(base, BYTES, MADV_PAGEOUT);
    done = false;
    /* Not in a cut of the end: reading there is SIGBUS. */
    if (last < PAGES && pthread_create(&reader, NULL, read_on, NULL))
      die("no thread");
    cut(fd, first, last);
    done = true;
    if (last < PAGES)
      pthread_join(reader, NULL);
    for (uint64_t i = 0; i < PAGES; i++) {
      const char *page = base + i * PAGE_BYTES;

      if (there[i] ? pages_check(page, PAGE_BYTES, 1, 0) != 0 : memcmp(page, zeros, PAGE_BYTES) != 0) {
        printf("round %lu, cut %lu to %lu: page %lu is wrong\n", round, first, last, i);
        return 1;
      }
    }
  }
  printf("%lu rounds\n", rounds);
  return 0;
}
