/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the swap workloads: page patterns, random numbers, sizes on the command line and memory control
 * groups.
 */
#ifndef HWSWAP_WORKLOADS_COMMON_H
#define HWSWAP_WORKLOADS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096UL
#define HUGE_BYTES (2UL << 20)

/* Of linux/mman.h, which older C libraries do not have. */
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

/* Entries of /proc/PID/pagemap, see Documentation/admin-guide/mm/pagemap.rst. */
#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_SWAPPED (1ULL << 62)
#define PAGEMAP_FRAME(entry) ((entry) & ((1ULL << 55) - 1))
#define PAGEMAP_TYPE(entry) ((unsigned)((entry) & 0x1f))
#define PAGEMAP_OFFSET(entry) (PAGEMAP_FRAME(entry) >> 5)

/* Prints "PROGRAM: MESSAGE" on standard error and exits with 2: the input or the machine is at fault. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Parses "96m", "64k", "1g" or plain bytes; dies with a sentence that names `what` otherwise. */
uint64_t parse_size(const char *text, const char *what);

/* Parses a plain decimal number in lowest..highest; dies with a sentence that names `what` otherwise. */
uint64_t parse_number(const char *text, const char *what, uint64_t lowest, uint64_t highest);

/* The splitmix64 finaliser: a bijection of 64-bit numbers that mixes every bit into every other. */
uint64_t mix64(uint64_t x);

/* The next number of a splitmix64 generator. */
uint64_t random_next(uint64_t *state);

/* A uniform number below `bound`, which is not 0. */
uint64_t random_below(uint64_t *state, uint64_t bound);

/* An option of a program, --NAME; all but flags have a value. */
struct setting {
	const char *name;
	enum { FLAG, SIZE, NUMBER, TEXT } kind;
	void *to;		  /* a bool, a uint64_t, a uint64_t, a char * */
	uint64_t lowest, highest; /* of a number */
};

/*
 * Reads options until one has no name; returns the index of the first argument after them. Prints `help` and ends the
 * program if that is asked for, or if an option is not understood.
 */
int parse_settings(int argc, char **argv, const struct setting *settings, const char *help);

/* Fills pages, each with the pattern of (seed, page's address, round). */
void pages_fill(void *at, uint64_t bytes, uint64_t seed, uint64_t round);

/* Returns how many bytes of pages differ from the pattern of (seed, page's address, round). */
uint64_t pages_check(const void *at, uint64_t bytes, uint64_t seed, uint64_t round);

/* Maps memory for private pages, from a multiple of `alignment` on, a power of two; dies if there is no room. */
char *map_pages(uint64_t bytes, uint64_t alignment, int protection);

/* Maps single pages, fills them for round 0, and pages them out, 1 MB at a time, of which `bytes` is a multiple. */
char *map_paged_out(uint64_t bytes, uint64_t seed);
#define PIECE (1UL << 20)

/* Lets the kernel use folios of so many bytes where they are asked for; dies if there are none. */
void allow_folio(uint64_t bytes);

/*
 * Moves the calling process into a new memory control group that is limited to `limit` bytes of memory (swap is
 * not limited). Works with version 2 at /sys/fs/cgroup and with version 1 at /sys/fs/cgroup/memory.
 */
void memory_group_enter(uint64_t limit);

/* Moves the calling process back to the root group and removes the group. Safe to call without a group. */
void memory_group_leave(void);

/* Moves the calling thread to a CPU; returns whether it was on another one. Dies if it cannot run there. */
bool run_on_cpu(unsigned cpu);

/* Opens a file for reading and writing as `how` says (O_RDONLY and so on); dies where that is not permitted. */
int open_or_die(const char *path, int how);

/* Reads `count` 64-bit words of a file from word `first` on; dies, with the file's name `what`, if it has fewer. */
void read_words(int fd, uint64_t *to, uint64_t first, size_t count, const char *what);

/* Allocates memory, all zeros; dies if there is none. */
void *allocate(size_t count, size_t size);

/* Returns a number of /proc/meminfo, in kB; dies if it has none of that name. */
uint64_t meminfo(const char *name);

/* Returns how many of the process's pages from `at` on are in swap. */
uint64_t pages_swapped(const void *at, size_t pages);

/* Reads the entries of /proc/PID/pagemap, open as `fd`, of `pages` pages from `at` on. */
void read_pagemap(int fd, uint64_t *to, const void *at, size_t pages);

/* Writes `text` to the file at `path`; returns 0, or the negative errno. */
int write_text(const char *path, const char *text);

#endif
