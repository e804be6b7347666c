// SPDX-License-Identifier: Apache-2.0
// swapextents: large folios that are read from a swap file whose blocks are not in one piece.
//
// Linux puts no large folio into a swap file. But single pages lie there one after the other, and are read as one
// large folio if the process may have one at their addresses, in one request, from where the file has the first page
// (mm/memory.c, thp_swapin_suitable_orders(); mm/page_io.c, swap_folio_sector()). Behind the end of an extent that is
// not where the others are. This program pages single pages out, looks where each went and where the file has it, reads
// all again, and compares what is wrong with what has to be wrong if this is the reason. It prints a line of JSON.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES 16 /* of a folio: 64 kB */
#define FOLIO_BYTES (PAGES * PAGE_BYTES)
#define SEED 1 /* of the pages' patterns */
#define SIZES "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/"

static const char *const help = "usage: swapextents [options] FILE\n"
				"FILE is the one swap area, on a file system with blocks of a page.\n"
				"  --folios N  how often 64 kB are paged out and read again (default 512)\n"
				"  --small     have the kernel read single pages\n";

/* Which block of the device the file has each of its pages in. */
static uint32_t *blocks_of(const char *path, uint64_t *pages)
{
	struct stat status;
	uint32_t *blocks;
	int fd = open_or_die(path, O_RDONLY), size;

	if (fstat(fd, &status) || ioctl(fd, FIGETBSZ, &size))
		die("%s: %s", path, strerror(errno));
	if (size != (int)PAGE_BYTES)
		die("%s: its file system has blocks of %d bytes: make one with blocks of %lu", path, size, PAGE_BYTES);
	*pages = status.st_size / PAGE_BYTES;
	blocks = allocate(*pages, sizeof(*blocks));
	for (uint64_t page = 0; page < *pages; page++) {
		int block = page;

		if (ioctl(fd, FIBMAP, &block))
			die("%s: page %" PRIu64 ": %s", path, page, strerror(errno));
		blocks[page] = block;
	}
	close(fd);
	return blocks;
}

static uint64_t counter(const char *name)
{
	char path[128], text[32];
	FILE *file;

	snprintf(path, sizeof(path), SIZES "stats/%s", name);
	file = fopen(path, "r");
	if (!file || !fgets(text, sizeof(text), file))
		die("cannot read %s: %s", path, strerror(errno));
	fclose(file);
	return strtoull(text, NULL, 10);
}

static void may_be_large(bool large)
{
	int error = write_text(SIZES "enabled", large ? "always" : "never");

	if (error)
		die("cannot write %senabled: %s", SIZES, strerror(-error));
}

/* Pages all out; `entries` become what the page tables hold. */
static void page_out(int pagemap, char *base, uint64_t pages, uint64_t *entries)
{
	uint64_t left = pages;

	for (int tries = 0; left && tries < 50; tries++) {
		if (madvise(base, pages * PAGE_BYTES, MADV_PAGEOUT))
			die("cannot page out: %s", strerror(errno));
		read_pagemap(pagemap, entries, base, pages);
		left = 0;
		for (uint64_t i = 0; i < pages; i++)
			left += !(entries[i] & PAGEMAP_SWAPPED);
	}
	if (left)
		die("%" PRIu64 " of %" PRIu64 " pages stay in memory", left, pages);
}

/* Pages out up to the last place of a folio's size: what follows is aligned. */
static void align(int pagemap)
{
	char *pad = map_pages(FOLIO_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);
	uint64_t entry = 0;

	for (unsigned i = 0; i < PAGES && PAGEMAP_OFFSET(entry) % PAGES != PAGES - 1; i++) {
		pages_fill(pad + i * PAGE_BYTES, PAGE_BYTES, SEED, 0);
		page_out(pagemap, pad + i * PAGE_BYTES, 1, &entry);
	}
}

/* Whether pages can be read as one folio: one after the other, the first one aligned. */
static bool in_line(const uint64_t *entries)
{
	for (unsigned i = 1; i < PAGES; i++)
		if (entries[i] != entries[0] + ((uint64_t)i << 5))
			return false;
	return PAGEMAP_OFFSET(entries[0]) % PAGES == 0;
}

int main(int argc, char **argv)
{
	uint64_t folios = 512, pages, limit, lined_up = 0, across = 0, foreseen = 0, wrong = 0, others = 0;
	uint64_t *entries, large;
	bool small = false;
	const struct setting settings[] = {
	    {"folios", NUMBER, &folios, 1, 1 << 20},
	    {"small", FLAG, &small, 0, 0},
	    {0},
	};
	uint32_t *blocks;
	int file, pagemap;
	char *base;

	file = parse_settings(argc, argv, settings, help);
	if (file + 1 != argc)
		die("it takes one file; see --help");
	blocks = blocks_of(argv[file], &limit);
	pagemap = open_or_die("/proc/self/pagemap", O_RDONLY);
	pages = folios * PAGES;
	entries = allocate(pages, sizeof(*entries));
	base = map_pages(pages * PAGE_BYTES, HUGE_BYTES, PROT_READ | PROT_WRITE);

	may_be_large(false);
	align(pagemap);
	pages_fill(base, pages * PAGE_BYTES, SEED, 0);
	page_out(pagemap, base, pages, entries);
	may_be_large(!small);
	large = counter("swpin");
	for (uint64_t at = 0; at < pages; at += PAGES) {
		const uint64_t *of = entries + at;
		bool lined = in_line(of), crosses = false;

		for (unsigned i = 0; i < PAGES; i++) {
			uint64_t first = PAGEMAP_OFFSET(of[0]), offset = PAGEMAP_OFFSET(of[i]);
			bool bad = pages_check(base + (at + i) * PAGE_BYTES, PAGE_BYTES, SEED, 0), expected;

			if (offset >= limit || first >= limit)
				die("swap has more than %s: switch the other areas off", argv[file]);
			expected = !small && lined && blocks[offset] != blocks[first] + i;
			crosses |= expected;
			foreseen += expected;
			wrong += bad;
			others += bad != expected;
		}
		lined_up += lined;
		across += crosses;
	}
	printf("{\"folios\": %" PRIu64 ", \"in_line\": %" PRIu64 ", \"read_large\": %" PRIu64 ", \"across\": %" PRIu64
	       ", \"foreseen\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"not_as_foreseen\": %" PRIu64 "}\n",
	       folios, lined_up, counter("swpin") - large, across, foreseen, wrong, others);
	return 0;
}
