/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_H
#define HWSWAP_H

#include <asm/byteorder.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>

#include "hwswap_map.h"

/* The engine reads the kernel's own swap tables, whose entries it takes for little-endian. */
#ifdef __BIG_ENDIAN
#error "hwswap needs a little-endian kernel: the engine knows no other swap tables"
#endif

#define HWSWAP_SLOTS		512	/* slots of a cluster */
#define HWSWAP_ORDERS		10
#define HWSWAP_MAX_TYPES	32
#define HWSWAP_CHUNK		32768	/* clusters whose bitmaps are in one place */
#define HWSWAP_CHUNK_BYTES	(HWSWAP_CHUNK * HWSWAP_SLOTS / 8)

/*
 * The halves of a grant, and entries of swap tables, are one 64-bit store or load each,
 * on this side too: in halves they would be torn.
 */
static_assert(IS_ENABLED(CONFIG_64BIT));
static_assert(IS_ENABLED(CONFIG_PCI) || IS_ENABLED(CONFIG_OF));

/* Whether an engine's registers and configuration may be touched. */
enum hwswap_reach {
	HWSWAP_REACHABLE,	/* they may */
	/* its bus has stopped, until it was reset: what was under way may still reach memory */
	HWSWAP_FROZEN,
	HWSWAP_DEAD,	/* it is gone for good */
};

/* A swap device, as the engine's core was told of it. */
struct hwswap_swapdev {
	/*
	 * the numbers below are those of the kernel's device. Published with release
	 * semantics, after them; under devices_lock, like generation
	 */
	bool live;
	bool on_engine;	/* the core knows it; a job's business, under hwswap_mutex */
	bool closing;	/* the core knows that swapoff has begun; the same */
	u32 generation;	/* which swapon it is, or 0: the kernel does not use it */
	u32 type;	/* its number */
	u8 epoch;	/* of its words of clusters */
	u32 base;	/* its first cluster in the engine */
	u32 clusters;	/* its clusters */
};

/** struct hwswap_dma - a piece of memory that host and engine share */
struct hwswap_dma {
	void *cpu;
	dma_addr_t bus;
	size_t size;
};

/** struct hwswap_span - bus addresses of a window: none if @end is 0 */
struct hwswap_span {
	u64 start;
	u64 end;
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
	/* why it is not asked about swap tables; NULL: it can be. See hwswap_has_tables() */
	const char *no_tables;
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
	struct hwswap_dma cmds;	/* command ring */
	struct hwswap_dma cpls;	/* completion ring */
	struct hwswap_dma gives;	/* addresses for TABLE_GIVE */
	struct hwswap_dma found;	/* the bitmap of TABLE_SCAN */
	struct hwswap_table *tables;	/* the table of each cluster that it knows */
	unsigned long *freed;	/* clusters whose table the kernel has freed, see tables.c */
	u32 tables_given;	/* tables that it knows */
	struct hwswap_span tables_span[2];	/* where they are, by window */
	bool tables_incoherent;	/* it cannot read the kernel's memory as the CPUs see it */
	bool hooked;	/* the hooks for searches are registered */
	bool closing;	/* these are not to wait for hwswap_mutex */
	u64 refused;	/* the last DMA that was refused, as its register says it */
	bool programmed;	/* it was told once where all that is */
	/* whether it may be touched; set by its front end, at any time */
	enum hwswap_reach reach;

	u32 cmd_count;	/* commands ever posted since the last attach */
	struct completion cmd_done;	/* the interrupt says that a command was completed */
	/* why the engine is no longer trusted, or NULL; set from anywhere */
	const char *doubt;

	struct hwswap_swapdev swapdev[HWSWAP_MAX_TYPES];	/* swap devices by number */
	u32 generation;	/* counts swapons */
	struct list_head jobs;	/* what the engine is to be told, under devices_lock */

	u32 heartbeat;	/* last one seen */
	unsigned long heartbeat_seen;	/* when it last changed, in jiffies */
};

/**
 * hwswap_has_tables - can the engine be asked about swap tables in this kernel?
 * @hw: the engine, identified
 *
 * Without CONFIG_SWAP_OFFLOAD the compiler knows the answer, and leaves out what calls
 * the kernel for them.
 *
 * Return: whether its core is told of swap devices, and mode scan does more than hint.
 */
static inline bool hwswap_has_tables(const struct hwswap *hw)
{
	return IS_ENABLED(CONFIG_SWAP_OFFLOAD) && !hw->no_tables;
}

#endif /* HWSWAP_H */
