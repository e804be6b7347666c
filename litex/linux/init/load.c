// SPDX-License-Identifier: Apache-2.0
#include "init.h"

#define HUGE_BYTES (2UL << 20)
#define WORDS (PAGE_BYTES / sizeof(unsigned long))
#define HELD_PAGES 16UL
#define HELD_ROUND 0x4e11dULL
#define FOLIOS_ALLOWED "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"
#define FOLIOS_OUT "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/swpout"

struct memory {
	void *map;
	size_t bytes;
	unsigned long *words;
};

/* What a round of swapping was: in pages of 4 kB, bytes and nanoseconds of the device tree's clocks. */
struct swapped {
	unsigned long pages_out, pages_in, whole_folios;
	unsigned long verified, wrong;
	unsigned long out_ns, in_ns;
};

static struct memory held;

/* The splitmix64 finaliser: a bijection that mixes every bit into every other. */
static unsigned long mix(unsigned long x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9UL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebUL;
	return x ^ x >> 31;
}

/* What a page holds depends on its address and the round, each word on its place too. */
static void fill(unsigned long *page, unsigned long round)
{
	unsigned long word = mix((uintptr_t)page + round);

	for (size_t i = 0; i < WORDS; i++, word += 0x9e3779b97f4a7c15UL)
		page[i] = word;
}

/* Returns how many bytes are not what fill() wrote. */
static unsigned long check(const unsigned long *page, unsigned long round)
{
	unsigned long word = mix((uintptr_t)page + round), wrong = 0;

	for (size_t i = 0; i < WORDS; i++, word += 0x9e3779b97f4a7c15UL) {
		for (unsigned long rest = page[i] ^ word; rest; rest >>= 8)
			wrong += !!(rest & 0xff);
	}
	return wrong;
}

/* Anonymous memory whose pages start where a folio of 2 MB could, so that the kernel is free to take any. */
static struct memory take(unsigned long pages)
{
	struct memory memory = {.bytes = pages * PAGE_BYTES + HUGE_BYTES};

	memory.map = mmap(NULL, memory.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory.map == MAP_FAILED)
		die("%lu pages cannot be had (errno %d)", pages, errno);
	memory.words = (unsigned long *)(((uintptr_t)memory.map + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
	return memory;
}

static void page_out(unsigned long *memory, unsigned long pages)
{
	if (syscall(__NR_madvise, memory, pages * PAGE_BYTES, MADV_PAGEOUT))
		die("the kernel does not page out on demand (errno %d)", errno);
}

static void swap_round(unsigned long *memory, unsigned long pages, unsigned long round, struct swapped *sum)
{
	unsigned long out = read_counter("/proc/vmstat", "pswpout"), in = read_counter("/proc/vmstat", "pswpin"), start;

	for (unsigned long i = 0; i < pages; i++)
		fill(memory + i * WORDS, round);
	start = now_ns();
	page_out(memory, pages);
	sum->out_ns = now_ns() - start;
	/* One word of each page brings it back; what it holds is looked at outside of the measured time. */
	start = now_ns();
	for (unsigned long i = 0; i < pages; i++)
		*(volatile unsigned long *)(memory + i * WORDS);
	sum->in_ns = now_ns() - start;
	for (unsigned long i = 0; i < pages; i++)
		sum->wrong += check(memory + i * WORDS, round);
	sum->verified = pages * PAGE_BYTES;
	sum->pages_out = read_counter("/proc/vmstat", "pswpout") - out;
	sum->pages_in = read_counter("/proc/vmstat", "pswpin") - in;
}

static void run(const char *mode, unsigned long pages, bool folios)
{
	static unsigned long round;
	struct swapped sum = {0};
	struct memory memory;
	unsigned long whole;
	int error;

	if (!pages)
		return;
	error = write_text(FOLIOS_ALLOWED, folios ? "always" : "never");
	if (error)
		die("the size of folios cannot be set (%s, errno %d)", FOLIOS_ALLOWED, error);
	whole = read_number(FOLIOS_OUT);
	memory = take(pages);
	swap_round(memory.words, pages, ++round, &sum);
	sum.whole_folios = read_number(FOLIOS_OUT) - whole;
	munmap(memory.map, memory.bytes);
	report("{\"kind\":\"swap\",\"mode\":\"%s\",\"order\":%d,\"pages\":%lu,\"pages_out\":%lu,\"pages_in\":%lu,"
	       "\"whole_folios\":%lu,\"verified_bytes\":%lu,\"wrong_bytes\":%lu,\"out_ns\":%lu,\"in_ns\":%lu}",
	       mode, folios ? 4 : 0, pages, sum.pages_out, sum.pages_in, sum.whole_folios, sum.verified, sum.wrong,
	       sum.out_ns, sum.in_ns);
}

void load_pages(unsigned long pages, bool folios)
{
	run("load", folios ? (pages + FOLIO_PAGES - 1) & ~(FOLIO_PAGES - 1) : pages, folios);
}

void load_run(const char *mode, const struct plan *plan)
{
	run(mode, plan->pages, false);
	run(mode, plan->folios * FOLIO_PAGES, true);
}

void load_hold(void)
{
	held = take(HELD_PAGES);
	for (unsigned long i = 0; i < HELD_PAGES; i++)
		fill(held.words + i * WORDS, HELD_ROUND);
	page_out(held.words, HELD_PAGES);
}

void load_release(void)
{
	unsigned long wrong = 0;

	for (unsigned long i = 0; i < HELD_PAGES; i++)
		wrong += check(held.words + i * WORDS, HELD_ROUND);
	report("{\"kind\":\"held\",\"pages\":%lu,\"verified_bytes\":%lu,\"wrong_bytes\":%lu}", HELD_PAGES,
	       HELD_PAGES * PAGE_BYTES, wrong);
	munmap(held.map, held.bytes);
}
