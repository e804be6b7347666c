// SPDX-License-Identifier: Apache-2.0
// swapscript TRACE: has the kernel's swap allocator carry out a trace (docs/traces.md), and compares every answer.
//
// Devices of the trace are RAM disks with the same number, or, where the trace says that large orders are refused, a
// file in a file system on that disk. Allocations and frees go through the kernel's swap_alloc_script, on the CPU that
// the trace names; swapoff is under way from SWAPOFF_BEGIN until all slots are free, or it is interrupted. All of it
// is one sequence. Discards end with a DISCARD_TAKE of no cluster where they are asked for; an ALLOC behind a
// DISCARD_DONE is the allocation that had failed before, found clusters to discard, and tried again by itself. The
// first answer that is another ends the run. What was done is printed as a line of JSON.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

/* Records of a trace. */
enum { PREPARE = 1, BAD, SWAPON, SWAPOFF_BEGIN, SWAPOFF, ALLOC, FREE, DISCARD_TAKE, DISCARD_DONE };
enum { BLKDEV = 1, SOLIDSTATE = 2, DISCARD = 4 };
#define FAILED 255

struct record {
	uint8_t op, cpu, order, type;
	uint32_t a, b, c;
};

/* Words of swap_alloc_script, see mm/swap_alloc_bench.c. */
#define SCRIPT "/sys/kernel/debug/swap_alloc_script"
#define ASK_ALLOC(order) (1ULL << 60 | (order))
#define ASK_FREE(type, offset, nr) (2ULL << 60 | (uint64_t)(nr) << 50 | (uint64_t)(type) << 32 | (offset))
#define ASK_ON(type) (3ULL << 60 | (uint64_t)(type) << 32)
#define ASK_DISCARD(type) (4ULL << 60 | (uint64_t)(type) << 32)
#define TYPE(answer) ((unsigned)((answer) >> 32) & 0x1f)
#define OFFSET(answer) ((uint32_t)(answer))
#define MOST 4096 /* operations in one write */

#define DEVICES 32
#define BAD_LIST 8192 /* characters */
#define SLOTS 512U    /* of a cluster */
#define LARGE 1024    /* clusters of a device that counts as large */
#define MANY 8	      /* so many devices, and more count as many */
#define NONE (~0U)

/* In <linux/swap.h> of the kernel alone. */
#define DISCARD_PAGES 0x40000

/* A cluster, by what the kernel answered. */
struct cluster {
	uint16_t taken; /* slots that cannot be had: in use, bad, or behind the device's end */
	uint8_t order;	/* of the allocation that found it empty */
};

static struct device {
	char area[64];
	uint32_t pages, flags;
	int32_t priority;
	char bad[BAD_LIST];
	unsigned type; /* the kernel's number; NONE: off */
	struct cluster *clusters;
	uint32_t nr_clusters, nr_bad, used; /* the last two in slots; used by what the kernel answered */
	bool going;
	pthread_t leaver;
	int result; /* of swapoff: an errno */
} devices[DEVICES];

static unsigned of_type[DEVICES]; /* the trace's number of a device, by the kernel's */
static int script;
static uint64_t ops[MOST];
static const struct record *records, *asked[MOST];
static size_t nr_ops;
static uint64_t allocations[10], failures[10], frees, switches, on, off, given_up, files, rotating, discarding;
static uint64_t discarded, retries, frees_elsewhere;
static unsigned now_on; /* devices */
/* Allocations, by where the slots lie, and by the CPU. */
static uint64_t in_empty, in_others, on_files, on_rotating, on_discarding;
static uint64_t on_bad, on_partial, on_large, of_many, on_high;

/* What is printed, beside counts by order. */
static const struct {
	const char *name;
	const uint64_t *number;
} counts[] = {
    {"freed", &frees},
    {"frees on other CPUs than the first", &frees_elsewhere},
    {"changes of CPU", &switches},
    {"swapons", &on},
    {"swapoffs", &off},
    {"swapoffs interrupted", &given_up},
    {"files", &files},
    {"rotating", &rotating},
    {"discarding", &discarding},
    {"clusters discarded when asked", &discarded},
    {"allocations that discarded", &retries},
    {"allocations in empty clusters", &in_empty},
    {"allocations in clusters of a larger order", &in_others},
    {"allocations on files", &on_files},
    {"allocations on rotating devices", &on_rotating},
    {"allocations on discarding devices", &on_discarding},
    {"allocations on devices with bad slots", &on_bad},
    {"allocations on devices with a part of a cluster", &on_partial},
    {"allocations on large devices, nearly full", &on_large},
    {"allocations with more than 8 devices", &of_many},
    {"allocations on CPUs 4 to 7", &on_high},
};

/* Runs a command; dies if it fails. */
__attribute__((format(printf, 1, 2))) static void command(const char *format, ...)
{
	char line[BAD_LIST + 256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (system(line))
		die("this command failed: %s", line);
}

/* Hands over what is waiting; the answers are in its place then. */
static void ask(void)
{
	ssize_t bytes = nr_ops * sizeof(ops[0]);

	if (write(script, ops, bytes) != bytes || pread(script, ops, bytes, 0) != bytes)
		die("%s: %s", SCRIPT, strerror(errno));
}

/* Ends the run: an answer is not the trace's. */
__attribute__((noreturn)) static void differ(const struct record *record, int64_t answer)
{
	printf("{\"record\": %zu, \"answer\": ", (size_t)(record - records));
	if (answer < 0 || record->op == DISCARD_TAKE)
		printf("%" PRId64 "}\n", answer);
	else
		printf("[%u, %u]}\n", of_type[TYPE(answer)], OFFSET(answer));
	fflush(stdout);
	/* Closing the file frees the slots, and lets a swapoff that is under way come to its end. */
	_exit(1);
}

/* Whether an allocation has discarded, and tried again. */
static bool retried(const struct record *record)
{
	return record > records && record[-1].op == DISCARD_DONE;
}

/* How many clusters are discarded before a DISCARD_TAKE that finds none any more. */
static int64_t clusters(const struct record *record)
{
	const struct record *first = record;

	while (first > records && first[-1].op == DISCARD_DONE)
		first -= 2;
	return (record - first) / 2;
}

static void count_allocation(const struct record *record)
{
	struct device *from = &devices[record->type];
	struct cluster *cluster = &from->clusters[record->a / SLOTS];
	uint32_t flags = from->flags;

	if (!cluster->taken) {
		cluster->order = record->order;
		in_empty++;
	}
	/* Order 0 alone goes into clusters of others: it has stolen there, or goes on where it has. */
	in_others += cluster->order != record->order;
	on_bad += from->nr_bad != 0;
	on_partial += from->pages % SLOTS != 0;
	on_large += from->nr_clusters >= LARGE && from->used >= from->pages / 10 * 9;
	of_many += now_on > MANY;
	on_high += record->cpu >= 4;
	cluster->taken += 1U << record->order;
	from->used += 1U << record->order;
	allocations[record->order]++;
	retries += retried(record);
	on_files += !(flags & BLKDEV);
	on_rotating += !(flags & SOLIDSTATE);
	on_discarding += !!(flags & DISCARD);
}

static void count_free(const struct record *record)
{
	struct device *of = &devices[record->type];
	struct cluster *cluster = &of->clusters[record->a / SLOTS];

	frees++;
	frees_elsewhere += record->cpu != 0;
	of->used -= record->b;
	cluster->taken -= record->b;
	if (!cluster->taken)
		cluster->order = 0;
}

static void flush(void)
{
	if (!nr_ops)
		return;
	ask();
	for (size_t i = 0; i < nr_ops; i++) {
		const struct record *record = asked[i];
		int64_t answer = ops[i];
		bool equal;

		if (record->op == FREE) {
			equal = !answer;
			count_free(record);
		} else if (record->op == DISCARD_TAKE) {
			equal = answer == clusters(record);
			discarded += answer;
		} else if (record->type == FAILED) {
			equal = answer == -ENOMEM;
			failures[record->order]++;
		} else {
			equal = answer >= 0 && of_type[TYPE(answer)] == record->type && OFFSET(answer) == record->a;
			count_allocation(record);
		}
		if (!equal)
			differ(record, answer);
	}
	nr_ops = 0;
}

static struct device *device(const struct record *record)
{
	if (record->type >= DEVICES)
		die("record %zu: there is no device %u", (size_t)(record - records), record->type);
	return &devices[record->type];
}

static void operation(const struct record *record)
{
	static unsigned now = NONE;

	if (record->op == ALLOC && retried(record)) {
		if (!nr_ops || asked[nr_ops - 1]->op != ALLOC)
			die("record %zu: no allocation has failed before it", (size_t)(record - records));
		asked[nr_ops - 1] = record;
		return;
	}
	if (nr_ops == MOST)
		flush();
	if (record->op != DISCARD_TAKE && record->cpu != now) {
		flush();
		now = record->cpu;
		switches += run_on_cpu(now);
	}
	if (record->op == FREE) {
		ops[nr_ops] = ASK_FREE(device(record)->type, record->a, record->b);
	} else if (record->op == DISCARD_TAKE) {
		ops[nr_ops] = ASK_DISCARD(device(record)->type);
	} else {
		ops[nr_ops] = ASK_ALLOC(record->order);
	}
	asked[nr_ops++] = record;
}

static void prepare(const struct record *record)
{
	struct device *made = device(record);

	made->pages = record->a;
	made->flags = record->b;
	made->priority = record->c;
	made->bad[0] = 0;
	made->nr_bad = 0;
	made->used = 0;
	made->nr_clusters = (made->pages + SLOTS - 1) / SLOTS;
	free(made->clusters);
	made->clusters = calloc(made->nr_clusters, sizeof(*made->clusters));
	if (!made->clusters)
		die("no memory for the clusters of device %u", record->type);
	made->clusters[0].taken = 1; /* the header */
	made->clusters[made->nr_clusters - 1].taken += made->nr_clusters * SLOTS - made->pages;
}

static void mark_bad(const struct record *record)
{
	struct device *made = device(record);
	size_t length = strlen(made->bad);

	for (uint32_t slot = record->a; slot < record->a + record->b; slot++) {
		if (length > sizeof(made->bad) - 16)
			die("record %zu: too many bad slots", (size_t)(record - records));
		length += sprintf(made->bad + length, "%s%u", length ? "," : "-b ", slot);
	}
	made->nr_bad += record->b;
	made->clusters[record->a / SLOTS].taken += record->b;
}

/* Makes the area, and switches it on. */
static void come(const struct record *record)
{
	struct device *made = device(record);
	unsigned disk = record->type, type = 0;
	int flags = made->priority < 0 ? 0 : SWAP_FLAG_PREFER | made->priority;
	bool file = !(made->flags & BLKDEV), discards = made->flags & DISCARD;
	char path[64], word[2] = {made->flags & SOLIDSTATE ? '0' : '1'};

	if (discards)
		flags |= SWAP_FLAG_DISCARD | DISCARD_PAGES;
	snprintf(path, sizeof(path), "/sys/block/ram%u/queue/rotational", disk);
	if (write_text(path, word))
		die("cannot write %s", path);
	if (file) {
		/* A little more than the area, for the file system itself. */
		command("mke2fs -b 4096 /dev/ram%u %u >/dev/null 2>&1", disk, made->pages * 4 + 4096);
		command("mkdir -p /tmp/disk%u && mount -t ext2 /dev/ram%u /tmp/disk%u", disk, disk, disk);
		snprintf(made->area, sizeof(made->area), "/tmp/disk%u/swap", disk);
	} else {
		snprintf(made->area, sizeof(made->area), "/dev/ram%u", disk);
	}
	command("swapctl make %s -s %" PRIu64 " %s", made->bad, made->pages * (uint64_t)PAGE_BYTES, made->area);
	if (swapon(made->area, flags))
		die("swapon %s: %s", made->area, strerror(errno));
	/* The kernel takes the lowest number that is not in use. */
	while (of_type[type] != NONE)
		type++;
	of_type[type] = disk;
	made->type = type;
	on++;
	now_on++;
	files += file;
	rotating += word[0] == '1';
	discarding += discards;
}

static void *leave(void *argument)
{
	struct device *leaving = argument;

	/* It goes round until all slots are free; the others are not to wait for it. */
	if (nice(19) == -1 && errno)
		leaving->result = errno;
	else
		leaving->result = swapoff(leaving->area) ? errno : 0;
	return NULL;
}

static void begin_to_go(const struct record *record)
{
	struct device *leaving = device(record);
	cpu_set_t all;

	CPU_ZERO(&all);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &all);
	leaving->going = true;
	if (pthread_create(&leaving->leaver, NULL, leave, leaving) ||
	    pthread_setaffinity_np(leaving->leaver, sizeof(all), &all))
		die("cannot start a thread: %s", strerror(errno));
	do {
		sched_yield();
		ops[0] = ASK_ON(leaving->type);
		nr_ops = 1;
		ask();
		nr_ops = 0;
		if ((int64_t)ops[0] < 0)
			die("%s does not know device %u", SCRIPT, leaving->type);
	} while (ops[0]);
}

static int went(struct device *leaving)
{
	if (pthread_join(leaving->leaver, NULL))
		die("cannot wait for a thread: %s", strerror(errno));
	leaving->going = false;
	return leaving->result;
}

static void go(const struct record *record)
{
	struct device *leaving = device(record);
	int result = went(leaving);

	if (result)
		die("swapoff %s: %s", leaving->area, strerror(result));
	of_type[leaving->type] = NONE;
	leaving->type = NONE;
	if (!(leaving->flags & BLKDEV))
		command("umount /tmp/disk%u", record->type);
	off++;
	now_on--;
}

static void stay(struct device *leaving)
{
	int result;

	/* Until it is in the kernel a signal would only interrupt what is before: but begin_to_go() has seen it there.
	 */
	pthread_kill(leaving->leaver, SIGUSR1);
	result = went(leaving);
	if (result != EINTR)
		die("swapoff %s was to be interrupted, and ended with: %s", leaving->area, strerror(result));
	given_up++;
}

static void interrupted(int signal)
{
	(void)signal;
}

static void carry_out(const struct record *record)
{
	if (record->op == ALLOC || record->op == FREE) {
		operation(record);
		return;
	}
	if (record->op == DISCARD_TAKE || record->op == DISCARD_DONE) {
		/* Those that find a cluster are a part of the operation behind them. */
		if (record->op == DISCARD_TAKE && !record->a)
			operation(record);
		return;
	}
	flush();
	switch (record->op) {
	case PREPARE:
		prepare(record);
		break;
	case BAD:
		mark_bad(record);
		break;
	case SWAPON:
		if (device(record)->going)
			stay(device(record));
		else
			come(record);
		break;
	case SWAPOFF_BEGIN:
		begin_to_go(record);
		break;
	case SWAPOFF:
		go(record);
		break;
	default:
		die("record %zu: a running kernel cannot be asked for operation %u", (size_t)(record - records),
		    record->op);
	}
}

/* Maps a trace; returns its records, and how many there are. */
static const struct record *map(const char *path, size_t *nr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	const char *text;
	uint32_t header;

	if (fd < 0 || fstat(fd, &status))
		die("cannot open %s: %s", path, strerror(errno));
	text = status.st_size < 16 ? MAP_FAILED : mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED || memcmp(text, "HWSWAPTR", 8))
		die("%s is not a trace", path);
	memcpy(&header, text + 12, sizeof(header));
	if (header % 16 || header > (uint64_t)status.st_size - 16 || status.st_size % 16)
		die("%s is cut off, or its records are not at a multiple of 16 bytes", path);
	*nr = (status.st_size - 16 - header) / sizeof(struct record);
	return (const struct record *)(text + 16 + header);
}

static void print_orders(const char *name, const uint64_t *by_order)
{
	printf("\"%s\": [", name);
	for (unsigned order = 0; order < 10; order++)
		printf("%s%" PRIu64, order ? ", " : "", by_order[order]);
	printf("], ");
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = interrupted};
	size_t nr;

	if (argc != 2)
		die("usage: swapscript TRACE");
	records = map(argv[1], &nr);
	script = open(SCRIPT, O_RDWR | O_CLOEXEC);
	if (script < 0)
		die("cannot open " SCRIPT ": %s", strerror(errno));
	/* Not SA_RESTART: swapoff has to end. */
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned i = 0; i < DEVICES; i++)
		of_type[i] = devices[i].type = NONE;

	for (const struct record *record = records; record < records + nr; record++)
		carry_out(record);
	flush();
	/* What is still in use is freed with the file; a swapoff under way comes to its end then. */
	close(script);
	for (unsigned i = 0; i < DEVICES; i++) {
		struct device *left = &devices[i];

		if (left->type == NONE)
			continue;
		if (left->going ? went(left) : swapoff(left->area))
			die("swapoff %s at the end: %s", left->area, strerror(left->going ? left->result : errno));
		if (!(left->flags & BLKDEV))
			command("umount /tmp/disk%u", i);
	}
	printf("{\"records\": %zu, ", nr);
	print_orders("allocated", allocations);
	print_orders("failed", failures);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", counts[i].name, *counts[i].number);
	printf("}\n");
	return 0;
}
