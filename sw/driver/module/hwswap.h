/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_H
#define HWSWAP_H

#include <asm/byteorder.h>
#include <linux/bitfield.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/dma-direction.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/list.h>
#include <linux/local_lock.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/swap_offload.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "hwswap_map.h"
#include "stats.h"

/* The engine reads the kernel's own swap tables, whose words it takes for little-endian. */
#ifdef __BIG_ENDIAN
#error "hwswap needs a little-endian kernel: the engine knows no other swap tables"
#endif

#define HWSWAP_SLOTS		512	/* slots of a cluster */
#define HWSWAP_ORDERS		10
#define HWSWAP_MAX_TYPES	32
#define HWSWAP_CMD_LOG2		5
#define HWSWAP_NOTICE_LOG2	10
#define HWSWAP_DUMP_CLUSTERS	32	/* clusters of one DUMP */
#define HWSWAP_GIVE_SIZE	4096	/* bytes of addresses of one TABLE_GIVE */
#define HWSWAP_FOUND_SIZE	64	/* bytes of a cluster's bitmap */

/*
 * META, a notice and a hint are one 64-bit store or load each, on this side too:
 * in halves they would be torn.
 */
static_assert(IS_ENABLED(CONFIG_64BIT));
static_assert(IS_ENABLED(CONFIG_PCI) || IS_ENABLED(CONFIG_OF));

/**
 * enum hwswap_hold - why a device is not to be attached, whatever the mode; bits
 * @HWSWAP_HOLD_SLEEP: the machine is suspended
 * @HWSWAP_HOLD_RESET: its bus is about to reset it, or has not finished
 * @HWSWAP_HOLD_ERROR: its bus has reported an error, and has not recovered
 */
enum hwswap_hold {
	HWSWAP_HOLD_SLEEP = BIT(0),
	HWSWAP_HOLD_RESET = BIT(1),
	HWSWAP_HOLD_ERROR = BIT(2),
};

/** enum hwswap_mode - what the engine is used for */
enum hwswap_mode {
	HWSWAP_OFF,	/* nothing: no hook is registered */
	HWSWAP_SHADOW,	/* it follows, software decides, differences are counted */
	HWSWAP_HINT,	/* its proposals are used */
	HWSWAP_SCAN,	/* it also searches swap tables and chooses readahead */
	HWSWAP_TRUSTED,	/* it also writes to them, for large folios */
};

/** struct hwswap_record - a cluster's state, as the engine reads it */
struct hwswap_record {
	__le64 meta;
	__le64 bitmap[HWSWAP_SLOTS / 64];
	__le64 tail;
};

static_assert(sizeof(struct hwswap_record) == HWSWAP_CLUSTER_STATE_SIZE);

/** struct hwswap_cpu_line - what a CPU tells the engine */
struct hwswap_cpu_line {
	__le64 notice;
	__le64 want;
	__le32 hint_head[HWSWAP_ORDERS];
	__le64 reserved;
};

static_assert(sizeof(struct hwswap_cpu_line) == HWSWAP_CPU_LINE_SIZE);

/** struct hwswap_engine_line - what the engine tells a CPU */
struct hwswap_engine_line {
	__le32 notice_head;
	__le32 resync_ack;
	__le64 heartbeat;
	__le64 reserved[6];
};

static_assert(sizeof(struct hwswap_engine_line) == HWSWAP_ENGINE_LINE_SIZE);

/** struct hwswap_command - an entry of the command ring */
struct hwswap_command {
	__le64 head;
	__le64 arg[3];
};

static_assert(sizeof(struct hwswap_command) == HWSWAP_COMMAND_SIZE);

/** struct hwswap_cpl - an entry of the completion ring */
struct hwswap_cpl {
	__le64 result;
	__le64 info;
};

static_assert(sizeof(struct hwswap_cpl) == HWSWAP_COMPLETION_SIZE);

/**
 * struct hwswap_cpu - a CPU's own state
 * @lock: guards @notice_tail, @resync and the CPU line's notice word; nests inside
 *	the cluster lock. Two tasks can want them at once where spinlocks are
 *	preemptible.
 * @notice_tail: notices ever posted
 * @resync: what the CPU line's RESYNC holds
 * @want: what the CPU line's WANT holds; like all below under the swap
 *	allocator's per-CPU lock
 * @streak: hints refused in a row
 * @hint_head: hints ever popped, an order each
 */
struct hwswap_cpu {
	local_lock_t lock;
	u32 notice_tail;
	u32 resync;
	u32 want;
	u32 streak;
	u32 hint_head[HWSWAP_ORDERS];
};

DECLARE_PER_CPU(struct hwswap_cpu, hwswap_cpus);

/**
 * struct hwswap_note - the last notice of a cluster; under the cluster lock
 * @index: its number in the ring
 * @cpu: whose ring
 * @posted: there was one
 */
struct hwswap_note {
	u32 index;
	u16 cpu;
	u16 posted;
};

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

/**
 * struct hwswap_front - what the core has to know of a bus
 * @on_chip: the bus of a system on chip: it may be 32 bits wide, see
 *	hwswap_read() and hwswap_write()
 * @bus_master: let the device use DMA, or stop it; NULL where nothing can, and
 *	only the end of the engine's reset says that no transfer is under way
 */
struct hwswap_front {
	bool on_chip;
	void (*bus_master)(struct device *dev, bool on);
};

/**
 * struct hwswap_table - the swap table of a cluster that the engine knows
 * @page: its page, held; NULL: the engine knows none. Written by who has the command
 *	ring.
 * @bus: its address for the engine
 */
struct hwswap_table {
	struct page *page;
	dma_addr_t bus;
};

/** struct hwswap_dma - a piece of memory that host and engine share */
struct hwswap_dma {
	void *cpu;
	dma_addr_t bus;
	size_t size;
};

/** enum hwswap_window - what each DMA window of the engine is for */
enum hwswap_window {
	HWSWAP_WINDOW_WRITTEN,		/* the driver's own memory that it writes */
	HWSWAP_WINDOW_READ,		/* that it reads */
	HWSWAP_WINDOW_TABLES_LOW,	/* swap tables that it was given, below 4 GiB */
	HWSWAP_WINDOW_TABLES_HIGH,	/* and above: what lies between is not memory */
};

static_assert(HWSWAP_WINDOW_TABLES_HIGH < HWSWAP_REG_DMA_WINDOW_COUNT);

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
 * @build: hash of its sources
 * @build_wanted: the hash it has to have, if @build_known
 * @build_known: somebody said which build it is: a device tree, or the first attach
 * @usable: clusters that the cluster-state array has room for
 * @arena: all memory that host and engine share, the pieces below
 * @arena_written: its first bytes, which the engine writes; it reads the others
 * @state: cluster-state array
 * @lines: CPU lines
 * @elines: engine lines
 * @notices: notice rings
 * @hints: hint rings
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
	struct hwswap_dma state;
	struct hwswap_dma lines;
	struct hwswap_dma elines;
	struct hwswap_dma notices;
	struct hwswap_dma hints;
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

/* core.c */
extern struct mutex hwswap_mutex;
extern struct hwswap *hwswap_active;
extern enum hwswap_mode hwswap_mode;
extern bool hwswap_use_irq;
extern const struct dev_pm_ops hwswap_pm_ops;

int hwswap_core_add(struct device *dev, void __iomem *regs, int irq,
		    const struct hwswap_front *front, const u64 *build);
void hwswap_core_remove(struct device *dev);
int hwswap_core_hold(struct device *dev, enum hwswap_hold why, const char *reason);
void hwswap_core_release(struct device *dev, enum hwswap_hold why);
void hwswap_lock(void);
int hwswap_lock_interruptible(void);
bool hwswap_trylock(void);
void hwswap_unlock(void);
bool hwswap_ring_try(void);
void hwswap_ring_leave(void);
void hwswap_doubt(struct hwswap *hw, const char *why);
void hwswap_fence(struct hwswap *hw, const char *why);
void hwswap_trusted_changed(void);
void hwswap_kick_jobs(void);
void hwswap_kick_tables(void);
void hwswap_describe(char *buf, size_t size);
int hwswap_reattach(void);

/* pci.c */
#ifdef CONFIG_PCI
int hwswap_pci_init(void);
void hwswap_pci_exit(void);
#else
static inline int hwswap_pci_init(void) { return 0; }
static inline void hwswap_pci_exit(void) { }
#endif

/* platform.c */
#ifdef CONFIG_OF
int hwswap_platform_init(void);
void hwswap_platform_exit(void);
#else
static inline int hwswap_platform_init(void) { return 0; }
static inline void hwswap_platform_exit(void) { }
#endif

/* mirror.c */
void hwswap_mirror_reset(struct hwswap *hw);
void hwswap_mirror_update(const struct swap_offload_change *change);
int hwswap_mirror_read(struct hwswap *hw, struct hwswap_swapdev *sd);
bool hwswap_mirror_settled(struct hwswap *hw);
bool hwswap_mirror_accepts(struct hwswap *hw, unsigned int type,
			   unsigned long offset, unsigned int order);

/* hints.c */
void hwswap_hints_reset(void);
bool hwswap_hint(unsigned int order, struct swap_offload_hint *hint);
void hwswap_hint_done(unsigned int order, const struct swap_offload_hint *hint,
		      enum swap_offload_outcome outcome);
int hwswap_shadow_compare(struct hwswap *hw, const struct swap_offload_change *change);
void hwswap_publish_head(struct hwswap *hw, unsigned int order);

/* cmd.c */
void hwswap_cmd_reset(struct hwswap *hw);
int hwswap_cmd(struct hwswap *hw, unsigned int opcode, unsigned int type,
	       unsigned int nr, const u64 arg[3], u64 *result);
int hwswap_cmd_status(struct hwswap *hw, unsigned int opcode, unsigned int type,
		      unsigned int nr, const u64 arg[3], u64 *result, unsigned int *status);
int hwswap_cmd_atomic(struct hwswap *hw, unsigned int opcode, unsigned int type,
		      unsigned int nr, const u64 arg[3], u64 timeout_ns, unsigned int *status);
irqreturn_t hwswap_interrupt(int irq, void *data);

/* devices.c */
void hwswap_devices_reset(struct hwswap *hw);
void hwswap_device_on(const struct swap_offload_device *dev);
void hwswap_device_off(unsigned int type, enum swap_offload_off stage);
int hwswap_run_jobs(struct hwswap *hw);

/* tables.c */
void hwswap_tables_note(struct hwswap *hw, u32 cluster, unsigned int list);
void hwswap_tables_new(struct hwswap *hw, const struct hwswap_swapdev *sd);
int hwswap_tables_give(struct hwswap *hw, const struct hwswap_swapdev *sd);
int hwswap_table_give_now(struct hwswap *hw, const struct hwswap_swapdev *sd, u32 cluster,
			  struct page *page, u64 timeout_ns);
int hwswap_tables_take(struct hwswap *hw);
int hwswap_tables_drop(struct hwswap *hw);
void hwswap_tables_off(struct hwswap *hw, const struct hwswap_swapdev *sd);
void hwswap_tables_release(struct hwswap *hw);
u32 hwswap_tables_quarantined(const struct hwswap *hw);

/* windows.c */
void hwswap_windows_open(struct hwswap *hw);
void hwswap_windows_add_table(struct hwswap *hw, dma_addr_t bus);
void hwswap_windows_no_tables(struct hwswap *hw);
void hwswap_windows_show(const struct hwswap *hw, struct seq_file *m);

/* scan.c */
int hwswap_search(struct swap_offload_search *search);
void hwswap_searched(unsigned int type, enum swap_offload_kind kind, unsigned int right,
		     unsigned int wrong);
bool hwswap_window(struct swap_offload_window *window);

/* trusted.c */
extern unsigned int hwswap_trusted_min_order;
extern bool hwswap_trusted_verify;
int hwswap_fill(const struct swap_offload_words *words);
int hwswap_clear(const struct swap_offload_words *words);
void hwswap_mended(const struct swap_offload_words *words, unsigned int wrong);

/* params.c */

/**
 * struct hwswap_bounds - a parameter that is a number between two others
 * @value: where it is kept
 * @min: the smallest
 * @max: the largest
 * @changed: called after it was set, or NULL
 */
struct hwswap_bounds {
	unsigned int *value;
	unsigned int min;
	unsigned int max;
	void (*changed)(void);
};

extern const struct kernel_param_ops hwswap_bounds_ops;

/* A module parameter @name, kept in a variable of that name, from @low to @high. */
#define hwswap_param_bounded(name, variable, low, high, hook, perm)			\
	static struct hwswap_bounds hwswap_bounds_##name = {				\
		.value = &(variable), .min = (low), .max = (high), .changed = (hook),	\
	};										\
	module_param_cb(name, &hwswap_bounds_ops, &hwswap_bounds_##name, perm)

/* debugfs.c */
void hwswap_debugfs_init(void);
void hwswap_debugfs_exit(void);

/**
 * hwswap_read - read a register
 * @hw: the engine
 * @reg: HWSWAP_REG_*
 *
 * One access where the bus carries 64 bits. A narrower one would split it into
 * two, between which a counter can carry from one half into the other: they are
 * read here so that this shows. Ordered like readq().
 *
 * Return: all 64 bits.
 */
static inline u64 hwswap_read(const struct hwswap *hw, u32 reg)
{
	void __iomem *addr = hw->regs + reg;
	u32 low, high, again;

	if (!hw->front->on_chip)
		return readq(addr);
	high = readl(addr + 4);
	low = readl(addr);
	again = readl(addr + 4);
	if (again != high)
		low = readl(addr);
	return (u64)again << 32 | low;
}

/**
 * hwswap_write - write a register
 * @hw: the engine
 * @reg: HWSWAP_REG_*
 * @value: all 64 bits
 *
 * A register that starts something does so on the write that touches its lowest
 * byte, so of two halves the upper one goes first; a 32-bit bus that splits a
 * 64-bit access begins with the lower one. Ordered like writeq(): after all that
 * was written to memory before it.
 */
static inline void hwswap_write(const struct hwswap *hw, u32 reg, u64 value)
{
	if (hw->front->on_chip)
		hi_lo_writeq(value, hw->regs + reg);
	else
		writeq(value, hw->regs + reg);
}

static inline struct hwswap_record *hwswap_record(const struct hwswap *hw, u32 cluster)
{
	return (struct hwswap_record *)hw->state.cpu + cluster;
}

static inline struct hwswap_cpu_line *hwswap_cpu_line(const struct hwswap *hw, unsigned int cpu)
{
	return (struct hwswap_cpu_line *)hw->lines.cpu + cpu;
}

static inline struct hwswap_engine_line *hwswap_engine_line(const struct hwswap *hw,
							    unsigned int cpu)
{
	return (struct hwswap_engine_line *)hw->elines.cpu + cpu;
}

#endif /* HWSWAP_H */
