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
#define HWSWAP_GROUP		64	/* clusters of a group, of marks */
#define HWSWAP_CHUNK		32768	/* clusters whose bitmaps are in one place */
#define HWSWAP_CHUNK_BYTES	(HWSWAP_CHUNK * HWSWAP_SLOTS / 8)

/*
 * The halves of a grant, and entries of swap tables, are one 64-bit store or load each,
 * on this side too: in halves they would be torn.
 */
static_assert(IS_ENABLED(CONFIG_64BIT));
static_assert(IS_ENABLED(CONFIG_PCI) || IS_ENABLED(CONFIG_OF));

/**
 * enum hwswap_reach - whether an engine's registers and configuration may be touched
 * @HWSWAP_REACHABLE: they may
 * @HWSWAP_FROZEN: its bus has stopped, until it was reset. What the engine had begun may
 *	still reach memory
 * @HWSWAP_DEAD: it is gone for good
 */
enum hwswap_reach {
	HWSWAP_REACHABLE,
	HWSWAP_FROZEN,
	HWSWAP_DEAD,
};

/**
 * struct hwswap_swapdev - a swap device, as the engine's core was told of it
 * @live: the numbers below are those of the kernel's device. Published with release
 *	semantics, after them; under devices_lock, like @generation
 * @on_engine: the core knows it; a job's business, under hwswap_mutex
 * @closing: the core knows that swapoff has begun; the same
 * @generation: which swapon it is, or 0: the kernel does not use it
 * @type: its number
 * @epoch: of its words of clusters
 * @base: its first cluster in the engine
 * @clusters: its clusters
 */
struct hwswap_swapdev {
	bool live;
	bool on_engine;
	bool closing;
	u32 generation;
	u32 type;
	u8 epoch;
	u32 base;
	u32 clusters;
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

/**
 * struct hwswap - the engine in use
 * @dev: its device
 * @regs: its registers
 * @irq: its interrupt, or 0
 * @front: its front end
 * @devices: swap devices it was built for
 * @cpus: CPUs it was built for
 * @clusters: clusters it was built for
 * @grant_log2: entries of a ring of grants, as a power of two
 * @caps: its register CAPS
 * @no_tables: why it is not asked about swap tables; NULL: it can be. See
 *	hwswap_has_tables()
 * @pinned: memory was allocated as CAPS asks for: neither it nor BUILD may change
 * @build: hash of its Verilog
 * @build_wanted: the hash it has to have, if @build_known
 * @build_known: somebody said which build it is: a device tree, or the first attach
 * @usable: clusters that there is memory for
 * @arena: all memory that host and engine share, the pieces below
 * @arena_written: its first bytes, which the engine writes
 * @arena_read: from this byte on the engine reads; what lies before @arena_written is
 *	both
 * @groups: marks of 64 clusters each, bytes
 * @dirty: marks of clusters, bytes
 * @words: a word a cluster
 * @used: bitmaps of slots in use
 * @grant_lines: what a CPU says of its rings of grants
 * @grants: these rings
 * @no_run: orders that there is no room for
 * @cmds: command ring
 * @cpls: completion ring
 * @gives: addresses for TABLE_GIVE
 * @found: the bitmap of TABLE_SCAN
 * @tables: the table of each cluster that it knows
 * @freed: clusters whose table the kernel has freed, see tables.c
 * @tables_given: tables that it knows
 * @tables_span: where they are, by window
 * @tables_incoherent: it cannot read the kernel's memory as the CPUs see it
 * @hooked: the hooks for searches are registered
 * @closing: these are not to wait for hwswap_mutex
 * @refused: the last DMA that was refused, as its register says it
 * @programmed: it was told once where all that is
 * @reach: whether it may be touched; set by its front end, at any time
 * @cmd_count: commands ever posted since the last attach
 * @cmd_done: the interrupt says that a command was completed
 * @doubt: why the engine is no longer trusted, or NULL; set from anywhere
 * @swapdev: swap devices by number
 * @generation: counts swapons
 * @jobs: what the engine is to be told, under devices_lock
 * @heartbeat: last one seen
 * @heartbeat_seen: when it last changed, in jiffies
 */
struct hwswap {
	struct device *dev;
	void __iomem *regs;
	int irq;
	const struct hwswap_front *front;

	u32 devices;
	u32 cpus;
	u32 clusters;
	u32 grant_log2;
	u64 caps;
	const char *no_tables;
	bool pinned;
	u64 build;
	u64 build_wanted;
	bool build_known;
	u32 usable;

	struct hwswap_dma arena;
	size_t arena_written;
	size_t arena_read;
	struct hwswap_dma groups;
	struct hwswap_dma dirty;
	struct hwswap_dma words;
	struct hwswap_dma used;
	struct hwswap_dma grant_lines;
	struct hwswap_dma grants;
	struct hwswap_dma no_run;
	struct hwswap_dma cmds;
	struct hwswap_dma cpls;
	struct hwswap_dma gives;
	struct hwswap_dma found;
	struct hwswap_table *tables;
	unsigned long *freed;
	u32 tables_given;
	struct hwswap_span tables_span[2];
	bool tables_incoherent;
	bool hooked;
	bool closing;
	u64 refused;
	bool programmed;
	enum hwswap_reach reach;

	u32 cmd_count;
	struct completion cmd_done;
	const char *doubt;

	struct hwswap_swapdev swapdev[HWSWAP_MAX_TYPES];
	u32 generation;
	struct list_head jobs;

	u32 heartbeat;
	unsigned long heartbeat_seen;
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
