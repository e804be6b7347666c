// SPDX-License-Identifier: Apache-2.0
// swapmix: keeps swap as full as it is told to, with folios of several sizes that come and go.
//
// Each granule is a folio in a mapping of its own, so that the kernel can give it no larger one. Sizes are drawn at
// random, unless others are asked for out of 4, 16, 32, 64 and 128 kB. What is wanted changes: one size, another one
// every 16 MB, has four times as many pages as each of the others. Were the mix always the same, each size would fit
// into the holes that its like has left, and no folio would ever be split. Granules are written and paged out until
// the pages wanted are in use; then one that is chosen at random is read back, verified and freed, and new ones take
// its place, again and again. At the end all that are left are verified, every byte. A line of JSON says how many
// folios of each size were paged out; how many of them had to be split, the kernel counts
// (hugepages-*kB/stats/swpout_fallback). The exit code is 1 when a byte was wrong.

#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZES_MAX 10
#define FAVOURED 4	   /* times as many of one size */
#define PHASE (16UL << 20) /* bytes until another one is favoured */

struct granule {
	unsigned int size; /* index of pages_of */
	uint64_t round;	   /* that wrote it; 0: it is not there */
};

static unsigned int sizes = 5, pages_of[SIZES_MAX] = {1, 4, 8, 16, 32};
static uint64_t place_bytes; /* of the address space, for a granule of any size and what keeps it apart */
static char *base;
static struct granule *granules;
static uint32_t *there; /* places of the granules that are there, in no order */
static uint64_t nr_there, pages_there, places, verified, mismatches, paged_out[SIZES_MAX], round_now, seed = 1;

static const char *const help =
    "usage: swapmix [options]\n"
    "  --sizes LIST   sizes of folios, rising powers of two from 4k to 2m (default 4k,16k,32k,64k,128k)\n"
    "  --fill SIZE    memory to keep in swap (default 64m)\n"
    "  --churn SIZE   memory to free and to write anew after that (default: --fill)\n"
    "  --seed N       seed of the pattern and of all choices (default 1)\n";

static void parse_sizes(char *list)
{
	unsigned int before = 0;

	sizes = 0;
	for (char *part = strtok(list, ","); part; part = strtok(NULL, ",")) {
		uint64_t bytes = parse_size(part, "each of --sizes");

		if (bytes < PAGE_BYTES || bytes > HUGE_BYTES || bytes & (bytes - 1) || bytes / PAGE_BYTES <= before)
			die("--sizes must be rising powers of two from 4k to 2m, and %s is not", part);
		before = pages_of[sizes++] = bytes / PAGE_BYTES;
	}
	if (!sizes)
		die("--sizes must name at least one size");
}

static char *address(uint32_t place)
{
	return base + place * place_bytes;
}

/* Draws a size. */
static unsigned int any_size(uint64_t *random)
{
	static unsigned int favourite;
	static uint64_t left;
	unsigned int weight[SIZES_MAX], all = 0, size = 0;
	uint64_t drawn;

	if (!left) {
		favourite = random_below(random, sizes);
		left = PHASE / PAGE_BYTES;
	}
	for (unsigned int s = 0; s < sizes; s++) {
		/* As many pages of each size, but for the favourite. */
		weight[s] = pages_of[sizes - 1] / pages_of[s] * (s == favourite ? FAVOURED : 1);
		all += weight[s];
	}
	for (drawn = random_below(random, all); drawn >= weight[size]; size++)
		drawn -= weight[size];
	left = left > pages_of[size] ? left - pages_of[size] : 0;
	return size;
}

/* Writes a granule at a place where there is none, and pages it out. */
static void add(uint32_t place, unsigned int size)
{
	uint64_t bytes = pages_of[size] * PAGE_BYTES;
	char *at = address(place);

	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
	    at)
		die("cannot map %" PRIu64 " bytes: %s", bytes, strerror(errno));
	if (pages_of[size] > 1 && madvise(at, bytes, MADV_HUGEPAGE))
		die("the kernel refuses large folios (madvise: %s)", strerror(errno));
	round_now++;
	pages_fill(at, bytes, seed, round_now);
	if (madvise(at, bytes, MADV_PAGEOUT))
		die("madvise(MADV_PAGEOUT): %s; the kernel has to be Linux 5.4 or newer", strerror(errno));
	granules[place] = (struct granule){.size = size, .round = round_now};
	there[nr_there++] = place;
	pages_there += pages_of[size];
	paged_out[size]++;
}

/* Reads back a granule, verifies it, and frees it. */
static uint32_t take(uint64_t index)
{
	uint32_t place = there[index];
	struct granule *g = &granules[place];
	uint64_t bytes = pages_of[g->size] * PAGE_BYTES;

	mismatches += pages_check(address(place), bytes, seed, g->round);
	verified += bytes;
	if (munmap(address(place), bytes))
		die("munmap: %s", strerror(errno));
	pages_there -= pages_of[g->size];
	g->round = 0;
	there[index] = there[--nr_there];
	return place;
}

int main(int argc, char **argv)
{
	uint64_t fill = 64UL << 20, churn = 0, random, wanted, left, next = 0;
	uint32_t *empty;
	uint64_t nr_empty = 0;
	char *list = NULL;
	const struct setting settings[] = {
	    {"sizes", TEXT, &list, 0, 0},
	    {"fill", SIZE, &fill, 0, 0},
	    {"churn", SIZE, &churn, 0, 0},
	    {"seed", NUMBER, &seed, 0, UINT64_MAX},
	    {0},
	};

	if (parse_settings(argc, argv, settings, help) != argc)
		die("it takes no arguments; see --help");
	if (list)
		parse_sizes(list);
	wanted = fill / PAGE_BYTES;
	if (wanted < pages_of[sizes - 1])
		die("--fill must hold at least one folio of each size");
	place_bytes = 2 * pages_of[sizes - 1] * PAGE_BYTES;
	left = (churn ? churn : fill) / PAGE_BYTES;
	places = wanted + 64; /* as many as single pages, at worst */
	random = mix64(seed);
	for (unsigned int s = 0; s < sizes; s++)
		allow_folio(pages_of[s] * PAGE_BYTES);
	if (write_text("/proc/sys/vm/max_map_count", "1000000"))
		die("vm.max_map_count cannot be raised, and each granule is a mapping");
	base = map_pages(places * place_bytes, place_bytes, PROT_NONE);
	granules = allocate(places, sizeof(*granules));
	there = allocate(places, sizeof(*there));
	empty = allocate(places, sizeof(*empty));

	while (left) {
		unsigned int size = any_size(&random);
		bool full = false;

		while (pages_there + pages_of[size] > wanted) {
			empty[nr_empty++] = take(random_below(&random, nr_there));
			full = true;
		}
		add(nr_empty ? empty[--nr_empty] : next++, size);
		if (full)
			left = left > pages_of[size] ? left - pages_of[size] : 0;
	}
	while (nr_there)
		take(nr_there - 1);
	printf("{\"tool\":\"swapmix\",\"fill\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"verified_bytes\":%" PRIu64
	       ",\"mismatches\":%" PRIu64,
	       fill, seed, verified, mismatches);
	for (unsigned int s = 0; s < sizes; s++)
		printf(",\"paged_out_%lu\":%" PRIu64, pages_of[s] * PAGE_BYTES >> 10, paged_out[s]);
	printf("}\n");
	return mismatches != 0;
}
