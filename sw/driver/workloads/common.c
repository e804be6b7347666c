// SPDX-License-Identifier: Apache-2.0
// What the swap workloads share. See common.h.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
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

void page_fill(void *page, uint64_t seed, uint64_t round)
{
	uint64_t *word = page;
	uint64_t value = page_key(page, seed, round);

	for (size_t i = 0; i < WORDS; i++, value += GOLDEN)
		word[i] = value;
}

size_t page_check(const void *page, uint64_t seed, uint64_t round)
{
	const uint64_t *word = page;
	uint64_t value = page_key(page, seed, round);
	size_t wrong = 0;

	for (size_t i = 0; i < WORDS; i++, value += GOLDEN) {
		for (uint64_t difference = word[i] ^ value; difference; difference >>= 8)
			wrong += (difference & 0xff) != 0;
	}
	return wrong;
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
