// SPDX-License-Identifier: Apache-2.0
// race SECONDS: threads of one process read and write the same pages while others page them out and fork.
//
// Each page has one thread that writes it, and all words of a page hold the same version, which only rises. A reader
// takes the version that was written in full before it looked: a word below that is old, so a page that was read from
// swap after it had been written anew. A child sees the moment of its fork: it waits until the pages are out again, and
// looks. Prints a line of JSON.

#include "common.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 256U
#define THREADS 4U
#define WORDS (PAGE_BYTES / sizeof(uint64_t))

static _Atomic uint64_t *base;
static _Atomic uint64_t written[PAGES]; /* versions that are there in full */
static _Atomic uint64_t mismatches, verified, failed, forks, outs;
static atomic_bool stop;

static uint64_t word_of(unsigned page, unsigned word) {
  return atomic_load_explicit(&base[page * WORDS + word], memory_order_relaxed);
}

/* Counts the words of a page that are older than `least`, or newer than what is being written now. */
static void look(unsigned page, uint64_t least) {
  uint64_t wrong = 0, word;

  for (unsigned i = 0; i < WORDS; i++) {
    word = word_of(page, i);
    wrong += word >> 32 != page || (uint32_t)word < least || (uint32_t)word > atomic_load(&written[page]) + 1;
  }
  mismatches += wrong;
  verified += PAGE_BYTES;
}

static void *reader_and_writer(void *argument) {
  uint64_t me = (uintptr_t)argument, random = me + 1;

  while (!atomic_load(&stop)) {
    unsigned page = random_below(&random, PAGES);

    look(page, atomic_load(&written[page]));
    page -= page % THREADS;
    page += me;
    if (random_next(&random) % 2) {
      uint64_t version = atomic_load(&written[page]) + 1;

      for (unsigned i = 0; i < WORDS; i++)
        atomic_store_explicit(&base[page * WORDS + i], (uint64_t)page << 32 | version, memory_order_relaxed);
      atomic_store(&written[page], version);
    }
  }
  return NULL;
}

static void *pager(void *argument) {
  uint64_t random = 99;

  while (!atomic_load(&stop)) {
    unsigned first = random_below(&random, PAGES - 31);

    madvise((char *)base + first * PAGE_BYTES, 32 * PAGE_BYTES, MADV_PAGEOUT);
    outs++;
  }
  return argument;
}

/* A child: versions were noted before the fork, and nobody writes here any more. */
static int child(const uint64_t *least) {
  uint64_t wrong = 0;

  for (int time = 0; time < 2; time++) {
    madvise((void *)base, PAGES * PAGE_BYTES, MADV_PAGEOUT);
    for (unsigned page = 0; page < PAGES; page++) {
      for (unsigned i = 0; i < WORDS; i++)
        wrong += word_of(page, i) >> 32 != page || (uint32_t)word_of(page, i) < least[page];
    }
  }
  return wrong != 0;
}

static void *forker(void *argument) {
  uint64_t least[PAGES];
  int status;

  while (!atomic_load(&stop)) {
    pid_t pid;

    for (unsigned page = 0; page < PAGES; page++)
      least[page] = atomic_load(&written[page]);
    pid = fork();
    if (!pid)
      _exit(child(least));
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
      failed++;
    forks++;
  }
  return argument;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS + 2];

  if (argc != 2)
    die("usage: race SECONDS");
  base = (void *)map_pages(PAGES * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);
  for (unsigned i = 0; i < PAGES * WORDS; i++)
    base[i] = (uint64_t)(i / WORDS) << 32;
  for (uintptr_t i = 0; i < THREADS; i++) {
    if (pthread_create(&threads[i], NULL, reader_and_writer, (void *)i))
      die("no thread");
  }
  if (pthread_create(&threads[THREADS], NULL, pager, NULL) || pthread_create(&threads[THREADS + 1], NULL, forker, NULL))
    die("no thread");
  sleep(parse_number(argv[1], "SECONDS", 1, 600));
  atomic_store(&stop, true);
  for (unsigned i = 0; i < THREADS + 2; i++)
    pthread_join(threads[i], NULL);
  printf("{\"tool\":\"race\",\"outs\":%" PRIu64 ",\"forks\":%" PRIu64 ",\"died\":%" PRIu64
         ",\"verified_bytes\":%" PRIu64 ",\"mismatches\":%" PRIu64 "}\n",
         (uint64_t)outs, (uint64_t)forks, (uint64_t)failed, (uint64_t)verified, (uint64_t)mismatches);
  return mismatches || failed;
}
