// SPDX-License-Identifier: Apache-2.0
// swapfrag: fragments the swap space, in the manner of memhog, and holds it so.
//
// Writes a region of 4 kB pages piece by piece and pages each piece out, then drops a random part of the pages, which
// frees their slots, and waits for SIGTERM with the others in swap. At the end the others are verified, every byte.
// A line of JSON with "state":"ready" says that the space is fragmented, one with "state":"done" ends the run. The
// exit code is 1 when a byte was wrong.

#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const help =
    "usage: swapfrag [options]\n"
    "  --size SIZE   memory to page out, a multiple of 1m (default 64m)\n"
    "  --free N      percentage of the pages whose slots are freed, chosen at random (default 50)\n"
    "  --seed N      seed of the pattern and of the choice (default 1)\n"
    "  --no-hold     verify and end at once instead of waiting for SIGTERM\n";

int main(int argc, char **argv)
{
	uint64_t size = 64UL << 20, percent = 50, seed = 1, random, pages, left, dropped = 0, mismatches = 0;
	bool at_once = false, *kept;
	const struct setting settings[] = {
	    {"size", SIZE, &size, 0, 0},
	    {"free", NUMBER, &percent, 0, 100},
	    {"seed", NUMBER, &seed, 0, UINT64_MAX},
	    {"no-hold", FLAG, &at_once, 0, 0},
	    {0},
	};
	sigset_t signals;
	char *base;
	int received;

	if (parse_settings(argc, argv, settings, help) != argc)
		die("it takes no arguments; see --help");
	if (size % PIECE)
		die("--size must be a multiple of 1m, not %" PRIu64 " bytes", size);

	/* Blocked from here on, so that one sent before we wait is not lost. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	pages = size / PAGE_BYTES;
	kept = allocate(pages, sizeof(*kept));
	base = map_paged_out(size, seed);

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
	printf("{\"tool\":\"swapfrag\",\"state\":\"ready\",\"pages\":%" PRIu64 ",\"dropped\":%" PRIu64 "}\n", pages,
	       dropped);
	fflush(stdout);
	if (!at_once)
		sigwait(&signals, &received);

	for (uint64_t i = 0; i < pages; i++) {
		if (kept[i])
			mismatches += pages_check(base + i * PAGE_BYTES, PAGE_BYTES, seed, 0);
	}
	printf("{\"tool\":\"swapfrag\",\"state\":\"done\",\"pages_written\":%" PRIu64 ",\"verified_bytes\":%" PRIu64
	       ",\"mismatches\":%" PRIu64 "}\n",
	       pages, (pages - dropped) * PAGE_BYTES, mismatches);
	return mismatches != 0;
}
