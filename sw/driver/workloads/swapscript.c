// SPDX-License-Identifier: Apache-2.0
// swapscript TRACE: has the kernel's swap allocator carry out a trace (docs/traces.md), and compares every answer.
//
// Devices of the trace are RAM disks with the same number, or, where the trace says that large orders are refused, a
// file in a file system on that disk. Allocations and frees go through the kernel's swap_alloc_script, on the CPU that
// the trace names; swapoff is under way from SWAPOFF_BEGIN until all slots are free, or it is interrupted. All of it
// is one sequence. Discards end with a DISCARD_TAKE of no cluster where they are asked for; an ALLOC behind a
// DISCARD_DONE is the allocation that had failed before, found clusters to discard, and tried again by itself. The
// first answer that is another ends the run. What was done is printed as a line of JSON.

#include "swapscript.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Words of swap_alloc_script, see mm/swap_alloc_bench.c. */
#define SCRIPT "/sys/kernel/debug/swap_alloc_script"
#define ASK_ALLOC(order) (1ULL << 60 | (order))
#define ASK_FREE(type, offset, nr) (2ULL << 60 | (uint64_t)(nr) << 50 | (uint64_t)(type) << 32 | (offset))
#define ASK_ON(type) (3ULL << 60 | (uint64_t)(type) << 32)
#define ASK_DISCARD(type) (4ULL << 60 | (uint64_t)(type) << 32)
#define TYPE(answer) ((unsigned)((answer) >> 32) & 0x1f)
#define OFFSET(answer) ((uint32_t)(answer))
#define MOST 4096 /* operations in one write */

#define LARGE 1024 /* clusters of a device that counts as large */
#define MANY 8	   /* so many devices, and more count as many */

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

/* Printed, beside counts by order. */
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

void die_of_record(const struct record *record, const char *why)
{
	die("record %zu: %s", (size_t)(record - records), why);
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

bool is_leaving(unsigned type)
{
	ops[0] = ASK_ON(type);
	nr_ops = 1;
	ask();
	nr_ops = 0;
	if ((int64_t)ops[0] < 0)
		die("%s does not know device %u", SCRIPT, type);
	return !ops[0];
}

static void operation(const struct record *record)
{
	static unsigned now = NONE;

	if (record->op == ALLOC && retried(record)) {
		if (!nr_ops || asked[nr_ops - 1]->op != ALLOC)
			die_of_record(record, "no allocation has failed before it");
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
		ops[nr_ops] = ASK_FREE(device_of(record)->type, record->a, record->b);
	} else if (record->op == DISCARD_TAKE) {
		ops[nr_ops] = ASK_DISCARD(device_of(record)->type);
	} else {
		ops[nr_ops] = ASK_ALLOC(record->order);
	}
	asked[nr_ops++] = record;
}

static void count_swapon(uint32_t flags)
{
	on++;
	now_on++;
	files += !(flags & BLKDEV);
	rotating += !(flags & SOLIDSTATE);
	discarding += !!(flags & DISCARD);
}

static void carry_out(const struct record *record)
{
	if (record->op == ALLOC || record->op == FREE) {
		operation(record);
		return;
	}
	if (record->op == DISCARD_TAKE || record->op == DISCARD_DONE) {
		/* Those that find a cluster are a part of the operation after them. */
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
		if (device_of(record)->going) {
			stay(record);
			given_up++;
		} else {
			come(record);
			count_swapon(device_of(record)->flags);
		}
		break;
	case SWAPOFF_BEGIN:
		begin_to_go(record);
		break;
	case SWAPOFF:
		go(record);
		off++;
		now_on--;
		break;
	default:
		die_of_record(record, "a running kernel cannot be asked for this operation");
	}
}

/* Maps a trace; returns its records, and how many there are. */
static const struct record *map(const char *path, size_t *nr)
{
	int fd = open_or_die(path, O_RDONLY);
	struct stat status;
	const char *text;
	uint32_t header;

	if (fstat(fd, &status))
		die("cannot read %s: %s", path, strerror(errno));
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
	size_t nr;

	if (argc != 2)
		die("usage: swapscript TRACE");
	records = map(argv[1], &nr);
	script = open_or_die(SCRIPT, O_RDWR);
	devices_begin();
	for (const struct record *record = records; record < records + nr; record++)
		carry_out(record);
	flush();
	/* Closing the file frees what is still in use. */
	close(script);
	devices_end();
	printf("{\"records\": %zu, ", nr);
	print_orders("allocated", allocations);
	print_orders("failed", failures);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", counts[i].name, *counts[i].number);
	printf("}\n");
	return 0;
}
