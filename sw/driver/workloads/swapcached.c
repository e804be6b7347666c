// SPDX-License-Identifier: Apache-2.0
// swapcached: leaves slots in swap that only the swap cache holds, and goes on to page out.
//
// Pages out a region, drops every other page (--every) and reads the others back: what a device behind a queue has
// written stays in the swap cache, and so does its slot, until the kernel takes it back. Then it pages out more,
// --times times over, and prints a line of JSON each time: how many kB of swap are in use, how many the swap cache
// holds, how many pages are not in swap though they were to be, and a hash of the slots of all that was paged out since
// the last line. At the end all that is left is verified, every byte. The exit code is 1 when a byte was wrong.

#include "common.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t verified, mismatches;

static const char *const help = "usage: swapcached [options]\n"
				"  --first SIZE  memory to page out at first, a multiple of 1m (default 100m)\n"
				"  --every SIZE  of that, so much is dropped, so much read back, in turn (default 4k)\n"
				"  --more SIZE   memory to page out each time then, a multiple of 1m (default 10m)\n"
				"  --times N     how often (default 1)\n";

static void verify(char *from, uint64_t size)
{
	mismatches += pages_check(from, size, 1, 0);
	verified += size;
}

static void report(const char *base, uint64_t size)
{
	uint64_t *entries = allocate(size / PAGE_BYTES, sizeof(*entries)), left = 0, hash = 0;
	int pagemap = open_or_die("/proc/self/pagemap", O_RDONLY);

	read_pagemap(pagemap, entries, base, size / PAGE_BYTES);
	for (uint64_t i = 0; i < size / PAGE_BYTES; i++) {
		left += !(entries[i] & PAGEMAP_SWAPPED);
		hash = mix64(hash ^ (entries[i] & PAGEMAP_SWAPPED ? PAGEMAP_FRAME(entries[i]) : 0));
	}
	close(pagemap);
	free(entries);
	printf("{\"used\":%" PRIu64 ",\"cached\":%" PRIu64 ",\"left\":%" PRIu64 ",\"slots\":\"%016" PRIx64 "\"}\n",
	       meminfo("SwapTotal") - meminfo("SwapFree"), meminfo("SwapCached"), left, hash);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t first = 100UL << 20, every = PAGE_BYTES, more = 10UL << 20, times = 1;
	const struct setting settings[] = {
	    {"first", SIZE, &first, 0, 0},
	    {"every", SIZE, &every, 0, 0},
	    {"more", SIZE, &more, 0, 0},
	    {"times", NUMBER, &times, 0, 1000},
	    {0},
	};
	char *base, *pieces[1000];

	if (parse_settings(argc, argv, settings, help) != argc)
		die("it takes no arguments; see --help");
	if (first % PIECE || more % PIECE || every % PAGE_BYTES)
		die("--first and --more must be multiples of 1m, --every of 4k");

	base = map_paged_out(first, 1);
	for (uint64_t at = 0; at < first; at += 2 * every)
		madvise(base + at, every, MADV_DONTNEED);
	for (uint64_t at = every; at < first; at += 2 * every)
		verify(base + at, every);
	report(base, 0);
	for (uint64_t i = 0; i < times; i++) {
		pieces[i] = map_paged_out(more, 1);
		report(pieces[i], more);
	}
	for (uint64_t at = every; at < first; at += 2 * every)
		verify(base + at, every);
	for (uint64_t i = 0; i < times; i++)
		verify(pieces[i], more);
	printf("{\"tool\":\"swapcached\",\"verified_bytes\":%" PRIu64 ",\"mismatches\":%" PRIu64 "}\n", verified,
	       mismatches);
	return mismatches != 0;
}
