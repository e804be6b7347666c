// SPDX-License-Identifier: Apache-2.0
// swapload: processes that write more memory than they may keep, in the manner of usemem, and verify every byte.
//
// Each process owns a region of granules, one folio each. A round visits every granule once, in sequential, random
// or strided order, or makes as many visits of which four in five are to a fifth of them: it verifies what was written
// there last and writes the new round's pattern, which depends on
// the seed, the process, the page's address and the round. At the end everything is verified once more, and freed. One
// line of JSON comes out, with the CPU time that rounds and freeing took; the exit code is 1 when a byte was wrong or a
// process died.

#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 64

enum access { SEQUENTIAL, RANDOM, STRIDED, HOT, ACCESSES };

static const char *const access_names[] = {"sequential", "random", "strided", "hot"};

struct options {
	uint64_t processes;
	uint64_t size; /* bytes a process */
	enum access access;
	uint64_t stride; /* granules */
	uint64_t folio;	 /* bytes of a granule */
	uint64_t rounds; /* 0: until SIGTERM */
	uint64_t seed;
	uint64_t limit; /* bytes for all processes together; 0: none */
};

/* The work of one process; in memory shared with the parent. */
struct result {
	uint64_t pages_written;
	uint64_t rounds;
	uint64_t verified_bytes;
	uint64_t mismatches; /* bytes */
	uint64_t rounds_ns;  /* CPU time */
	uint64_t free_ns;
	uint64_t finished;
};

struct region {
	char *base;
	void *map; /* all of the mapping, and its length */
	uint64_t length;
	uint64_t granules;
	uint64_t per_block; /* granules in each 2 MB of address space */
};

static volatile sig_atomic_t stop;

static void on_stop(int signal)
{
	(void)signal;
	stop = 1;
}

static const char *const help =
    "usage: swapload [options]\n"
    "  --processes N   processes (1 to 64; default 1)\n"
    "  --size SIZE     memory of each process (default 64m)\n"
    "  --access ORDER  sequential, random, strided or hot: 80 % to a fifth (default sequential)\n"
    "  --stride N      granules between two visits of a strided run (default 7)\n"
    "  --folio SIZE    folio to ask for, and unit of access: 4k to 2m, a power of two (default 4k)\n"
    "  --rounds N      times everything is written; 0: until SIGTERM (default 1)\n"
    "  --seed N        seed of the pattern and of the random order (default 1)\n"
    "  --limit SIZE    memory control group limit for all processes together (default none)\n";

static void parse_options(int argc, char **argv, struct options *o)
{
	char *access = "sequential";
	const struct setting settings[] = {
	    {"processes", NUMBER, &o->processes, 1, PROCESSES_MAX},
	    {"size", SIZE, &o->size, 0, 0},
	    {"access", TEXT, &access, 0, 0},
	    {"stride", NUMBER, &o->stride, 1, UINT32_MAX},
	    {"folio", SIZE, &o->folio, 0, 0},
	    {"rounds", NUMBER, &o->rounds, 0, UINT32_MAX},
	    {"seed", NUMBER, &o->seed, 0, UINT64_MAX},
	    {"limit", SIZE, &o->limit, 0, 0},
	    {0},
	};

	*o = (struct options){
	    .processes = 1, .size = 64UL << 20, .stride = 7, .folio = PAGE_BYTES, .rounds = 1, .seed = 1};
	if (parse_settings(argc, argv, settings, help) != argc)
		die("it takes no arguments; see --help");
	while (o->access < ACCESSES && strcmp(access, access_names[o->access]))
		o->access++;
	if (o->access == ACCESSES)
		die("--access must be sequential, random, strided or hot, not '%s'", access);
	if (o->folio < PAGE_BYTES || o->folio > HUGE_BYTES || (o->folio & (o->folio - 1)))
		die("--folio must be a power of two from 4k to 2m, not %" PRIu64 " bytes", o->folio);
	if (o->size < o->folio)
		die("--size must hold at least one folio of %" PRIu64 " bytes", o->folio);
}

/*
 * Maps a region whose granules can become folios of exactly `folio` bytes. The kernel takes the largest folio that
 * is allowed and fits, and what other processes allow counts too: so for sizes between 4 kB and 2 MB the first
 * granule of each 2 MB stays unmapped, and nothing larger than 1 MB fits anywhere.
 */
static struct region map_region(const struct options *o)
{
	struct region r = {.granules = o->size / o->folio, .per_block = HUGE_BYTES / o->folio};
	bool holes = o->folio > PAGE_BYTES && o->folio < HUGE_BYTES;
	uint64_t blocks;

	if (holes)
		r.per_block--;
	blocks = (r.granules + r.per_block - 1) / r.per_block;
	r.length = blocks * HUGE_BYTES;
	r.base = r.map = map_pages(r.length, HUGE_BYTES, PROT_READ | PROT_WRITE);
	if (madvise(r.base, r.length, o->folio == PAGE_BYTES ? MADV_NOHUGEPAGE : MADV_HUGEPAGE) &&
	    o->folio != PAGE_BYTES)
		die("the kernel refuses huge pages (madvise: %s); use --folio 4k", strerror(errno));
	for (uint64_t b = 0; holes && b < blocks; b++) {
		if (munmap(r.base + b * HUGE_BYTES, o->folio))
			die("munmap: %s", strerror(errno));
	}
	if (holes)
		r.base += o->folio;
	return r;
}

static char *granule_address(const struct region *r, uint64_t folio, uint64_t index)
{
	return r->base + index / r->per_block * HUGE_BYTES + index % r->per_block * folio;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Puts the numbers 0..n-1 into `order` in the order in which the granules are visited. */
static void make_order(uint32_t *order, uint64_t n, const struct options *o, uint64_t *random)
{
	uint64_t stride = o->stride % n ? o->stride % n : 1;

	/* Only a stride without a common factor with n visits every granule. */
	while (o->access == STRIDED && greatest_common_divisor(stride, n) != 1)
		stride++;
	for (uint64_t i = 0; i < n; i++)
		order[i] = o->access == STRIDED ? i * stride % n : i;
	for (uint64_t i = 0; o->access == HOT && i < n; i++)
		order[i] = random_below(random, random_below(random, 5) ? (n + 4) / 5 : n);
	for (uint64_t i = n - 1; o->access == RANDOM && i > 0; i--) {
		uint64_t j = random_below(random, i + 1);
		uint32_t kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
}

static void verify(char *granule, uint64_t folio, uint64_t seed, uint64_t round, struct result *result)
{
	result->mismatches += pages_check(granule, folio, seed, round);
	result->verified_bytes += folio;
}

/* Return the CPU time of this process, in nanoseconds. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now))
		die("the CPU time cannot be read: %s", strerror(errno));
	return now.tv_sec * 1000000000UL + now.tv_nsec;
}

static void work(const struct options *o, unsigned int process, struct result *result)
{
	uint64_t seed = mix64(o->seed * PROCESSES_MAX + process);
	uint64_t random = seed;
	struct region r = map_region(o);
	uint32_t *order = allocate(r.granules, sizeof(*order));
	uint32_t *written = allocate(r.granules, sizeof(*written)); /* round that wrote the granule; 0: none */
	uint64_t begin;

	begin = cpu_ns();
	for (uint64_t round = 1; !stop && (!o->rounds || round <= o->rounds); round++) {
		make_order(order, r.granules, o, &random);
		for (uint64_t i = 0; i < r.granules && !stop; i++) {
			uint64_t g = order[i];
			char *granule = granule_address(&r, o->folio, g);

			if (written[g])
				verify(granule, o->folio, seed, written[g], result);
			pages_fill(granule, o->folio, seed, round);
			result->pages_written += o->folio / PAGE_BYTES;
			written[g] = round;
		}
		result->rounds = round;
	}
	result->rounds_ns = cpu_ns() - begin;
	for (uint64_t i = 0; i < r.granules; i++) {
		/* Of the others' order, each granule comes up once. */
		uint64_t g = o->access == HOT ? i : order[i];

		if (written[g])
			verify(granule_address(&r, o->folio, g), o->folio, seed, written[g], result);
	}
	begin = cpu_ns();
	if (munmap(r.map, r.length))
		die("munmap: %s", strerror(errno));
	result->free_ns = cpu_ns() - begin;
	result->finished = 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	struct result *results, sum = {0};
	pid_t children[PROCESSES_MAX];
	struct options o;
	bool told = false;

	parse_options(argc, argv, &o);
	allow_folio(o.folio);
	results =
	    mmap(NULL, PROCESSES_MAX * sizeof(*results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		die("cannot map the results: %s", strerror(errno));
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (o.limit)
		memory_group_enter(o.limit);
	for (unsigned int p = 0; p < o.processes; p++) {
		children[p] = fork();
		if (children[p] < 0)
			die("cannot start process %u: %s", p, strerror(errno));
		if (children[p] == 0) {
			work(&o, p, &results[p]);
			exit(0);
		}
	}
	for (unsigned int p = 0; p < o.processes; p++) {
		/* A SIGTERM for the parent alone reaches the children here: SIGALRM would race, polling does not. */
		while (waitpid(children[p], NULL, WNOHANG) == 0) {
			if (stop && !told) {
				for (unsigned int q = p; q < o.processes; q++)
					kill(children[q], SIGTERM);
				told = true;
			}
			usleep(10000);
		}
		sum.pages_written += results[p].pages_written;
		sum.rounds += results[p].rounds;
		sum.verified_bytes += results[p].verified_bytes;
		sum.mismatches += results[p].mismatches;
		sum.rounds_ns += results[p].rounds_ns;
		sum.free_ns += results[p].free_ns;
		sum.finished += results[p].finished;
	}
	memory_group_leave();
	printf("{\"tool\":\"swapload\",\"processes\":%" PRIu64 ",\"size\":%" PRIu64
	       ",\"access\":\"%s\",\"folio\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"limit\":%" PRIu64
	       ",\"rounds_done\":%" PRIu64 ",\"pages_written\":%" PRIu64 ",\"rounds_ns\":%" PRIu64
	       ",\"free_ns\":%" PRIu64 ",\"verified_bytes\":%" PRIu64 ",\"mismatches\":%" PRIu64 ",\"died\":%" PRIu64
	       "}\n",
	       o.processes, o.size, access_names[o.access], o.folio, o.rounds, o.seed, o.limit, sum.rounds,
	       sum.pages_written, sum.rounds_ns, sum.free_ns, sum.verified_bytes, sum.mismatches,
	       o.processes - sum.finished);
	return sum.mismatches || sum.finished != o.processes;
}
