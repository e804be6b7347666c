// SPDX-License-Identifier: Apache-2.0
// swapfrag: fragments the swap space, in the manner of memhog, and holds it so.
//
// Writes a region of 4 kB pages piece by piece and pages each piece out, then drops a random part of the pages, which
// frees their slots, and waits for SIGTERM with the others in swap. At the end the others are verified, every byte.
// A line of JSON with "state":"ready" says that the space is fragmented, one with "state":"done" ends the run. The
// exit code is 1 when a byte was wrong.

#include "common.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE (1UL << 20) /* paged out at a time: keeps the resident part small */

static const struct option longs[] = {
    {"size", required_argument, NULL, 's'}, {"free", required_argument, NULL, 'x'},
    {"seed", required_argument, NULL, 'S'}, {"no-hold", no_argument, NULL, 'n'},
    {"help", no_argument, NULL, 'h'},	    {NULL, 0, NULL, 0},
};

static void usage(FILE *out)
{
	fputs("usage: swapfrag [options]\n"
	      "  -s, --size SIZE   memory to page out, a multiple of 1m (default 64m)\n"
	      "  -x, --free N      percentage of the pages whose slots are freed, chosen at random (default 50)\n"
	      "  -S, --seed N      seed of the pattern and of the choice (default 1)\n"
	      "  -n, --no-hold     verify and end at once instead of waiting for SIGTERM\n"
	      "  -h, --help\n",
	      out);
}

static uint64_t resident_pages(char *base, uint64_t pages)
{
	unsigned char *map = malloc(pages);
	uint64_t resident = 0;

	if (!map || mincore(base, pages * PAGE_BYTES, map))
		die("cannot see which pages are in memory: %s", strerror(errno));
	for (uint64_t i = 0; i < pages; i++)
		resident += map[i] & 1;
	free(map);
	return resident;
}

int main(int argc, char **argv)
{
	uint64_t size = 64UL << 20, percent = 50, seed = 1, random, pages, left, dropped = 0, mismatches = 0;
	bool hold = true, *kept;
	sigset_t signals;
	char *base;
	int c, received;

	while ((c = getopt_long(argc, argv, "s:x:S:nh", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			size = parse_size(optarg, "--size");
			break;
		case 'x':
			percent = parse_number(optarg, "--free", 0, 100);
			break;
		case 'S':
			seed = parse_number(optarg, "--seed", 0, UINT64_MAX);
			break;
		case 'n':
			hold = false;
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
	if (size % PIECE)
		die("--size must be a multiple of 1m, not %" PRIu64 " bytes", size);

	/* Blocked from here on, so that one sent before we wait is not lost. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	pages = size / PAGE_BYTES;
	kept = malloc(pages * sizeof(*kept));
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!kept || base == MAP_FAILED)
		die("cannot map %" PRIu64 " bytes: %s", size, strerror(errno));
	madvise(base, size, MADV_NOHUGEPAGE); /* fails where the kernel has no huge pages, which is as good */
	for (uint64_t at = 0; at < size; at += PIECE) {
		for (uint64_t page = at; page < at + PIECE; page += PAGE_BYTES)
			page_fill(base + page, seed, 0);
		if (madvise(base + at, PIECE, MADV_PAGEOUT))
			die("cannot page out (madvise: %s)", strerror(errno));
	}

	/* Exactly percent of the pages: each with the probability that is still needed. */
	random = seed;
	left = pages * percent / 100;
	for (uint64_t i = 0; i < pages; i++) {
		kept[i] = random_below(&random, pages - i) >= left;
		if (kept[i])
			continue;
		left--;
		dropped++;
		if (madvise(base + i * PAGE_BYTES, PAGE_BYTES, MADV_DONTNEED))
			die("cannot drop a page (madvise: %s)", strerror(errno));
	}
	printf("{\"tool\":\"swapfrag\",\"state\":\"ready\",\"pages\":%" PRIu64 ",\"dropped\":%" PRIu64
	       ",\"resident\":%" PRIu64 "}\n",
	       pages, dropped, resident_pages(base, pages));
	fflush(stdout);
	if (hold)
		sigwait(&signals, &received);

	for (uint64_t i = 0; i < pages; i++) {
		if (kept[i])
			mismatches += page_check(base + i * PAGE_BYTES, seed, 0);
	}
	printf("{\"tool\":\"swapfrag\",\"state\":\"done\",\"pages_written\":%" PRIu64 ",\"verified_bytes\":%" PRIu64
	       ",\"mismatches\":%" PRIu64 "}\n",
	       pages, (pages - dropped) * PAGE_BYTES, mismatches);
	return mismatches != 0;
}
