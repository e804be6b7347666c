/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of swapscript, which swapscript.c describes. */
#ifndef HWSWAP_WORKLOADS_SWAPSCRIPT_H
#define HWSWAP_WORKLOADS_SWAPSCRIPT_H

#include "common.h"

#include <pthread.h>

/* Records of a trace. */
enum { PREPARE = 1, BAD, SWAPON, SWAPOFF_BEGIN, SWAPOFF, ALLOC, FREE, DISCARD_TAKE, DISCARD_DONE };
enum { BLKDEV = 1, SOLIDSTATE = 2, DISCARD = 4 };
#define FAILED 255

struct record {
	uint8_t op, cpu, order, type;
	uint32_t a, b, c;
};

#define DEVICES 32
#define BAD_LIST 8192 /* characters */
#define SLOTS 512U    /* of a cluster */
#define NONE (~0U)

/* A cluster, by what the kernel answered. */
struct cluster {
	uint16_t taken; /* slots that cannot be had: in use, bad, or past the device's end */
	uint8_t order;	/* of the allocation that found it empty */
};

struct device {
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
};

extern struct device devices[DEVICES];
extern unsigned of_type[DEVICES]; /* the trace's number of a device, by the kernel's */

/* Ends the program: a record is none that can be carried out. */
__attribute__((noreturn)) void die_of_record(const struct record *record, const char *why);

/* Returns the device that a record is of. */
struct device *device_of(const struct record *record);

/* Whether swapoff of a kernel's device is under way. */
bool is_leaving(unsigned type);

/* swapscript_devices.c: what records ask for; stay() interrupts a swapoff. */
void devices_begin(void);
void prepare(const struct record *record);
void mark_bad(const struct record *record);
void come(const struct record *record);
void begin_to_go(const struct record *record);
void go(const struct record *record);
void stay(const struct record *record);
void devices_end(void);

#endif
