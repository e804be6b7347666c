// SPDX-License-Identifier: Apache-2.0
// tables: pages that go out while there is no memory for tables of clusters.
//
// A cluster gets its table when it is first used, from memory above half of the reserve (vm.min_free_kbytes), first
// without sleeping, then with. So the reserve is set to a multiple of the free memory, after that was made small: no
// table can be had, while page-outs go on, and another process frees its pages in swap.
// Then the reserve is set back. Prints a line of JSON.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESERVE "/proc/sys/vm/min_free_kbytes"
#define PAGES 8192UL /* 32 MB */
#define BESIDE 4096UL
#define FREE_KB (24UL << 10) /* that are left free */
#define PULSE 256UL
#define SEED 1

static struct {
  atomic_ulong touched;
  atomic_bool begin, stop;
} *shared;

static char *map(size_t pages) { return map_pages(pages * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE); }

/* Gives back page after page, as long as it is told to: a fault would need memory, and end a process for want of it. */
static int beside(char *at) {
  while (!atomic_load(&shared->begin))
    usleep(1000);
  for (size_t page = 0; page < BESIDE && !atomic_load(&shared->stop); page++) {
    madvise(at + page * PAGE_BYTES, PAGE_BYTES, MADV_DONTNEED);
    atomic_fetch_add(&shared->touched, 1);
    usleep(200);
  }
  return 0;
}

int main(void) {
  char *mine, *other, *hog, before[32], tight[32];
  uint64_t kb, room, stayed, mismatches;
  int fd = open_or_die(RESERVE, O_RDWR);
  pid_t pid;

  shared = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || read(fd, before, sizeof(before)) <= 0)
    die("cannot begin: %s", strerror(errno));
  before[strcspn(before, "\n")] = 0;
  other = map(BESIDE);
  pages_fill(other, BESIDE * PAGE_BYTES, SEED, 1);
  madvise(other, BESIDE * PAGE_BYTES, MADV_PAGEOUT);
  pid = fork();
  if (!pid)
    _exit(beside(other));
  munmap(other, BESIDE * PAGE_BYTES);
  mine = map(PAGES);
  pages_fill(mine, PAGES * PAGE_BYTES, SEED, 1);
  kb = meminfo("MemFree");
  if (kb > FREE_KB) {
    hog = map((kb - FREE_KB) / 4);
    if (mlock(hog, (kb - FREE_KB) * 1024))
      die("mlock: %s", strerror(errno));
  }
  atomic_store(&shared->begin, true);
  room = meminfo("SwapFree") / 4;
  /* For moments only: the kernel ends processes when page-outs make no progress, however much swap is free. */
  for (size_t page = 0; page < PAGES; page += PULSE) {
    snprintf(tight, sizeof(tight), "%" PRIu64, meminfo("MemFree") * 5 / 2);
    if (pwrite(fd, tight, strlen(tight), 0) < 0)
      die("%s: %s", RESERVE, strerror(errno));
    madvise(mine + page * PAGE_BYTES, PULSE * PAGE_BYTES, MADV_PAGEOUT);
    if (pwrite(fd, before, strlen(before), 0) < 0)
      die("%s: %s", RESERVE, strerror(errno));
    usleep(20000);
  }
  atomic_store(&shared->stop, true);
  waitpid(pid, NULL, 0);

  for (int time = 0; time < 3; time++)
    madvise(mine, PAGES * PAGE_BYTES, MADV_PAGEOUT);
  stayed = PAGES - pages_swapped(mine, PAGES);
  mismatches = pages_check(mine, PAGES * PAGE_BYTES, SEED, 1); /* which brings them back */
  printf("{\"tool\":\"tables\",\"room\":%" PRIu64 ",\"beside\":%lu,\"stayed_after\":%" PRIu64
         ",\"verified_bytes\":%lu,\"mismatches\":%" PRIu64 "}\n",
         room, atomic_load(&shared->touched), stayed, PAGES * PAGE_BYTES, mismatches);
  return mismatches != 0;
}
