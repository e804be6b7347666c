// SPDX-License-Identifier: Apache-2.0
// Shared by the swap workloads, see common.h.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOLDEN 0x9e3779b97f4a7c15ULL
#define WORDS (PAGE_BYTES / sizeof(uint64_t))

static const char *const group_v2 = "/sys/fs/cgroup";
static const char *const group_v1 = "/sys/fs/cgroup/memory";
static const char *group_root; /* of the version in use; NULL without a group */
static char group_path[128];

void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		die("no memory for %zu times %zu bytes", count, size);
	return memory;
}

uint64_t parse_size(const char *text, const char *what)
{
	char *end;
	uint64_t value, unit = 1;

	errno = 0;
	value = strtoull(text, &end, 10);
	switch (*end) {
	case 'k':
	case 'K':
		unit = 1ULL << 10;
		end++;
		break;
	case 'm':
	case 'M':
		unit = 1ULL << 20;
		end++;
		break;
	case 'g':
	case 'G':
		unit = 1ULL << 30;
		end++;
		break;
	}
	if (errno || end == text || *end || *text == '-' || value == 0 || value > UINT64_MAX / unit)
		die("%s must be a size such as 64k, 96m or 1g, not '%s'", what, text);
	return value * unit;
}

uint64_t parse_number(const char *text, const char *what, uint64_t lowest, uint64_t highest)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < lowest || value > highest)
		die("%s must be a number from %" PRIu64 " to %" PRIu64 ", not '%s'", what, lowest, highest, text);
	return value;
}

int parse_settings(int argc, char **argv, const struct setting *settings, const char *help)
{
	struct option longs[16] = {{"help", no_argument, NULL, 0}};
	const struct setting *s;
	int index, found;

	for (s = settings; s->name; s++)
		longs[s - settings + 1] = (struct option){s->name, s->kind != FLAG, NULL, 0};
	while ((found = getopt_long(argc, argv, "", longs, &index)) != -1) {
		if (found || !index) {
			fputs(help, found ? stderr : stdout);
			exit(found ? 2 : 0);
		}
		s = &settings[index - 1];
		if (s->kind == FLAG)
			*(bool *)s->to = true;
		else if (s->kind == SIZE)
			*(uint64_t *)s->to = parse_size(optarg, s->name);
		else if (s->kind == NUMBER)
			*(uint64_t *)s->to = parse_number(optarg, s->name, s->lowest, s->highest);
		else
			*(char **)s->to = optarg;
	}
	return optind;
}

uint64_t mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

uint64_t random_next(uint64_t *state)
{
	*state += GOLDEN;
	return mix64(*state);
}

uint64_t random_below(uint64_t *state, uint64_t bound)
{
	/* Numbers above the last multiple of bound would favour the low results: draw again. */
	uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
	uint64_t value;

	do
		value = random_next(state);
	while (value >= limit);
	return value % bound;
}

static uint64_t page_key(const void *page, uint64_t seed, uint64_t round)
{
	return mix64(mix64(mix64(seed + GOLDEN) ^ (uintptr_t)page) + round);
}

void pages_fill(void *at, uint64_t bytes, uint64_t seed, uint64_t round)
{
	for (char *page = at; page < (char *)at + bytes; page += PAGE_BYTES) {
		uint64_t *word = (uint64_t *)page, value = page_key(page, seed, round);

		for (size_t i = 0; i < WORDS; i++, value += GOLDEN)
			word[i] = value;
	}
}

uint64_t pages_check(const void *at, uint64_t bytes, uint64_t seed, uint64_t round)
{
	uint64_t wrong = 0;

	for (const char *page = at; page < (const char *)at + bytes; page += PAGE_BYTES) {
		const uint64_t *word = (const uint64_t *)page;
		uint64_t value = page_key(page, seed, round);

		for (size_t i = 0; i < WORDS; i++, value += GOLDEN) {
			for (uint64_t difference = word[i] ^ value; difference; difference >>= 8)
				wrong += (difference & 0xff) != 0;
		}
	}
	return wrong;
}

char *map_pages(uint64_t bytes, uint64_t alignment, int protection)
{
	char *at = mmap(NULL, bytes + alignment, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		die("cannot map %" PRIu64 " bytes: %s", bytes, strerror(errno));
	return (char *)(((uintptr_t)at + alignment - 1) & ~(alignment - 1));
}

char *map_paged_out(uint64_t bytes, uint64_t seed)
{
	char *base = map_pages(bytes, PAGE_BYTES, PROT_READ | PROT_WRITE);

	madvise(base, bytes, MADV_NOHUGEPAGE); /* fails where the kernel has no huge pages, which is as good */
	/* A piece at a time keeps the resident part small. */
	for (char *at = base; at < base + bytes; at += PIECE) {
		pages_fill(at, PIECE, seed, 0);
		if (madvise(at, PIECE, MADV_PAGEOUT))
			die("cannot page out (madvise: %s); the kernel has to be Linux 5.4 or newer", strerror(errno));
	}
	return base;
}

void allow_folio(uint64_t bytes)
{
	char path[128];
	int error;

	if (bytes == PAGE_BYTES)
		return;
	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/hugepages-%" PRIu64 "kB/enabled",
		 bytes >> 10);
	error = write_text(path, "madvise");
	if (error)
		die("folios of %" PRIu64 " kB cannot be had (%s: %s)", bytes >> 10, path, strerror(-error));
}

bool run_on_cpu(unsigned cpu)
{
	static unsigned now = UINT32_MAX;
	cpu_set_t set;

	if (cpu == now)
		return false;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot run on CPU %u: %s", cpu, strerror(errno));
	now = cpu;
	return true;
}

int open_or_die(const char *path, int how)
{
	int fd = open(path, how | O_CLOEXEC);

	if (fd < 0)
		die("cannot open %s: %s", path, strerror(errno));
	return fd;
}

void read_words(int fd, uint64_t *to, uint64_t first, size_t count, const char *what)
{
	ssize_t bytes = count * sizeof(*to);

	if (pread(fd, to, bytes, first * sizeof(*to)) != bytes)
		die("cannot read %s: %s", what, strerror(errno));
}

void read_pagemap(int fd, uint64_t *to, const void *at, size_t pages)
{
	read_words(fd, to, (uintptr_t)at / PAGE_BYTES, pages, "pagemap");
}

uint64_t pages_swapped(const void *at, size_t pages)
{
	int pagemap = open_or_die("/proc/self/pagemap", O_RDONLY);
	uint64_t *entries = allocate(pages, sizeof(*entries)), swapped = 0;

	read_pagemap(pagemap, entries, at, pages);
	for (size_t i = 0; i < pages; i++)
		swapped += !!(entries[i] & PAGEMAP_SWAPPED);
	free(entries);
	close(pagemap);
	return swapped;
}

uint64_t meminfo(const char *name)
{
	FILE *file = fopen("/proc/meminfo", "re");
	size_t length = strlen(name);
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, length) || line[length] != ':')
			continue;
		fclose(file);
		return strtoull(line + length + 1, NULL, 10);
	}
	die("/proc/meminfo has no %s", name);
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

static void group_write(const char *file, const char *text)
{
	char path[192];
	int error;

	snprintf(path, sizeof(path), "%s/%s", group_path, file);
	error = write_text(path, text);
	if (error)
		die("cannot write '%s' to %s: %s", text, path, strerror(-error));
}

void memory_group_enter(uint64_t limit)
{
	bool v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
	char text[32];
	int error;

	if (!v2 && access("/sys/fs/cgroup/memory/tasks", F_OK) != 0)
		die("a memory limit needs the memory control group: mount cgroup2 at %s, or version 1 at %s", group_v2,
		    group_v1);
	group_root = v2 ? group_v2 : group_v1;
	if (v2) {
		error = write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
		if (error)
			die("cannot switch on the memory controller in %s: %s", group_v2, strerror(-error));
	}
	snprintf(group_path, sizeof(group_path), "%s/%s-%d", group_root, program_invocation_short_name, getpid());
	if (mkdir(group_path, 0755))
		die("cannot make the control group %s: %s", group_path, strerror(errno));
	snprintf(text, sizeof(text), "%" PRIu64, limit);
	/* Above memory.high a process has to reclaim, as above memory.max, but it is never killed for it. */
	group_write(v2 ? "memory.high" : "memory.limit_in_bytes", text);
	group_write("cgroup.procs", "0");
}

void memory_group_leave(void)
{
	char path[192];

	if (!group_root)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", group_root);
	write_text(path, "0");
	rmdir(group_path);
	group_root = NULL;
}
