// SPDX-License-Identifier: Apache-2.0
// swapcached: leaves slots in swap that only the swap cache holds, and goes on to page out.
//
// Pages out a region, drops every other page (--every) and reads the others back: what a device behind a queue has
// written stays in the swap cache, and so does its slot, until the kernel takes it back. Then it pages out more,
// --times times over, and prints a line of JSON each time: how many kB of swap are in use, how many the swap cache
// holds, and how many pages are not in swap though they were to be. With --free each piece is dropped before the next
// one. At the end all that is left is verified, every byte. The exit code is 1 when a byte was wrong.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE (1UL << 20) /* paged out at a time: keeps the resident part small */

static const struct option longs[] = {
    {"first", required_argument, NULL, 'f'},
    {"every", required_argument, NULL, 'e'},
    {"more", required_argument, NULL, 'm'},
    {"times", required_argument, NULL, 't'},
    {"free", no_argument, NULL, 'x'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static uint64_t written, verified, mismatches;

static void usage(FILE *out)
{
	fputs("usage: swapcached [options]\n"
	      "  -f, --first SIZE  memory to page out at first, a multiple of 1m (default: none)\n"
	      "  -e, --every SIZE  of that, so much is dropped, so much read back, in turn (default 4k)\n"
	      "  -m, --more SIZE   memory to page out each time then, a multiple of 1m (default 10m)\n"
	      "  -t, --times N     how often (default 1)\n"
	      "  -x, --free        drop it before the next time\n"
	      "  -h, --help\n",
	      out);
}

static char *page_out(uint64_t size)
{
	char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		die("cannot map %" PRIu64 " bytes", size);
	madvise(base, size, MADV_NOHUGEPAGE); /* fails where the kernel has no huge pages, which is as good */
	for (char *at = base; at < base + size; at += PIECE) {
		for (char *page = at; page < at + PIECE; page += PAGE_BYTES)
			page_fill(page, 1, 0);
		if (madvise(at, PIECE, MADV_PAGEOUT))
			die("cannot page out (madvise: %s)", strerror(errno));
	}
	written += size / PAGE_BYTES;
	return base;
}

static void verify(char *from, uint64_t size)
{
	for (char *page = from; page < from + size; page += PAGE_BYTES) {
		mismatches += page_check(page, 1, 0);
		verified += PAGE_BYTES;
	}
}

static uint64_t not_swapped(int pagemap, char *base, uint64_t pages)
{
	uint64_t *entries = malloc(pages * sizeof(*entries)), left = 0;

	if (!entries)
		die("no memory for %" PRIu64 " entries of the page map", pages);
	read_pagemap(pagemap, entries, base, pages);
	for (uint64_t i = 0; i < pages; i++)
		left += !(entries[i] & PAGEMAP_SWAPPED);
	free(entries);
	return left;
}

static uint64_t meminfo(const char *name)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t value;

	if (!file)
		die("cannot open /proc/meminfo");
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)) || line[strlen(name)] != ':')
			continue;
		value = strtoull(line + strlen(name) + 1, NULL, 10);
		fclose(file);
		return value;
	}
	die("/proc/meminfo has no %s", name);
}

static void report(uint64_t left)
{
	printf("{\"used\":%" PRIu64 ",\"cached\":%" PRIu64 ",\"left\":%" PRIu64 "}\n",
	       meminfo("SwapTotal") - meminfo("SwapFree"), meminfo("SwapCached"), left);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t first = 0, every = PAGE_BYTES, more = 10UL << 20, times = 1;
	int pagemap = open_or_die("/proc/self/pagemap", O_RDONLY), c;
	char *base = NULL, **pieces;
	bool drop = false;

	while ((c = getopt_long(argc, argv, "f:e:m:t:xh", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			first = parse_size(optarg, "--first");
			break;
		case 'e':
			every = parse_size(optarg, "--every");
			break;
		case 'm':
			more = parse_size(optarg, "--more");
			break;
		case 't':
			times = parse_number(optarg, "--times", 0, 100000);
			break;
		case 'x':
			drop = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind != argc)
		die("'%s' is not understood; see --help", argv[optind]);
	if (first % PIECE || more % PIECE || every % PAGE_BYTES)
		die("--first and --more must be multiples of 1m, --every of 4k");

	if (first) {
		base = page_out(first);
		for (uint64_t at = 0; at < first; at += 2 * every)
			madvise(base + at, every, MADV_DONTNEED);
		for (uint64_t at = every; at < first; at += 2 * every)
			verify(base + at, every);
		report(0);
	}
	pieces = calloc(times + 1, sizeof(*pieces));
	if (!pieces)
		die("no memory for %" PRIu64 " pieces", times);
	for (uint64_t i = 0; i < times; i++) {
		pieces[i] = page_out(more);
		report(not_swapped(pagemap, pieces[i], more / PAGE_BYTES));
		if (drop)
			munmap(pieces[i], more);
	}
	for (uint64_t at = every; at < first; at += 2 * every)
		verify(base + at, every);
	for (uint64_t i = 0; i < times && !drop; i++)
		verify(pieces[i], more);
	printf("{\"tool\":\"swapcached\",\"pages_written\":%" PRIu64 ",\"verified_bytes\":%" PRIu64
	       ",\"mismatches\":%" PRIu64 "}\n",
	       written, verified, mismatches);
	return mismatches != 0;
}
