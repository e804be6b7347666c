// SPDX-License-Identifier: Apache-2.0
// witness SCRIPT OUTPUT: pages folios of given orders out, one by one, and writes where each went.
//
// A script has one operation a line, and they are carried out one after the other, each on the CPU that it names:
//
//   o ORDER ENTRIES                  so many places for folios of an order; these lines come first
//   a CPU ORDER ENTRY                a new folio of that order at that place is paged out
//   f CPU ORDER ENTRY FIRST PAGES    so many of its pages are given back, and with them their slots
//
// OUTPUT has a line for each `a`: runs of pages whose slots follow one another, as TYPE:OFFSET+PAGES, and -+PAGES where
// pages have stayed in memory. A folio is paged out only if the kernel's page flags say that it is one of that order;
// another is thrown away, and a new one asked for. A line of JSON ends the run.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ORDERS 10
#define MOST 512 /* pages of a folio */

/* Of /proc/kpageflags, see Documentation/admin-guide/mm/pagemap.rst. */
#define HEAD (1ULL << 15)
#define TAIL (1ULL << 16)

#define TRIES 20      /* for a folio of an order, before the memory is taken to be at fault */
#define LOOK_EACH 256 /* operations between two looks at the swap cache */

/* Places for folios of an order. Between two of them is a hole, so that none larger than asked for fits. */
static struct arena {
	char *base;
	size_t entries, stride;
	uint16_t *left; /* pages that are not given back */
} arenas[ORDERS];

static int pagemap, kpageflags, vmstat, refresh;
static uint64_t thrown_away, most_cached, looks;

static void arena_make(unsigned order, size_t entries)
{
	struct arena *arena = &arenas[order];
	size_t size;

	arena->entries = entries;
	arena->stride = order ? 2 * PAGE_BYTES << order : PAGE_BYTES;
	arena->left = allocate(entries, sizeof(*arena->left));
	size = entries * arena->stride;
	arena->base = map_pages(size, HUGE_BYTES, PROT_NONE);
	if (order)
		return;
	/* Single pages need no holes, but must not be parts of a larger folio. */
	if (mprotect(arena->base, size, PROT_READ | PROT_WRITE) || madvise(arena->base, size, MADV_NOHUGEPAGE))
		die("cannot prepare the single pages: %s", strerror(errno));
}

/* Notes how many pages the swap cache has: those of a folio that was paged out are to be gone from there. */
static void look_at_cache(void)
{
	static const char name[] = "nr_swapcached ";
	static char text[16384];
	uint64_t cached;
	char *line;
	ssize_t length;

	/* Without that, what a CPU has counted and not yet told is missing. */
	if (write(refresh, "1", 1) != 1)
		die("cannot write /proc/sys/vm/stat_refresh: %s", strerror(errno));
	length = pread(vmstat, text, sizeof(text) - 1, 0);
	if (length <= 0)
		die("cannot read /proc/vmstat: %s", strerror(errno));
	text[length] = 0;
	line = strstr(text, name);
	if (!line)
		die("/proc/vmstat has no %s", name);
	cached = strtoull(line + sizeof(name) - 1, NULL, 10);
	if (cached > most_cached)
		most_cached = cached;
	looks++;
}

/* Whether the pages at an address are one folio of that order, and nothing else is. */
static bool one_folio(char *at, unsigned order)
{
	size_t pages = 1UL << order;
	uint64_t entries[MOST], flags[MOST];

	read_pagemap(pagemap, entries, at, pages);
	if (!(entries[0] & PAGEMAP_PRESENT))
		die("a page that was just written is not in memory");
	read_words(kpageflags, flags, PAGEMAP_FRAME(entries[0]), pages, "/proc/kpageflags");
	if ((flags[0] & (HEAD | TAIL)) != (order ? HEAD : 0))
		return false;
	for (size_t i = 1; i < pages; i++)
		if (!(entries[i] & PAGEMAP_PRESENT) || PAGEMAP_FRAME(entries[i]) != PAGEMAP_FRAME(entries[0]) + i ||
		    (flags[i] & (HEAD | TAIL)) != TAIL)
			return false;
	return true;
}

static void write_pages(char *at, size_t pages, uint64_t number)
{
	for (size_t i = 0; i < pages; i++)
		*(uint64_t *)(at + i * PAGE_BYTES) =
		    number * MOST + i + 1; /* a page of zeros would not be written out */
}

static void new_folio(char *at, unsigned order, uint64_t number)
{
	size_t size = PAGE_BYTES << order;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		if (order && mmap(at, size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
			die("cannot map %zu bytes: %s", size, strerror(errno));
		write_pages(at, 1UL << order, number);
		if (one_folio(at, order))
			return;
		thrown_away++;
		if (order ? munmap(at, size) : madvise(at, size, MADV_DONTNEED))
			die("cannot give pages back: %s", strerror(errno));
	}
	die("the kernel gave no folio of order %u, %d times", order, TRIES);
}

/* Writes where pages are: runs of slots that follow one another. */
static void write_places(FILE *out, const uint64_t *entries, size_t pages)
{
	for (size_t i = 0, next; i < pages; i = next) {
		uint64_t first = entries[i];
		bool swapped = first & PAGEMAP_SWAPPED;

		for (next = i + 1; next < pages && !(entries[next] & PAGEMAP_SWAPPED) == !swapped; next++)
			if (swapped && (PAGEMAP_TYPE(entries[next]) != PAGEMAP_TYPE(first) ||
					PAGEMAP_OFFSET(entries[next]) != PAGEMAP_OFFSET(first) + next - i))
				break;
		if (i)
			fputc(' ', out);
		if (swapped)
			fprintf(out, "%u:%" PRIu64 "+%zu", PAGEMAP_TYPE(first), (uint64_t)PAGEMAP_OFFSET(first),
				next - i);
		else
			fprintf(out, "-+%zu", next - i);
	}
	fputc('\n', out);
}

static char *place(unsigned order, size_t entry)
{
	if (order >= ORDERS || entry >= arenas[order].entries)
		die("there is no place %zu for order %u", entry, order);
	return arenas[order].base + entry * arenas[order].stride;
}

static void page_out(unsigned order, size_t entry, uint64_t number, FILE *out)
{
	char *at = place(order, entry);
	size_t pages = 1UL << order;
	uint64_t entries[MOST];

	if (arenas[order].left[entry])
		die("place %zu of order %u is taken", entry, order);
	new_folio(at, order, number);
	if (madvise(at, pages * PAGE_BYTES, MADV_PAGEOUT))
		die("cannot page out: %s", strerror(errno));
	read_pagemap(pagemap, entries, at, pages);
	write_places(out, entries, pages);
	arenas[order].left[entry] = pages;
}

static void give_back(unsigned order, size_t entry, size_t first, size_t pages)
{
	char *at = place(order, entry);
	uint16_t *left = &arenas[order].left[entry];

	if (!pages || first + pages > 1UL << order || *left < pages)
		die("place %zu of order %u has no %zu pages from %zu on", entry, order, pages, first);
	*left -= pages;
	if (madvise(at + first * PAGE_BYTES, pages * PAGE_BYTES, MADV_DONTNEED))
		die("cannot give pages back: %s", strerror(errno));
	/* With it goes the page table, in whose place a folio of 2 MB is mapped. */
	if (order && !*left && munmap(at, PAGE_BYTES << order))
		die("cannot unmap: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	uint64_t number = 0, folios = 0;
	FILE *script, *out;
	char line[128];

	if (argc != 3)
		die("usage: witness SCRIPT OUTPUT");
	script = fopen(argv[1], "r");
	out = fopen(argv[2], "w");
	if (!script || !out)
		die("cannot open %s: %s", script ? argv[2] : argv[1], strerror(errno));
	pagemap = open_or_die("/proc/self/pagemap", O_RDONLY);
	kpageflags = open_or_die("/proc/kpageflags", O_RDONLY);
	vmstat = open_or_die("/proc/vmstat", O_RDONLY);
	refresh = open_or_die("/proc/sys/vm/stat_refresh", O_WRONLY);

	while (fgets(line, sizeof(line), script)) {
		unsigned cpu, order;
		size_t entry, first, pages;

		number++;
		if (sscanf(line, "o %u %zu", &order, &entry) == 2 && order < ORDERS) {
			arena_make(order, entry);
		} else if (sscanf(line, "a %u %u %zu", &cpu, &order, &entry) == 3) {
			run_on_cpu(cpu);
			page_out(order, entry, number, out);
			folios++;
		} else if (sscanf(line, "f %u %u %zu %zu %zu", &cpu, &order, &entry, &first, &pages) == 5) {
			run_on_cpu(cpu);
			give_back(order, entry, first, pages);
		} else {
			die("line %" PRIu64 " of the script is not understood: %s", number, line);
		}
		if (number % LOOK_EACH == 0)
			look_at_cache();
	}
	look_at_cache();
	if (ferror(script) || fclose(out))
		die("cannot read the script, or write %s: %s", argv[2], strerror(errno));
	printf("{\"folios\": %" PRIu64 ", \"thrown_away\": %" PRIu64 ", \"most_cached\": %" PRIu64
	       ", \"looks\": %" PRIu64 "}\n",
	       folios, thrown_away, most_cached, looks);
	return 0;
}
