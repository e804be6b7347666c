// SPDX-License-Identifier: Apache-2.0
// The devices of swapscript: they are made, come, go, or stay.

#include "swapscript.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/swap.h>
#include <unistd.h>

/* In <linux/swap.h> of the kernel alone. */
#define DISCARD_PAGES 0x40000

struct device devices[DEVICES];
unsigned of_type[DEVICES];

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

struct device *device_of(const struct record *record)
{
	if (record->type >= DEVICES)
		die_of_record(record, "there is no such device");
	return &devices[record->type];
}

void prepare(const struct record *record)
{
	struct device *made = device_of(record);

	made->pages = record->a;
	made->flags = record->b;
	made->priority = record->c;
	made->bad[0] = 0;
	made->nr_bad = 0;
	made->used = 0;
	made->nr_clusters = (made->pages + SLOTS - 1) / SLOTS;
	free(made->clusters);
	made->clusters = allocate(made->nr_clusters, sizeof(*made->clusters));
	made->clusters[0].taken = 1; /* the header */
	made->clusters[made->nr_clusters - 1].taken += made->nr_clusters * SLOTS - made->pages;
}

void mark_bad(const struct record *record)
{
	struct device *made = device_of(record);
	size_t length = strlen(made->bad);

	for (uint32_t slot = record->a; slot < record->a + record->b; slot++) {
		if (length > sizeof(made->bad) - 16)
			die_of_record(record, "too many bad slots");
		length += sprintf(made->bad + length, "%s%u", length ? "," : "-b ", slot);
	}
	made->nr_bad += record->b;
	made->clusters[record->a / SLOTS].taken += record->b;
}

/* Makes the area, and switches it on. */
void come(const struct record *record)
{
	struct device *made = device_of(record);
	unsigned disk = record->type, type = 0;
	int flags = made->priority < 0 ? 0 : SWAP_FLAG_PREFER | made->priority;
	bool file = !(made->flags & BLKDEV);
	char path[64], word[2] = {made->flags & SOLIDSTATE ? '0' : '1'};

	if (made->flags & DISCARD)
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

void begin_to_go(const struct record *record)
{
	struct device *leaving = device_of(record);
	cpu_set_t all;

	CPU_ZERO(&all);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &all);
	leaving->going = true;
	if (pthread_create(&leaving->leaver, NULL, leave, leaving) ||
	    pthread_setaffinity_np(leaving->leaver, sizeof(all), &all))
		die("cannot start a thread: %s", strerror(errno));
	do
		sched_yield();
	while (!is_leaving(leaving->type));
}

static int went(struct device *leaving)
{
	if (pthread_join(leaving->leaver, NULL))
		die("cannot wait for a thread: %s", strerror(errno));
	leaving->going = false;
	return leaving->result;
}

void go(const struct record *record)
{
	struct device *leaving = device_of(record);
	int result = went(leaving);

	if (result)
		die("swapoff %s: %s", leaving->area, strerror(result));
	of_type[leaving->type] = NONE;
	leaving->type = NONE;
	if (!(leaving->flags & BLKDEV))
		command("umount /tmp/disk%u", record->type);
}

void stay(const struct record *record)
{
	struct device *leaving = device_of(record);
	int result;

	/* Until it is in the kernel a signal would only interrupt what is before: but begin_to_go() has seen it there.
	 */
	pthread_kill(leaving->leaver, SIGUSR1);
	result = went(leaving);
	if (result != EINTR)
		die("swapoff %s was to be interrupted, and ended with: %s", leaving->area, strerror(result));
}

static void interrupted(int signal)
{
	(void)signal;
}

void devices_begin(void)
{
	struct sigaction action = {.sa_handler = interrupted};

	/* Not SA_RESTART: swapoff has to end. */
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned i = 0; i < DEVICES; i++)
		of_type[i] = devices[i].type = NONE;
}

/* Nothing is in use any more: a swapoff under way comes to its end, and the others do not take long. */
void devices_end(void)
{
	for (unsigned i = 0; i < DEVICES; i++) {
		struct device *left = &devices[i];

		if (left->type == NONE)
			continue;
		if (left->going ? went(left) : swapoff(left->area))
			die("swapoff %s at the end: %s", left->area, strerror(left->going ? left->result : errno));
		if (!(left->flags & BLKDEV))
			command("umount /tmp/disk%u", i);
	}
}
