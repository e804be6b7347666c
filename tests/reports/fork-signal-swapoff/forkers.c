// SPDX-License-Identifier: Apache-2.0
// forkers ROUNDS: processes that fork and fork, with much of theirs in swap, each killed at a random moment.
//
// A process has many mappings, so that its fork takes long, and the signal mostly finds it there. How many were killed
// so is printed: /proc/PID/stat and the like cannot say it, so a counter in shared memory is odd while fork runs.

#include "common.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAPPINGS 400
#define PAGES 4 /* of each */

static struct {
  atomic_ulong forks; /* odd: in fork */
  atomic_bool ready;
} *shared;

static void fork_on(uint64_t seed) {
  for (int i = 0; i < MAPPINGS; i++) {
    /* A page between them that is not mapped keeps them apart. */
    char *part = mmap((char *)0x20000000000 + i * (PAGES + 1) * PAGE_BYTES, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (part == MAP_FAILED)
      die("no memory");
    pages_fill(part, PAGES * PAGE_BYTES, seed, 0);
    madvise(part, PAGES * PAGE_BYTES, MADV_PAGEOUT);
  }
  shared->ready = true;
  for (;;) {
    pid_t child;

    shared->forks++;
    child = fork();
    if (!child)
      _exit(0);
    shared->forks++;
    if (child > 0)
      waitpid(child, NULL, 0);
  }
}

int main(int argc, char **argv) {
  uint64_t rounds = parse_number(argc == 2 ? argv[1] : "", "ROUNDS", 1, 100000), random = 9, killed_there = 0;

  shared = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    die("no memory");
  for (uint64_t round = 0; round < rounds; round++) {
    pid_t process;

    shared->ready = false;
    shared->forks = 0;
    process = fork();
    if (!process)
      fork_on(round);
    while (!shared->ready)
      usleep(1000);
    usleep(random_below(&random, 20000));
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    killed_there += shared->forks % 2;
  }
  printf("%lu of %lu in fork\n", killed_there, rounds);
  return killed_there < rounds / 4;
}
