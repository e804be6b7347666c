/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_H
#define HWSWAP_H

#include <linux/list.h>
#include <linux/types.h>

#include "hwswap_map.h"

#define HWSWAP_SLOTS		512	/* slots of a cluster */
#define HWSWAP_ORDERS		10
#define HWSWAP_MAX_TYPES	32
#define HWSWAP_CHUNK		32768	/* clusters whose bitmaps are in one place */
#define HWSWAP_CHUNK_BYTES	(HWSWAP_CHUNK * HWSWAP_SLOTS / 8)

static_assert(IS_ENABLED(CONFIG_PCI) || IS_ENABLED(CONFIG_OF));

/* Whether an engine's registers and configuration may be touched. */
enum hwswap_reach {
	HWSWAP_REACHABLE,	/* they may */
	/* its bus has stopped, until it was reset: what was under way may still reach memory */
	HWSWAP_FROZEN,
	HWSWAP_DEAD,	/* it is gone for good */
};

/** struct hwswap_dma - a piece of memory that host and engine share */
struct hwswap_dma {
	void *cpu;
	dma_addr_t bus;
	size_t size;
};

/* The engine in use. */
struct hwswap {
	struct device *dev;	/* its device */
	void __iomem *regs;	/* its registers */
	int irq;	/* its interrupt, or 0 */
	const struct hwswap_front *front;	/* its front end */

	u32 devices;	/* swap devices it was built for */
	u32 cpus;	/* CPUs it was built for */
	u32 clusters;	/* clusters it was built for */
	u32 grant_log2;	/* entries of a ring of grants, as a power of two */
	u64 caps;	/* its register CAPS */
	/* memory was allocated as CAPS asks for: neither it nor BUILD may change */
	bool pinned;
	u64 build;	/* hash of its Verilog */
	u64 build_wanted;	/* the hash it has to have, if build_known */
	/* somebody said which build it is: a device tree, or the first attach */
	bool build_known;
	u32 usable;	/* clusters that there is memory for */

	/* all memory that host and engine share, the pieces below */
	struct hwswap_dma arena;
	size_t arena_written;	/* its first bytes, which the engine writes; it reads the rest */
	struct hwswap_dma words;	/* a word a cluster */
	struct hwswap_dma used;	/* bitmaps of slots in use */
	struct hwswap_dma grant_lines;	/* what a CPU says of its rings of grants */
	struct hwswap_dma grants;	/* these rings */
	struct hwswap_dma no_run;	/* orders that there is no room for */
	u64 refused;	/* the last DMA that was refused, as its register says it */
	bool programmed;	/* it was told once where all that is */
	/* whether it may be touched; set by its front end, at any time */
	enum hwswap_reach reach;

	/* why the engine is no longer trusted, or NULL; set from anywhere */
	const char *doubt;

	struct list_head jobs;	/* what the engine is to be told, under devices_lock */

	bool rests;	/* it reads nothing, as no ring is wanted; under no lock */
	u32 heartbeat;	/* last one seen */
	unsigned long heartbeat_seen;	/* when it last changed, in jiffies */
};

#endif /* HWSWAP_H */
