/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_H
#define HWSWAP_H

#include <asm/byteorder.h>
#include <linux/completion.h>
#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/swap_offload.h>
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
#define HWSWAP_CHUNK_BYTES	(2UL << 20)	/* bitmaps of a chunk of clusters */

/*
 * META, a notice and a hint are one 64-bit store or load each, on this side too:
 * in halves they would be torn.
 */
static_assert(IS_ENABLED(CONFIG_64BIT));
static_assert(IS_ENABLED(CONFIG_PCI) || IS_ENABLED(CONFIG_OF));

/**
 * struct hwswap_swapdev - a swap device
 * @live: its changes go into the mirror. Published with release semantics, after
 *	@base, @clusters and @epoch.
 * @present: the kernel uses it; under devices_lock, like all below
 * @on_engine: the engine knows it; a job's business, under hwswap_mutex
 * @warned: its owner was told that the engine has no room
 * @epoch: tells this use of the number from the last one
 * @generation: counts swapons
 * @base: its first cluster in the engine
 * @clusters: its clusters in the engine
 * @dev: what the kernel said of it
 */
struct hwswap_swapdev {
	bool live;
	bool present;
	bool on_engine;
	bool warned;
	u8 epoch;
	u32 generation;
	u32 base;
	u32 clusters;
	struct swap_offload_device dev;
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
 * @hint_log2: entries of a hint ring, as a power of two
 * @version: of its interface
 * @caps: its register CAPS
 * @pinned: memory was allocated as CAPS asks for: neither it nor BUILD may change
 * @build: hash of its Verilog
 * @build_wanted: the hash it has to have, if @build_known
 * @build_known: somebody said which build it is: a device tree, or the first attach
 * @usable: clusters that the cluster-state array has room for
 * @arena: all memory that host and engine share, the pieces below
 * @arena_written: its first bytes, which the engine writes
 * @arena_read: from this byte on the engine reads; what lies before @arena_written is
 *	both
 * @state: cluster-state array
 * @lines: CPU lines
 * @elines: engine lines
 * @notices: notice rings
 * @hints: hint rings
 * @groups: marks of 64 clusters each, bytes
 * @dirty: marks of clusters, bytes
 * @words: a word a cluster
 * @used: bitmaps of slots in use
 * @grant_lines: what a CPU says of its rings of grants
 * @grants: these rings
 * @no_run: orders that there is no room for
 * @cmds: command ring
 * @cpls: completion ring
 * @dump: where DUMP writes
 * @gives: addresses for TABLE_GIVE
 * @found: the bitmap of TABLE_SCAN and WINDOW
 * @notes: last notice of each cluster
 * @tables: the table of each cluster that it knows
 * @wanted: clusters whose table it does not know, see tables.c
 * @freed: clusters whose table the kernel has freed, see tables.c
 * @tables_given: tables that it knows
 * @tables_dir: what the engine may do with them; DMA_NONE: not settled yet
 * @tables_span: where they are, by window
 * @tables_incoherent: it cannot read the kernel's memory as the CPUs see it
 * @has_tables: it was built with commands on swap tables
 * @has_grants: it was built with marks and grants
 * @grants_only: and with nothing else
 * @grant_log2: entries of a ring of grants, as a power of two
 * @by_grants: it is attached by marks and grants, with no hook in the allocator
 * @closing: hooks are not to wait for the command ring
 * @refused: the last DMA that was refused, as its register says it
 * @hints_on: it fills hint rings
 * @programmed: it was told once where all that is
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
	u32 hint_log2;
	u32 version;
	u64 caps;
	bool pinned;
	u64 build;
	u64 build_wanted;
	bool build_known;
	u32 usable;

	struct hwswap_dma arena;
	size_t arena_written;
	size_t arena_read;
	struct hwswap_dma state;
	struct hwswap_dma lines;
	struct hwswap_dma elines;
	struct hwswap_dma notices;
	struct hwswap_dma hints;
	struct hwswap_dma groups;
	struct hwswap_dma dirty;
	struct hwswap_dma words;
	struct hwswap_dma used;
	struct hwswap_dma grant_lines;
	struct hwswap_dma grants;
	struct hwswap_dma no_run;
	struct hwswap_dma cmds;
	struct hwswap_dma cpls;
	struct hwswap_dma dump;
	struct hwswap_dma gives;
	struct hwswap_dma found;
	struct hwswap_note *notes;
	struct hwswap_table *tables;
	unsigned long *wanted;
	unsigned long *freed;
	u32 tables_given;
	enum dma_data_direction tables_dir;
	struct hwswap_span tables_span[2];
	bool tables_incoherent;
	bool has_tables;
	bool has_grants;
	bool grants_only;
	u32 grant_log2;
	bool by_grants;
	bool closing;
	u64 refused;
	bool hints_on;
	bool programmed;

	u32 cmd_count;
	struct completion cmd_done;
	const char *doubt;

	struct hwswap_swapdev swapdev[HWSWAP_MAX_TYPES];
	u32 generation;
	struct list_head jobs;

	u32 heartbeat;
	unsigned long heartbeat_seen;
};

#endif /* HWSWAP_H */
