// SPDX-License-Identifier: Apache-2.0
// pages NAME COUNT: a process that holds COUNT pages and carries commands out on them, step by step.
//
// It reads one command a time from the pipe /tmp/NAME.ask and writes a line for each to /tmp/NAME.said (`ask` in lib.sh
// does both). FIRST and NUMBER choose pages; without them a command is of all.
//
//   fill ROUND [FIRST NUMBER]   writes the pattern of that round
//   out [FIRST NUMBER]          pages out; says how many are in swap
//   check [FIRST NUMBER]        reads; says "right R wrong W killed K", where K cannot be read (SIGBUS)
//   drop [FIRST NUMBER]         gives back
//   slot PAGE                   says "TYPE OFFSET" of its place in swap, or "none"
//   fork NUMBER                 makes so many children, which hold the same pages and wait
//   children                    has each child check all pages and end; says how many found all pages right
//   end                         ends

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 256
#define LINE 256
#define SEED 1

static char *base;
static size_t count;
static uint64_t *rounds; /* that wrote each page; 0: none */
static pid_t children[CHILDREN];
static sigset_t go; /* SIGUSR1: what they wait for */
static size_t nr_children;
static sigjmp_buf killed;

static void on_sigbus(int signal) { siglongjmp(killed, signal); }

/* Static, as a jump out of a signal leaves what is in registers as it was at some time. */
static volatile size_t reading, wrong, bus;

/* Reads pages again; counts in `wrong` those that are not as they were written, in `bus` those that cannot be read. */
static void check(size_t first, size_t number) {
  wrong = bus = 0;
  for (reading = first; reading < first + number; reading++) {
    if (!rounds[reading])
      continue;
    if (sigsetjmp(killed, 1))
      bus++;
    else
      wrong += pages_check(base + reading * PAGE_BYTES, PAGE_BYTES, SEED, rounds[reading]) != 0;
  }
}

static void say_slot(size_t page, char *said) {
  uint64_t entry;
  int fd = open_or_die("/proc/self/pagemap", O_RDONLY);

  read_pagemap(fd, &entry, base + page * PAGE_BYTES, 1);
  close(fd);
  if (entry & PAGEMAP_SWAPPED)
    snprintf(said, LINE, "%u %llu", PAGEMAP_TYPE(entry), PAGEMAP_OFFSET(entry));
  else
    strcpy(said, "none");
}

/* A child waits until it is told to go on, and ends with 0 if all that its parent had written is there. */
static void make_child(void) {
  int received;
  pid_t pid = fork();

  if (pid < 0)
    die("fork: %s", strerror(errno));
  if (!pid) {
    sigwait(&go, &received);
    check(0, count);
    _exit(wrong || bus);
  }
  children[nr_children++] = pid;
}

static size_t end_children(void) {
  size_t right = 0;
  int status;

  for (size_t i = 0; i < nr_children; i++)
    kill(children[i], SIGUSR1);
  for (size_t i = 0; i < nr_children; i++)
    right += waitpid(children[i], &status, 0) > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
  nr_children = 0;
  return right;
}

/* Carries out a command that is of pages `first` on; returns whether there is such a command. */
static bool of_pages(const char *verb, uint64_t round, size_t first, size_t number, char *said) {
  char *at = base + first * PAGE_BYTES;
  size_t read = 0;

  if (!strcmp(verb, "fill")) {
    pages_fill(at, number * PAGE_BYTES, SEED, round);
    for (size_t page = first; page < first + number; page++)
      rounds[page] = round;
    snprintf(said, LINE, "%zu", number);
  } else if (!strcmp(verb, "out")) {
    if (madvise(at, number * PAGE_BYTES, MADV_PAGEOUT))
      die("cannot page out: %s", strerror(errno));
    snprintf(said, LINE, "%" PRIu64, pages_swapped(at, number));
  } else if (!strcmp(verb, "check")) {
    check(first, number);
    for (size_t page = first; page < first + number; page++)
      read += !!rounds[page];
    snprintf(said, LINE, "right %zu wrong %zu killed %zu", read - wrong - bus, wrong, bus);
  } else if (!strcmp(verb, "drop")) {
    if (madvise(at, number * PAGE_BYTES, MADV_DONTNEED))
      die("cannot give back: %s", strerror(errno));
    memset(rounds + first, 0, number * sizeof(*rounds));
    snprintf(said, LINE, "%zu", number);
  } else {
    return false;
  }
  return true;
}

/* Carries out a line; returns false at the end. */
static bool carry_out(char *line, char *said) {
  char verb[16] = "";
  size_t first = 0, number = count;
  uint64_t round = 0;

  sscanf(line, "%15s", verb);
  strcpy(said, "ok");
  if (!strcmp(verb, "end"))
    return false;
  if (!strcmp(verb, "fill"))
    sscanf(line, "%*s %" SCNu64 " %zu %zu", &round, &first, &number);
  else
    sscanf(line, "%*s %zu %zu", &first, &number);
  if (!strcmp(verb, "slot") && first < count) {
    say_slot(first, said);
  } else if (!strcmp(verb, "fork") && first <= CHILDREN - nr_children) {
    for (size_t i = 0; i < first; i++)
      make_child();
  } else if (!strcmp(verb, "children")) {
    snprintf(said, LINE, "%zu", end_children());
  } else if (first + number > count || !of_pages(verb, round, first, number, said)) {
    die("'%s' is not understood", line);
  }
  return true;
}

int main(int argc, char **argv) {
  char ask[64], answer[64], line[2 * LINE], said[LINE];
  bool going = true;
  FILE *pipe;

  if (argc != 3)
    die("usage: pages NAME COUNT");
  count = parse_number(argv[2], "COUNT", 1, 1 << 20);
  snprintf(ask, sizeof(ask), "/tmp/%s.ask", argv[1]);
  snprintf(answer, sizeof(answer), "/tmp/%s.said", argv[1]);
  rounds = allocate(count, sizeof(*rounds));
  base = map_pages(count * PAGE_BYTES, HUGE_BYTES, PROT_READ | PROT_WRITE); /* page n * 2^k begins a folio */
  signal(SIGBUS, on_sigbus);
  sigemptyset(&go);
  sigaddset(&go, SIGUSR1);
  sigprocmask(SIG_BLOCK, &go, NULL);
  if (mkfifo(answer, 0600) || mkfifo(ask, 0600))
    die("mkfifo: %s", strerror(errno));
  while (going) {
    pipe = fopen(ask, "r");
    if (!pipe || !fgets(line, sizeof(line), pipe))
      die("%s: %s", ask, strerror(errno));
    fclose(pipe);
    line[strcspn(line, "\n")] = 0;
    going = carry_out(line, said);
    pipe = fopen(answer, "w");
    if (!pipe)
      die("%s: %s", answer, strerror(errno));
    fprintf(pipe, "%s\n", said);
    fclose(pipe);
  }
  return 0;
}
