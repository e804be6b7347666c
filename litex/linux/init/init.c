// SPDX-License-Identifier: Apache-2.0
/*
 * The only program of the initramfs: it carries out a plan in each mode of the driver, prints the results, one line of
 * JSON each, and stops the machine. It leaves all arithmetic on its measurements to hwswap_soc.linux, on the host. The
 * plan is on the kernel's command line:
 *
 *   hwswap_modes=MODE,...  the plan is done in each, in this order: off and hint are the driver's; with the driver
 *                          off, in thread the last CPU grants, and in oracle the bench knows its places;
 *                          unpatched, alone, is for a kernel that has neither driver nor grants
 *   hwswap_plan=STEP,...   done one after the other:
 *     swap:ORDER:PAGES                 write pages, have them swapped out as folios of that order, read and verify them
 *     bench:ORDER:COUNT:GAP_NS[:CPUS]  have the kernel allocate and free COUNT folios, each call after a pause; on so
 *                                      many CPUs at once
 *     counters                         the driver's, the engine's, and its bitmaps beside the kernel's own tables
 *     fill:PAGES:PERCENT               from here on, bench on a second RAM disk: all in use but PERCENT, at random
 *
 * It is built with the kernel's nolibc alone, so no other C library is needed; Debian's busybox wants an FPU, which
 * Rocket `linux` does not have.
 */
#include <linux/fs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"

#define PAGE_BYTES 4096UL
#define WORDS (PAGE_BYTES / sizeof(unsigned long))
#define HUGE_BYTES (2UL << 20)

#define MODE "/sys/module/hwswap/parameters/mode"
#define DRIVER "/sys/kernel/debug/hwswap/"
#define BENCH "/sys/kernel/debug/swap_alloc_bench"
#define MODULE "hwswap"
#define THREAD "hwswap_softgrants"
#define THREAD_STATS "/sys/kernel/debug/" THREAD "/stats"
#define CPUS "/sys/devices/system/cpu/online"
#define VMSTAT "/proc/vmstat"
#define FOLIOS "/sys/kernel/mm/transparent_hugepage/hugepages-%lukB/"
#define FULL_AREA "/dev/ram1"
#define FULL_PRIORITY (0x8000 | 9) /* a flag of swapon(2), and that this area goes before the other */

#define THREAD_CLUSTERS 256 /* that there is memory for: both areas have fewer */

#define STEPS_MAX 64
#define NUMBERS_MAX 4

/* A step of the plan, with its numbers; those that are not said are 0. */
struct step {
	const struct verb *verb;
	unsigned long number[NUMBERS_MAX];
};

struct verb {
	const char *name;
	unsigned int least, most; /* numbers */
	void (*run)(const unsigned long *number);
};

static struct step steps[STEPS_MAX + 1]; /* the plan's; the one after the last has no verb */
static const char *mode = "";		 /* that the plan is done in */
static unsigned long thread_cpu;	 /* THREAD is loaded and grants on that one; 0: it is not */
static bool full;			 /* FULL_AREA is in use */

static bool is_mode(const char *name)
{
	return !strcmp(mode, name);
}

/* Whether that is the mode in which the engine is used. */
static bool by_engine(const char *name)
{
	return !strcmp(name, "hint");
}

/* Prints an object of that kind, about the mode that is on; the format is its other members. */
#define report(kind, format, ...)                                                                                      \
	say("HWSWAP-JSON {\"kind\":\"%s\",\"mode\":\"%s\"," format "}\n", kind, mode, __VA_ARGS__)

/* Cuts off the word before the separator, and moves the text after it; returns NULL when nothing is left. */
static char *cut(char **text, char separator)
{
	char *word = *text, *end = word ? strchr(word, separator) : NULL;

	if (end)
		*end++ = '\0';
	*text = end;
	return word;
}

/* Reports a file's text, which has no quotes, with a semicolon for the end of each line. */
static void report_file(const char *kind, const char *path)
{
	char *text = read_text(path);

	for (char *at = text; (at = strchr(at, '\n'));)
		*at = ';';
	report(kind, "\"text\":\"%s\"", text);
}

/* Writes the first page as mkswap(8) does, and swaps to the area; no pages are all that the block device has. */
static void area_on(const char *path, unsigned long pages, int flags)
{
	static struct {
		char boot[1024];
		uint32_t version, last_page, bad_pages;
		char rest[PAGE_BYTES - 1024 - 12 - 10], signature[10];
	} header = {.version = 1};
	unsigned long bytes;
	int fd = open(path, O_RDWR);

	must(fd >= 0 && !ioctl(fd, BLKGETSIZE64, &bytes), "this is no block device to swap to:", path);
	if (!pages)
		pages = bytes / PAGE_BYTES;
	must(pages >= 10 && pages <= bytes / PAGE_BYTES && pages <= UINT32_MAX, "no area of that size goes on", path);
	header.last_page = pages - 1;
	memcpy(header.signature, "SWAPSPACE2", sizeof(header.signature));
	must(write(fd, &header, sizeof(header)) == PAGE_BYTES && !fsync(fd), "no header can be written to", path);
	close(fd);
	must(!syscall(__NR_swapon, path, flags), "the kernel does not swap to", path);
}

/* Returns a word's content by its address and the round; the factor is odd, so no two are the same. */
static unsigned long content(const unsigned long *word, unsigned long round)
{
	return ((uintptr_t)word + (round << 48)) * 0x9e3779b97f4a7c15UL;
}

/* Anonymous memory, written to; it starts where a folio of 2 MB could, so that the kernel is free to take any. */
static unsigned long *take(unsigned long pages, unsigned long round)
{
	size_t bytes = pages * PAGE_BYTES + HUGE_BYTES;
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long *memory = (unsigned long *)(((uintptr_t)map + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));

	must(map != MAP_FAILED, "memory is missing", "for pages to swap");
	for (unsigned long *word = memory; word < memory + pages * WORDS; word++)
		*word = content(word, round);
	return memory;
}

/* Returns how many bytes differ from those that take() wrote. */
static unsigned long wrong_bytes(const unsigned long *memory, unsigned long pages, unsigned long round)
{
	unsigned long wrong = 0;

	for (const unsigned long *word = memory; word < memory + pages * WORDS; word++) {
		for (unsigned long rest = *word ^ content(word, round); rest; rest >>= 8)
			wrong += !!(rest & 0xff);
	}
	return wrong;
}

static void page_out(unsigned long *memory, unsigned long pages)
{
	must(!syscall(__NR_madvise, memory, pages * PAGE_BYTES, MADV_PAGEOUT), "the kernel does not", "page out");
}

static void run_swap(const unsigned long *number)
{
	static unsigned long round;
	unsigned long order = number[0], pages = number[1], kib = PAGE_BYTES / 1024 << order, *memory;
	unsigned long out = read_number(VMSTAT, "\npswpout "), in = read_number(VMSTAT, "\npswpin ");
	unsigned long whole, start, paged_out, paged_in;
	char allowed[80], whole_out[80];

	snprintf(allowed, sizeof(allowed), FOLIOS "enabled", kib);
	snprintf(whole_out, sizeof(whole_out), FOLIOS "stats/swpout", kib);
	if (order)
		write_text(allowed, "always");
	whole = order ? read_number(whole_out, "") : 0;
	memory = take(pages, ++round);
	start = now_ns();
	page_out(memory, pages);
	paged_out = now_ns();
	/* One word of each page brings it back; its content is checked outside of the measured time. */
	for (unsigned long i = 0; i < pages; i++)
		*(volatile unsigned long *)(memory + i * WORDS);
	paged_in = now_ns();
	report("swap",
	       "\"order\":%lu,\"pages\":%lu,\"pages_out\":%lu,\"pages_in\":%lu,\"whole_folios\":%lu,"
	       "\"verified_bytes\":%lu,\"wrong_bytes\":%lu,\"out_ns\":%lu,\"in_ns\":%lu",
	       order, pages, read_number(VMSTAT, "\npswpout ") - out, read_number(VMSTAT, "\npswpin ") - in,
	       order ? read_number(whole_out, "") - whole : 0, pages * PAGE_BYTES, wrong_bytes(memory, pages, round),
	       paged_out - start, paged_in - paged_out);
	munmap(memory, pages * PAGE_BYTES);
	if (order)
		write_text(allowed, "never");
}

static void run_bench(const unsigned long *number)
{
	const unsigned long counts[] = {1, number[1]};
	unsigned long grants = thread_cpu ? read_number(THREAD_STATS, "\ngrants ") : 0;
	unsigned long cycles = thread_cpu ? read_number(THREAD_STATS, "\ncycles ") : 0;
	char command[96], how[32] = "", *text, *each;

	/* The last CPU is not for calls of the bench; places are known on one alone. */
	if ((thread_cpu && number[3] > thread_cpu) || (is_mode("oracle") && number[3] > 1))
		return;
	if (is_mode("oracle"))
		strcpy(how, "known ");
	else if (number[3])
		snprintf(how, sizeof(how), "cpus %lu ", number[3]);
	/* The first folio of an order asks the engine for its ring; the next ones do not cost that. */
	for (size_t i = 0; i < 2; i++) {
		msleep(i);
		snprintf(command, sizeof(command), "%s%lu %lu %lu", how, number[0], counts[i], number[2]);
		write_text(BENCH, command);
	}
	text = read_text(BENCH);
	while ((each = cut(&text, '\n')) && *each)
		report(full ? "full" : "bench", "\"gap_ns\":%lu,\"result\":%s", number[2], each);
	if (thread_cpu)
		report("thread", "\"full\":%d,\"order\":%lu,\"cpus\":%lu,\"calls\":%lu,\"grants\":%lu,\"cycles\":%lu",
		       full, number[0], number[3], number[3] * (number[1] + 1),
		       read_number(THREAD_STATS, "\ngrants ") - grants,
		       read_number(THREAD_STATS, "\ncycles ") - cycles);
}

static void start_thread(void)
{
	const char *last = strrchr(read_text(CPUS), '-');
	unsigned long cycles;
	char parameters[64];

	must(last, "a thread that grants takes a CPU of its own, and there is one in", CPUS);
	thread_cpu = strtoul(last + 1, NULL, 10);
	snprintf(parameters, sizeof(parameters), "cpu=%lu clusters=%d", thread_cpu, THREAD_CLUSTERS);
	load(THREAD, parameters);
	/* Until it has read all there is, which is no work for calls of the bench. */
	do {
		cycles = read_number(THREAD_STATS, "\ncycles ");
		msleep(2);
	} while (read_number(THREAD_STATS, "\ncycles ") != cycles);
}

static void stop_thread(void)
{
	if (thread_cpu)
		unload(THREAD);
	thread_cpu = 0;
}

/* Stops whoever grants, and has the mode's own do so; no mode: nobody. */
static void set_mode(const char *name)
{
	if (is_mode("unpatched"))
		return;
	stop_thread();
	write_text(MODE, by_engine(name) ? name : "off");
	/* The driver says why when it does not use its engine; then nothing that follows would be about the engine. */
	if (by_engine(name) && strcmp(read_text(DRIVER "state"), "attached\n"))
		die("in mode %s the engine is not used: %s", name, read_text(DRIVER "state"));
	if (!strcmp(name, "thread"))
		start_thread();
}

static void run_fill(const unsigned long *number)
{
	char command[64];

	area_on(FULL_AREA, number[0], FULL_PRIORITY);
	full = true;
	/* The engine keeps free clusters back, so the kernel's own search fills it. */
	set_mode("off");
	snprintf(command, sizeof(command), "fill %lu 1 %lu", number[0] - 1, number[1]);
	write_text(BENCH, command);
	set_mode(mode);
}

static void run_counters(const unsigned long *number)
{
	(void)number;
	if (!by_engine(mode))
		return;
	report_file("bitmaps", DRIVER "verify");
	report_file("driver", DRIVER "stats");
	report_file("engine", DRIVER "engine");
}

static const struct verb verbs[] = {
    {"swap", 2, 2, run_swap}, {"bench", 3, 4, run_bench}, {"counters", 0, 0, run_counters},
    {"fill", 2, 2, run_fill}, {NULL, 0, 0, NULL},
};

/* Returns whether the text, which is cut up, is a step. */
static bool parse_step(char *text, struct step *step)
{
	const char *name = cut(&text, ':'), *number;
	unsigned int count = 0;
	char *end;

	for (step->verb = verbs; step->verb->name && strcmp(step->verb->name, name);)
		step->verb++;
	while (count < step->verb->most && (number = cut(&text, ':'))) {
		step->number[count++] = strtoul(number, &end, 10);
		if (!isdigit(*number) || *end)
			return false;
	}
	return step->verb->name && !text && count >= step->verb->least;
}

/* Looks at all of it before anything is changed. */
static void parse_plan(void)
{
	char *plan = getenv("hwswap_plan"), *word;

	for (size_t count = 0; (word = cut(&plan, ',')); count++) {
		if (count == STEPS_MAX || !parse_step(word, &steps[count]))
			die("hwswap_plan=: step %zu, %s, is none, or has other numbers than it takes", count + 1, word);
	}
	if (!steps->verb || !getenv("hwswap_modes"))
		die("hwswap_modes= and hwswap_plan= have to be on the kernel's command line");
}

static void run_mode(void)
{
	report("mode", "\"ns\":%lu", now_ns());
	set_mode(mode);
	if (by_engine(mode))
		write_text(DRIVER "stats", "0");
	for (const struct step *step = steps; step->verb; step++)
		step->verb->run(step->number);
	if (!full)
		return;
	write_text(BENCH, "drop");
	must(!syscall(__NR_swapoff, FULL_AREA), "the kernel does not stop swapping to", FULL_AREA);
	full = false;
}

static void run_plan(void)
{
	const unsigned long pages = 16, round = 0xffff;
	const char *area = "/dev/ram0";
	char *modes = getenv("hwswap_modes");
	bool driver = strcmp(modes, "unpatched");
	unsigned long *held = take(pages, round);

	if (driver)
		load(MODULE, "");
	area_on(area, 0, 0);
	/* Pages that stay swapped out while modes change: each attach has to find slots in use. */
	page_out(held, pages);
	while ((mode = cut(&modes, ',')))
		run_mode();
	mode = "";
	report("held", "\"verified_bytes\":%lu,\"wrong_bytes\":%lu", pages * PAGE_BYTES,
	       wrong_bytes(held, pages, round));
	/* With the last mode on: swapoff has to take every slot back from the engine. */
	must(!syscall(__NR_swapoff, area), "the kernel does not stop swapping to", area);
	stop_thread();
	if (driver)
		unload(MODULE);
}

int main(void)
{
	static const char *const mounts[][2] = {
	    {"proc", "/proc"}, {"sysfs", "/sys"}, {"debugfs", "/sys/kernel/debug"}, {"devtmpfs", "/dev"}};

	report("init", "\"ns\":%lu", now_ns());
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i][1], 0755);
		must(!mount(mounts[i][0], mounts[i][1], mounts[i][0], 0, NULL), "nothing is mounted on", mounts[i][1]);
	}
	parse_plan();
	run_plan();
	finish(0);
}
