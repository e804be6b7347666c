// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap: proposals of an engine for the swap allocator.
 *
 * The core: one engine, whatever bus it is on; when it is attached to the swap
 * allocator and when it is not.
 *
 * The kernel's own tables stay the truth. Whatever the engine does or fails to
 * do, the answer is the same: detach it, go on in software, reset it after a
 * while and show it everything again.
 *
 * Locks, from the outside in: hwswap_mutex (with the command ring) > the hooks' registration >
 * devices_lock; cluster lock > hwswap_cpus.lock. The hooks device_on and
 * device_off never take hwswap_mutex, so attaching can register inside it.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "hwswap.h"

#define HWSWAP_RESET_MS		2000
#define HWSWAP_WATCH_PERIOD	(HZ / 2)
#define HWSWAP_DEAD_AFTER	(2 * HZ)
#define HWSWAP_BACKOFF_MIN	HZ
#define HWSWAP_BACKOFF_MAX	(60 * HZ)
#define HWSWAP_PROVEN		(30 * HZ)

static unsigned int depth = 512;
hwswap_param_bounded(depth, depth, 1, 65535, NULL, 0444);
MODULE_PARM_DESC(depth, "Slots that a hint ring holds at most (default 512); its size bounds it too");

static unsigned int poll_cycles = 256;
module_param(poll_cycles, uint, 0444);
MODULE_PARM_DESC(poll_cycles, "Engine clock cycles between two looks at the CPU lines (default 256)");

bool hwswap_use_irq = true;
module_param_named(use_irq, hwswap_use_irq, bool, 0444);
MODULE_PARM_DESC(use_irq, "Take interrupts of the engine; n: poll for completions (default y)");

static bool auto_reattach = true;
module_param(auto_reattach, bool, 0644);
MODULE_PARM_DESC(auto_reattach, "After a failure, try the engine again by and by (default y)");

/* Attaching, detaching, commands, and everything about which engine is used. */
DEFINE_MUTEX(hwswap_mutex);

/*
 * Bit 0: somebody uses the command ring and the tables that the engine knows: who
 * holds hwswap_mutex, or for one command a hook that must not sleep.
 */
static unsigned long hwswap_ring;

/* What the hooks work on: set before they are registered, cleared after. */
struct hwswap *hwswap_active;
enum hwswap_mode hwswap_mode = HWSWAP_OFF;

static const char *const hwswap_mode_names[] = {
	[HWSWAP_OFF] = "off",
	[HWSWAP_SHADOW] = "shadow",
	[HWSWAP_HINT] = "hint",
	[HWSWAP_SCAN] = "scan",
	[HWSWAP_TRUSTED] = "trusted",
};

static struct hwswap *hwswap_engine;	/* the engine found, attached or not */
static bool hwswap_is_attached;
static unsigned int hwswap_held;	/* enum hwswap_hold */
static bool hwswap_retry;		/* the trouble may pass */
/* Why it is not attached, or NULL when it is: read without a lock. */
static const char *hwswap_reason = "no engine was found";
static unsigned long hwswap_backoff = HWSWAP_BACKOFF_MIN;
static unsigned long hwswap_attached_since;	/* in jiffies */
static struct workqueue_struct *hwswap_wq;

static unsigned int quarantine_ms = 10;
hwswap_param_bounded(quarantine_ms, quarantine_ms, 0, 10000, NULL, 0644);
MODULE_PARM_DESC(quarantine_ms, "How long swap tables that the kernel has freed are collected before the engine is told to forget them, in milliseconds, at most 10000 (default 10)");

static void hwswap_jobs_fn(struct work_struct *work);
static void hwswap_watch_fn(struct work_struct *work);
static void hwswap_reattach_fn(struct work_struct *work);
static void hwswap_tables_fn(struct work_struct *work);

static DECLARE_WORK(hwswap_jobs_work, hwswap_jobs_fn);
static DECLARE_DELAYED_WORK(hwswap_tables_work, hwswap_tables_fn);
static DECLARE_DELAYED_WORK(hwswap_watch_work, hwswap_watch_fn);
static DECLARE_DELAYED_WORK(hwswap_reattach_work, hwswap_reattach_fn);

static const struct swap_offload_ops hwswap_ops = {
	.hint		= hwswap_hint,
	.hint_done	= hwswap_hint_done,
	.update		= hwswap_mirror_update,
	.device_on	= hwswap_device_on,
	.device_off	= hwswap_device_off,
	.search		= hwswap_search,
	.searched	= hwswap_searched,
	.window		= hwswap_window,
	.fill		= hwswap_fill,
	.clear		= hwswap_clear,
	.mended		= hwswap_mended,
};

/**
 * hwswap_ring_try - take the command ring for one command, without sleeping
 *
 * Return: false when somebody else has it.
 */
bool hwswap_ring_try(void)
{
	return !test_and_set_bit_lock(0, &hwswap_ring);
}

/* hwswap_ring_leave - give it back */
void hwswap_ring_leave(void)
{
	clear_bit_unlock(0, &hwswap_ring);
}

/* hwswap_lock - take hwswap_mutex, and with it the command ring */
void hwswap_lock(void)
{
	mutex_lock(&hwswap_mutex);
	/* Hooks keep it for a command; they do not sleep meanwhile. */
	while (!hwswap_ring_try())
		usleep_range(10, 50);
}

/**
 * hwswap_trylock - like hwswap_lock(), if nobody else has them
 *
 * Return: whether they were taken.
 */
bool hwswap_trylock(void)
{
	if (!mutex_trylock(&hwswap_mutex))
		return false;
	if (hwswap_ring_try())
		return true;
	mutex_unlock(&hwswap_mutex);
	return false;
}

/**
 * hwswap_lock_interruptible - like hwswap_lock(), unless a signal comes
 *
 * Return: 0, or -EINTR when they were not taken.
 */
int hwswap_lock_interruptible(void)
{
	if (mutex_lock_interruptible(&hwswap_mutex))
		return -EINTR;
	while (!hwswap_ring_try()) {
		if (signal_pending(current)) {
			mutex_unlock(&hwswap_mutex);
			return -EINTR;
		}
		usleep_range(10, 50);
	}
	return 0;
}

/* hwswap_unlock - give both back */
void hwswap_unlock(void)
{
	hwswap_ring_leave();
	mutex_unlock(&hwswap_mutex);
}

/**
 * hwswap_doubt - the engine can no longer be trusted
 * @hw: the engine
 * @why: completes the sentence "detached: ..."
 *
 * May be called from anywhere; a worker detaches it. The first reason counts.
 */
void hwswap_doubt(struct hwswap *hw, const char *why)
{
	if (!cmpxchg(&hw->doubt, NULL, why))
		mod_delayed_work(hwswap_wq, &hwswap_watch_work, 0);
}

/* hwswap_kick_jobs - there is something to tell the engine */
void hwswap_kick_jobs(void)
{
	queue_work(hwswap_wq, &hwswap_jobs_work);
}

/* hwswap_kick_tables - the engine is to forget a swap table */
void hwswap_kick_tables(void)
{
	queue_delayed_work(hwswap_wq, &hwswap_tables_work,
			   msecs_to_jiffies(READ_ONCE(quarantine_ms)));
}

/**
 * hwswap_describe - say in one line how things are
 * @buf: where to
 * @size: of @buf
 */
void hwswap_describe(char *buf, size_t size)
{
	const char *why = READ_ONCE(hwswap_reason);

	/* Without the mutex: attaching may be waiting for a dead engine. */
	if (why)
		snprintf(buf, size, "detached: %s", why);
	else
		snprintf(buf, size, "attached");
}

static void hwswap_free_memory(struct hwswap *hw)
{
	if (hw->arena.cpu)
		dma_free_coherent(hw->dev, hw->arena.size, hw->arena.cpu, hw->arena.bus);
	hw->arena.cpu = NULL;
	kvfree(hw->notes);
	kvfree(hw->tables);
	kvfree(hw->wanted);
	kvfree(hw->freed);
	hw->notes = NULL;
	hw->tables = NULL;
	hw->wanted = NULL;
	hw->freed = NULL;
}

/*
 * Divide the arena, wherever it is: first what the engine writes, then what it reads, so
 * that one DMA window does for each. Returns its size.
 */
static size_t hwswap_divide(struct hwswap *hw)
{
	const struct {
		struct hwswap_dma *mem;
		size_t size;
		bool written;
	} pieces[] = {
		{ &hw->elines, hw->cpus * HWSWAP_ENGINE_LINE_SIZE, true },
		{ &hw->hints, (size_t)hw->cpus * HWSWAP_ORDERS * HWSWAP_HINT_SIZE << hw->hint_log2,
		  true },
		{ &hw->cpls, HWSWAP_COMPLETION_SIZE << HWSWAP_CMD_LOG2, true },
		{ &hw->dump, HWSWAP_DUMP_CLUSTERS * HWSWAP_CLUSTER_STATE_SIZE, true },
		{ &hw->found, HWSWAP_FOUND_SIZE, true },
		{ &hw->lines, hw->cpus * HWSWAP_CPU_LINE_SIZE },
		{ &hw->notices, (size_t)hw->cpus * HWSWAP_NOTICE_SIZE << HWSWAP_NOTICE_LOG2 },
		{ &hw->cmds, HWSWAP_COMMAND_SIZE << HWSWAP_CMD_LOG2 },
		{ &hw->gives, HWSWAP_GIVE_SIZE },
		{ &hw->state, (size_t)hw->usable * HWSWAP_CLUSTER_STATE_SIZE },
	};
	size_t at = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		pieces[i].mem->cpu = hw->arena.cpu + at;
		pieces[i].mem->bus = hw->arena.bus + at;
		/* A window ends with a page. */
		pieces[i].mem->size = PAGE_ALIGN(pieces[i].size);
		at += pieces[i].mem->size;
		if (pieces[i].written)
			hw->arena_written = at;
	}
	return at;
}

/*
 * All that host and engine share. It is kept from the first attach until the
 * engine's device goes: an engine that was given up might still write to it.
 */
static int hwswap_alloc_memory(struct hwswap *hw)
{
	struct hwswap_dma *arena = &hw->arena;

	if (arena->cpu)
		return 0;

	/* One contiguous piece: where memory is scattered, rather for fewer clusters. */
	for (hw->usable = hw->clusters; hw->usable >= 8; hw->usable /= 2) {
		arena->size = hwswap_divide(hw);
		arena->cpu = dma_alloc_coherent(hw->dev, arena->size, &arena->bus,
						GFP_KERNEL | __GFP_NOWARN);
		if (arena->cpu)
			break;
	}
	if (!arena->cpu)
		return -ENOMEM;
	hwswap_divide(hw);
	if (hw->usable < hw->clusters)
		dev_warn(hw->dev, "memory for %u of the engine's %u clusters only\n",
			 hw->usable, hw->clusters);

	hw->notes = kvcalloc(hw->usable, sizeof(*hw->notes), GFP_KERNEL);
	hw->tables = kvcalloc(hw->usable, sizeof(*hw->tables), GFP_KERNEL);
	hw->wanted = kvcalloc(BITS_TO_LONGS(hw->usable), sizeof(long), GFP_KERNEL);
	hw->freed = kvcalloc(BITS_TO_LONGS(hw->usable), sizeof(long), GFP_KERNEL);
	if (hw->notes && hw->tables && hw->wanted && hw->freed)
		return 0;
	hwswap_free_memory(hw);
	return -ENOMEM;
}

/* Is there an engine, and one that we know how to use? NULL if so, else why not. */
static const char *hwswap_identify(struct hwswap *hw)
{
	u64 id = hwswap_read(hw, HWSWAP_REG_ID);
	u64 version = hwswap_read(hw, HWSWAP_REG_VERSION);
	u64 caps = hwswap_read(hw, HWSWAP_REG_CAPS);
	u64 build = hwswap_read(hw, HWSWAP_REG_BUILD);

	hwswap_retry = true;
	/* Once more: what a device that goes meanwhile seems to say is no fact about it. */
	if (id == ~0ULL || hwswap_read(hw, HWSWAP_REG_ID) == ~0ULL)
		return "its registers read all ones: it is gone, or in reset";
	if (FIELD_GET(HWSWAP_ID_MAGIC, id) != HWSWAP_ID_MAGIC_RESET) {
		hwswap_retry = false;
		return "register ID does not say HWSWAP: this is no hwswap engine";
	}
	hw->version = version;
	if (FIELD_GET(HWSWAP_VERSION_MAJOR, version) != HWSWAP_VERSION_MAJOR_RESET) {
		dev_warn(hw->dev, "the engine has interface version %llu, this driver knows %llu: use the driver that belongs to it\n",
			 FIELD_GET(HWSWAP_VERSION_MAJOR, version), HWSWAP_VERSION_MAJOR_RESET);
		hwswap_retry = false;
		return "it has another interface version";
	}

	hw->has_tables = caps & HWSWAP_CAPS_TABLES;
	if (!(caps & HWSWAP_CAPS_ADVISORY)) {
		hwswap_retry = false;
		return "it was built without advisory mode";
	}
	hw->build = build;
	if (hw->build_known && hw->build != hw->build_wanted) {
		hwswap_retry = false;
		return "it is another engine now, by its BUILD: bind the driver anew to use it";
	}
	/* Its rings have the sizes that these capabilities ask for, and cannot grow. */
	if (hw->pinned && hw->caps != caps) {
		hwswap_retry = false;
		return "it is another engine now, by its CAPS: bind the driver anew to use it";
	}
	hw->caps = caps;
	hw->devices = min(FIELD_GET(HWSWAP_CAPS_DEVICES, caps), HWSWAP_MAX_TYPES);
	hw->cpus = FIELD_GET(HWSWAP_CAPS_CPUS, caps);
	hw->clusters = FIELD_GET(HWSWAP_CAPS_CLUSTERS, caps);
	hw->hint_log2 = FIELD_GET(HWSWAP_CAPS_HINT_RING_LOG2, caps);
	if (!hw->devices || !hw->cpus || hw->clusters < 8 || hw->clusters > 1 << 24 ||
	    !hw->hint_log2 || hw->hint_log2 > 8 ||
	    FIELD_GET(HWSWAP_CAPS_ORDERS, caps) != HWSWAP_ORDERS) {
		return "its capabilities make no sense";
	}
	if (nr_cpu_ids > hw->cpus) {
		dev_warn(hw->dev, "the engine was built for %u CPUs, this machine can have %u: build it with more (CPUS=), or boot with nr_cpus=%u\n",
			 hw->cpus, nr_cpu_ids, hw->cpus);
		hwswap_retry = false;
		return "it was built for fewer CPUs";
	}
	return NULL;
}

/* From now on it is this engine or none: memory was allocated for it. */
static void hwswap_pin(struct hwswap *hw)
{
	hw->pinned = true;
	hw->build_wanted = hw->build;
	hw->build_known = true;
}

static void hwswap_bus_master(struct hwswap *hw, bool on)
{
	if (hw->front->bus_master)
		hw->front->bus_master(hw->dev, on);
}

/*
 * A reset gives up waiting for a bus that does not answer, and says so: what it had
 * asked for before may still be under way to memory.
 */
static bool hwswap_in_reset(struct hwswap *hw)
{
	return hwswap_read(hw, HWSWAP_REG_CONTROL) & HWSWAP_CONTROL_RESET ||
	       hwswap_read(hw, HWSWAP_REG_STATUS) & HWSWAP_STATUS_BUS_OWED;
}

static const char *hwswap_reset(struct hwswap *hw)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(HWSWAP_RESET_MS);
	unsigned int looks = 0;

	hwswap_write(hw, HWSWAP_REG_CONTROL, HWSWAP_CONTROL_RESET);
	do {
		if (hwswap_read(hw, HWSWAP_REG_CONTROL) == ~0ULL)
			return "its registers read all ones: it is gone, or in reset";
		if (!hwswap_in_reset(hw))
			return NULL;
		usleep_range(50, 200);
	} while (time_before(jiffies, deadline) || ++looks < 1000);
	if (hwswap_read(hw, HWSWAP_REG_CONTROL) & HWSWAP_CONTROL_RESET)
		return "its reset does not end";
	return "the bus still owes it answers from before its reset";
}

/* CONTROL, with these bits besides those that every attached engine has. */
static void hwswap_control(struct hwswap *hw)
{
	hwswap_write(hw, HWSWAP_REG_CONTROL,
		     HWSWAP_CONTROL_ADVISORY | HWSWAP_CONTROL_ENABLE |
		     (hw->hints_on ? HWSWAP_CONTROL_HINTS : 0) |
		     (hw->tables_dir == DMA_BIDIRECTIONAL ? HWSWAP_CONTROL_TABLE_WRITES : 0));
}

static void hwswap_program(struct hwswap *hw)
{
	hw->programmed = true;
	/* Before anything of which DMA could come. */
	hwswap_windows_open(hw);
	hwswap_write(hw, HWSWAP_REG_CMD_BASE, hw->cmds.bus);
	hwswap_write(hw, HWSWAP_REG_CPL_BASE, hw->cpls.bus);
	hwswap_write(hw, HWSWAP_REG_CMD_SIZE, HWSWAP_CMD_LOG2);
	hwswap_write(hw, HWSWAP_REG_CPU_LINE_BASE, hw->lines.bus);
	hwswap_write(hw, HWSWAP_REG_ENGINE_LINE_BASE, hw->elines.bus);
	hwswap_write(hw, HWSWAP_REG_STATE_BASE, hw->state.bus);
	hwswap_write(hw, HWSWAP_REG_NOTICE_BASE, hw->notices.bus);
	hwswap_write(hw, HWSWAP_REG_NOTICE_SIZE, HWSWAP_NOTICE_LOG2);
	hwswap_write(hw, HWSWAP_REG_HINT_BASE, hw->hints.bus);
	hwswap_write(hw, HWSWAP_REG_HINT_DEPTH,
		     FIELD_PREP(HWSWAP_HINT_DEPTH_SLOTS, depth) |
		     FIELD_PREP(HWSWAP_HINT_DEPTH_CAP_MIN, HWSWAP_HINT_DEPTH_CAP_MIN_RESET) |
		     FIELD_PREP(HWSWAP_HINT_DEPTH_CAP_SHIFT, HWSWAP_HINT_DEPTH_CAP_SHIFT_RESET));
	hwswap_write(hw, HWSWAP_REG_POLL, poll_cycles);
	hwswap_write(hw, HWSWAP_REG_IRQ_STATUS, ~0ULL);
	hwswap_write(hw, HWSWAP_REG_IRQ_ENABLE,
		     hw->irq ? HWSWAP_IRQ_ENABLE_COMPLETION | HWSWAP_IRQ_ENABLE_ERROR : 0);
	/* ADVISORY is taken only while ENABLE is 0. */
	hwswap_write(hw, HWSWAP_REG_CONTROL, HWSWAP_CONTROL_ADVISORY);
	hwswap_control(hw);
}

/*
 * Nothing of the engine's is under way to memory any more when this is true. A
 * reset ends when the last transfer has.
 */
static bool hwswap_is_quiet(struct hwswap *hw)
{
	return !hw->programmed || hw->front->bus_master || !hwswap_reset(hw);
}

/* Stop the engine; it may be dead, so nothing is expected of it. */
static void hwswap_stop(struct hwswap *hw)
{
	hwswap_write(hw, HWSWAP_REG_IRQ_ENABLE, 0);
	hwswap_write(hw, HWSWAP_REG_CONTROL, 0);
	hwswap_write(hw, HWSWAP_REG_CONTROL, HWSWAP_CONTROL_RESET);
	/* The read brings the writes to the device, or shows that it is gone. */
	hwswap_read(hw, HWSWAP_REG_CONTROL);
	hwswap_bus_master(hw, false);
	/* What it sent before that has arrived when this is answered. */
	hwswap_read(hw, HWSWAP_REG_CONTROL);
	/* Else they stay held until a reset has ended. */
	if (hw->tables_given && hwswap_is_quiet(hw))
		hwswap_tables_release(hw);
}

/**
 * hwswap_fence - keep the engine from memory, at once
 * @hw: the engine; it may be dead
 * @why: completes the sentence "detached: ..."
 *
 * When this returns nothing of it is under way to memory any more, and nothing will
 * be until it is attached again. On PCI, bus mastering is off, and the answer to a
 * read has come after all that it wrote before. On a system on chip its reset has
 * ended; where that does not end, somebody may write to the kernel's tables for
 * ever, and nothing that the kernel could do would be right.
 *
 * Context: any but NMI. Does not sleep.
 */
void hwswap_fence(struct hwswap *hw, const char *why)
{
	unsigned int looks;

	hwswap_write(hw, HWSWAP_REG_CONTROL, 0);
	hwswap_write(hw, HWSWAP_REG_CONTROL, HWSWAP_CONTROL_RESET);
	if (hw->front->bus_master) {
		hwswap_read(hw, HWSWAP_REG_CONTROL);
		hw->front->bus_master(hw->dev, false);
		hwswap_read(hw, HWSWAP_REG_CONTROL);
	} else {
		looks = 0;
		while (hwswap_in_reset(hw)) {
			if (looks++ == HWSWAP_RESET_MS * 1000)
				panic("hwswap: the engine's reset does not end, and it may still write to swap tables\n");
			udelay(1);
		}
	}
	hwswap_doubt(hw, why);
}

/* A kernel into whose tables a device has written is not one to report bugs of. */
static void hwswap_taint(void)
{
	static bool tainted;

	lockdep_assert_held(&hwswap_mutex);
	if (tainted)
		return;
	tainted = true;
	pr_warn("hwswap: mode trusted lets a device write to the kernel's own swap tables, which nobody can check in time: this taints the kernel\n");
	/* As of other dangerous things that somebody has asked for; lockdep goes on. */
	add_taint(TAINT_USER, LOCKDEP_STILL_OK);
}

/*
 * In mode trusted the engine may write to the tables that it knows, and is asked
 * to; else neither. Those that it knows were mapped for the other mode, so they are
 * taken back. Under hwswap_mutex.
 */
static int hwswap_apply_trusted(struct hwswap *hw)
{
	bool trusted = hwswap_mode == HWSWAP_TRUSTED && hw->has_tables;
	enum dma_data_direction dir = trusted ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	int ret;

	/* A fenced engine stays off until it is attached again. */
	if (READ_ONCE(hw->doubt))
		return -EPROTO;
	if (dir != hw->tables_dir) {
		ret = swap_offload_set_fill(&hwswap_ops, HWSWAP_ORDERS, true);
		if (!ret && hw->tables_given)
			ret = hwswap_tables_drop(hw);
		if (ret)
			return ret;
		/* What was opened for tables has the permission of the other mode. */
		hwswap_windows_no_tables(hw);
		hw->tables_dir = dir;
		hwswap_control(hw);
	}
	if (trusted)
		hwswap_taint();
	return swap_offload_set_fill(&hwswap_ops,
				     trusted ? hwswap_trusted_min_order : HWSWAP_ORDERS,
				     hwswap_trusted_verify);
}

/**
 * hwswap_trusted_changed - a parameter of mode trusted has changed
 *
 * Context: process context, sleeps.
 */
void hwswap_trusted_changed(void)
{
	hwswap_lock();
	if (hwswap_is_attached && hwswap_apply_trusted(hwswap_engine))
		hwswap_doubt(hwswap_engine, "it does not give back a swap table");
	hwswap_unlock();
}

/* Why the engine is no longer trusted, or NULL; what it was kept from tells the most. */
static const char *hwswap_trouble(struct hwswap *hw)
{
	u64 status = hwswap_read(hw, HWSWAP_REG_STATUS), refused;

	if (status == ~0ULL || !(status & HWSWAP_STATUS_DMA_REFUSED))
		return READ_ONCE(hw->doubt);
	refused = hwswap_read(hw, HWSWAP_REG_DMA_REFUSED);
	/* Each attempt to attach it may end like that. */
	if (refused != hw->refused)
		dev_warn(hw->dev, "its DMA %s at bus address %#llx was refused: that is in none of its windows\n",
			 refused & HWSWAP_DMA_REFUSED_WRITE ? "write" : "read",
			 refused & HWSWAP_DMA_REFUSED_ADDR);
	hw->refused = refused;
	return "it wanted to use memory that it was not given";
}

/* Why attaching failed, and no hook is registered: NULL if it worked. */
static const char *hwswap_try_attach(struct hwswap *hw)
{
	const char *why;

	why = hwswap_identify(hw);
	if (why)
		return why;
	if (hwswap_alloc_memory(hw))
		return "there is no memory for its rings";
	hwswap_pin(hw);

	why = hwswap_reset(hw);
	if (why)
		return why;
	/* After the reset: nothing of the time before can be under way. */
	hwswap_tables_release(hw);
	hw->tables_dir = DMA_NONE;
	hw->tables_incoherent = false;
	hw->hints_on = false;
	WRITE_ONCE(hw->closing, false);
	hwswap_mirror_reset(hw);
	hwswap_cmd_reset(hw);
	hwswap_devices_reset(hw);
	WRITE_ONCE(hw->doubt, NULL);
	hw->heartbeat = 0;
	hw->heartbeat_seen = jiffies;

	hwswap_bus_master(hw, true);
	hwswap_program(hw);
	if (hwswap_cmd(hw, HWSWAP_OPCODE_NOP, 0, 0, NULL, NULL)) {
		why = hwswap_trouble(hw) ?: "it refuses a command that does nothing";
		goto stop;
	}

	hwswap_active = hw;
	if (swap_offload_register(&hwswap_ops)) {
		why = "another module provides hints already";
		goto inactive;
	}
	if (hwswap_run_jobs(hw)) {
		why = hwswap_trouble(hw) ?: "it refuses a command";
		goto unregister;
	}
	if (hwswap_apply_trusted(hw)) {
		why = hwswap_trouble(hw) ?: "this kernel's swap tables cannot be written to";
		goto unregister;
	}
	/* Hints from now on, when it knows what is in use. */
	hw->hints_on = true;
	hwswap_control(hw);
	return NULL;

unregister:
	swap_offload_unregister(&hwswap_ops);
inactive:
	hwswap_active = NULL;
	hwswap_devices_reset(hw);
stop:
	hwswap_stop(hw);
	return why;
}

static void hwswap_schedule_reattach(void)
{
	if (!auto_reattach || !hwswap_retry)
		return;
	mod_delayed_work(hwswap_wq, &hwswap_reattach_work, hwswap_backoff);
	hwswap_backoff = min(hwswap_backoff * 2, (unsigned long)HWSWAP_BACKOFF_MAX);
}

/* Say so if the mode asks for what the engine cannot do. */
static void hwswap_check_tables(const struct hwswap *hw)
{
	if (hwswap_mode >= HWSWAP_SCAN && !hw->has_tables)
		dev_warn(hw->dev, "the engine was built without commands on swap tables: mode %s does what mode hint does\n",
			 hwswap_mode_names[hwswap_mode]);
}

/* Attach if mode and engine are there; under hwswap_mutex. */
static void hwswap_attach(void)
{
	struct hwswap *hw = hwswap_engine;
	unsigned int noio;
	const char *why;

	lockdep_assert_held(&hwswap_mutex);
	if (!hw || hwswap_is_attached || hwswap_held || hwswap_mode == HWSWAP_OFF)
		return;

	/* Memory may be short, and swap is what would have to help. */
	noio = memalloc_noio_save();
	why = hwswap_try_attach(hw);
	memalloc_noio_restore(noio);
	if (why) {
		if (strcmp(hwswap_reason, why))
			dev_warn(hw->dev, "not attached: %s; software goes on\n", why);
		WRITE_ONCE(hwswap_reason, why);
		hwswap_schedule_reattach();
		return;
	}
	hwswap_is_attached = true;
	hwswap_attached_since = jiffies;
	WRITE_ONCE(hwswap_reason, NULL);
	hwswap_count(HWSWAP_STAT_ATTACHES);
	dev_info(hw->dev, "attached: %u swap devices, %u CPUs, %u clusters, hint rings of %u, build %016llx\n",
		 hw->devices, hw->cpus, hw->usable, 1U << hw->hint_log2, hw->build);
	hwswap_check_tables(hw);
	mod_delayed_work(hwswap_wq, &hwswap_watch_work, HWSWAP_WATCH_PERIOD);
}

/* Take the engine out of the allocator; under hwswap_mutex. */
static void hwswap_detach(const char *why)
{
	struct hwswap *hw = hwswap_engine;

	lockdep_assert_held(&hwswap_mutex);
	WRITE_ONCE(hwswap_reason, why);
	if (!hwswap_is_attached)
		return;
	/* When this returns no hook runs. Those that wait for the ring give up. */
	WRITE_ONCE(hw->closing, true);
	swap_offload_unregister(&hwswap_ops);
	hwswap_active = NULL;
	hwswap_is_attached = false;
	hwswap_stop(hw);
	hwswap_devices_reset(hw);
	hwswap_count(HWSWAP_STAT_DETACHES);
}

static void hwswap_fail(struct hwswap *hw, const char *why)
{
	dev_warn(hw->dev, "detached: %s; software goes on\n", why);
	hwswap_detach(why);
	hwswap_retry = true;
	hwswap_schedule_reattach();
}

/* Something is wrong with a live engine, or NULL. */
static const char *hwswap_look(struct hwswap *hw)
{
	u64 status, polls;
	const char *why;
	unsigned int i;
	u32 beat;

	why = hwswap_trouble(hw);
	if (why)
		return why;
	status = hwswap_read(hw, HWSWAP_REG_STATUS);
	if (status == ~0ULL)
		return "its registers read all ones: it is gone, or in reset";
	if (status & HWSWAP_STATUS_DMA_ERROR)
		return "a DMA transfer failed";
	if (status & HWSWAP_STATUS_FAULT)
		return "its internal check failed";

	beat = le64_to_cpu(READ_ONCE(hwswap_engine_line(hw, 0)->heartbeat));
	if (beat != hw->heartbeat) {
		hw->heartbeat = beat;
		hw->heartbeat_seen = jiffies;
		return NULL;
	}
	if (time_before(jiffies, hw->heartbeat_seen + HWSWAP_DEAD_AFTER))
		return NULL;
	/*
	 * No beat for long. A guest's clock can run ahead of its devices: give the
	 * engine a number of register accesses to make a round in.
	 */
	polls = hwswap_read(hw, HWSWAP_REG_STAT_POLLS);
	for (i = 0; i < 1000; i++) {
		usleep_range(100, 300);
		if (hwswap_read(hw, HWSWAP_REG_STAT_POLLS) != polls) {
			hw->heartbeat_seen = jiffies;
			return NULL;
		}
	}
	return "its heartbeat has stopped";
}

static void hwswap_watch_fn(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save();
	const char *why;

	hwswap_lock();
	if (hwswap_is_attached) {
		why = hwswap_look(hwswap_engine);
		if (why) {
			hwswap_fail(hwswap_engine, why);
		} else {
			/* It has lasted: the next trouble is a new one. */
			if (time_after(jiffies, hwswap_attached_since + HWSWAP_PROVEN))
				hwswap_backoff = HWSWAP_BACKOFF_MIN;
			mod_delayed_work(hwswap_wq, &hwswap_watch_work, HWSWAP_WATCH_PERIOD);
		}
	}
	hwswap_unlock();
	memalloc_noio_restore(noio);
}

static void hwswap_jobs_fn(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save();
	struct hwswap *hw;

	hwswap_lock();
	hw = hwswap_engine;
	if (hwswap_is_attached && hwswap_run_jobs(hw))
		hwswap_fail(hw, hwswap_trouble(hw) ?: "it refuses a command");
	hwswap_unlock();
	memalloc_noio_restore(noio);
}

static void hwswap_tables_fn(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save();
	struct hwswap *hw;

	hwswap_lock();
	hw = hwswap_engine;
	if (hwswap_is_attached && hwswap_tables_take(hw))
		hwswap_fail(hw, hwswap_trouble(hw) ?: "it does not give back a swap table");
	hwswap_unlock();
	memalloc_noio_restore(noio);
}

static void hwswap_reattach_fn(struct work_struct *work)
{
	hwswap_lock();
	hwswap_attach();
	hwswap_unlock();
}

/**
 * hwswap_reattach - take the engine out, if it is in, and attach it anew
 *
 * Return: 0 when it is attached after that, else -EIO.
 */
int hwswap_reattach(void)
{
	int ret;

	hwswap_lock();
	hwswap_detach("about to be attached again");
	hwswap_backoff = HWSWAP_BACKOFF_MIN;
	hwswap_attach();
	ret = hwswap_is_attached ? 0 : -EIO;
	hwswap_unlock();
	return ret;
}

/* Is this the build that the front end was told of? */
static int hwswap_check_build(struct hwswap *hw)
{
	u64 id = hwswap_read(hw, HWSWAP_REG_ID);
	u64 build;

	if (FIELD_GET(HWSWAP_ID_MAGIC, id) != HWSWAP_ID_MAGIC_RESET) {
		dev_err(hw->dev, "there is no hwswap engine where the device tree says (its register ID reads %016llx): flash the bitstream that belongs to this device tree, or boot the device tree of the bitstream that is flashed\n",
			id);
		return -ENODEV;
	}
	build = hwswap_read(hw, HWSWAP_REG_BUILD);
	if (build != hw->build_wanted) {
		dev_err(hw->dev, "the engine is build %016llx, the device tree belongs to build %016llx: flash the bitstream that belongs to this device tree, or boot the device tree of the bitstream that is flashed\n",
			build, hw->build_wanted);
		return -ENODEV;
	}
	return 0;
}

/**
 * hwswap_core_add - a front end has found an engine
 * @dev: its device
 * @regs: its registers, HWSWAP_BAR_SIZE bytes
 * @irq: its interrupt; 0 or an error number: none, poll
 * @front: what the core has to know of the bus
 * @build: what register BUILD has to say, or NULL for any
 *
 * An engine that cannot be attached now is kept, its device may be mended.
 *
 * Return: 0, -EBUSY when there is an engine already, -ENODEV when it is not the
 * build asked for, or another error.
 */
int hwswap_core_add(struct device *dev, void __iomem *regs, int irq,
		    const struct hwswap_front *front, const u64 *build)
{
	struct hwswap *hw = kzalloc_obj(*hw, GFP_KERNEL);
	int ret = 0;

	if (!hw)
		return -ENOMEM;
	hw->dev = dev;
	hw->regs = regs;
	hw->front = front;
	INIT_LIST_HEAD(&hw->jobs);
	init_completion(&hw->cmd_done);
	if (build) {
		hw->build_wanted = *build;
		hw->build_known = true;
		ret = hwswap_check_build(hw);
		if (ret) {
			kfree(hw);
			return ret;
		}
	}
	if (irq > 0) {
		ret = request_irq(irq, hwswap_interrupt, 0, "hwswap", hw);
		if (ret)
			dev_warn(dev, "no interrupt (%d): completions are polled\n", ret);
		else
			hw->irq = irq;
	}

	hwswap_lock();
	if (hwswap_engine) {
		dev_warn(dev, "there is an engine already (%s): this one is not used\n",
			 dev_name(hwswap_engine->dev));
		ret = -EBUSY;
	} else {
		hwswap_engine = hw;
		WRITE_ONCE(hwswap_reason, "mode is off");
		hwswap_backoff = HWSWAP_BACKOFF_MIN;
		hwswap_attach();
		ret = 0;
	}
	hwswap_unlock();
	if (ret) {
		if (hw->irq)
			free_irq(hw->irq, hw);
		kfree(hw);
	}
	return ret;
}

/**
 * hwswap_core_remove - the engine's device goes
 * @dev: its device
 *
 * When this returns the core uses nothing of it any more.
 */
void hwswap_core_remove(struct device *dev)
{
	struct hwswap *hw;

	hwswap_lock();
	hw = hwswap_engine;
	if (!hw || hw->dev != dev) {
		hwswap_unlock();
		return;
	}
	hwswap_detach("the engine's device was removed");
	if (hw->irq)
		free_irq(hw->irq, hw);
	hwswap_engine = NULL;
	hwswap_held = 0;
	hwswap_unlock();

	/* Workers look at hwswap_engine under the mutex: they do nothing now. */
	cancel_delayed_work_sync(&hwswap_reattach_work);
	cancel_delayed_work_sync(&hwswap_watch_work);
	cancel_work_sync(&hwswap_jobs_work);
	cancel_delayed_work_sync(&hwswap_tables_work);
	hwswap_bus_master(hw, false);
	if (hwswap_is_quiet(hw)) {
		hwswap_tables_release(hw);
		hwswap_free_memory(hw);
	} else {
		dev_err(dev, "its reset does not end, so it may still write to memory: its rings, and the swap tables that it knows, stay allocated\n");
	}
	kfree(hw);
}

/**
 * hwswap_core_hold - take an engine out, and do not attach it till it is released
 * @dev: its device
 * @why: which release ends it
 * @reason: completes the sentence "detached: ..."
 *
 * Context: process context, sleeps.
 * Return: 0; -EBUSY, and it is not held, when it may still write to memory.
 */
int hwswap_core_hold(struct device *dev, enum hwswap_hold why, const char *reason)
{
	struct hwswap *hw;
	int ret = 0;

	hwswap_lock();
	hw = hwswap_engine;
	if (hw && hw->dev == dev) {
		if (hwswap_is_attached)
			dev_info(dev, "detached: %s; software goes on meanwhile\n", reason);
		hwswap_held |= why;
		hwswap_detach(reason);
		if (!hwswap_is_quiet(hw)) {
			hwswap_held &= ~why;
			WRITE_ONCE(hwswap_reason, "its reset does not end");
			hwswap_retry = true;
			hwswap_schedule_reattach();
			ret = -EBUSY;
		}
	}
	hwswap_unlock();
	return ret;
}

/**
 * hwswap_core_release - an engine that was held can be attached again
 * @dev: its device
 * @why: what it was held for
 *
 * Context: process context, sleeps.
 */
void hwswap_core_release(struct device *dev, enum hwswap_hold why)
{
	hwswap_lock();
	if (hwswap_engine && hwswap_engine->dev == dev) {
		hwswap_held &= ~why;
		if (hwswap_mode == HWSWAP_OFF)
			WRITE_ONCE(hwswap_reason, "mode is off");
		hwswap_backoff = HWSWAP_BACKOFF_MIN;
		hwswap_attach();
	}
	hwswap_unlock();
}

static int hwswap_suspend(struct device *dev)
{
	int ret = hwswap_core_hold(dev, HWSWAP_HOLD_SLEEP, "it is suspended");

	if (ret)
		dev_err(dev, "not suspended: its reset does not end, so it may still write to memory\n");
	return ret;
}

static int hwswap_resume(struct device *dev)
{
	hwswap_core_release(dev, HWSWAP_HOLD_SLEEP);
	return 0;
}

/* While the machine sleeps there is no engine; after that it learns all anew. */
DEFINE_SIMPLE_DEV_PM_OPS(hwswap_pm_ops, hwswap_suspend, hwswap_resume);

/* The engine keeps swap tables in modes scan and trusted only; under hwswap_mutex. */
static void hwswap_mode_tables(void)
{
	struct hwswap *hw = hwswap_engine;

	hwswap_check_tables(hw);
	if (hwswap_apply_trusted(hw)) {
		hwswap_fail(hw, hwswap_trouble(hw) ?: "its swap tables cannot change hands");
		return;
	}
	if (hwswap_mode < HWSWAP_SCAN && hw->tables_given && hwswap_tables_drop(hw))
		hwswap_fail(hw, hwswap_trouble(hw) ?: "it does not give back a swap table");
}

static int hwswap_mode_set(const char *val, const struct kernel_param *kp)
{
	int mode = sysfs_match_string(hwswap_mode_names, val);

	if (mode < 0) {
		pr_warn("mode is off, shadow, hint, scan or trusted\n");
		return mode;
	}
	/* The kernel's memory is not a device's to write to where it is locked down. */
	if (mode == HWSWAP_TRUSTED && security_locked_down(LOCKDOWN_MODULE_PARAMETERS)) {
		pr_warn("hwswap: mode trusted is refused: this kernel is locked down, and a device would write to its tables\n");
		return -EPERM;
	}
	hwswap_lock();
	WRITE_ONCE(hwswap_mode, mode);
	if (mode == HWSWAP_OFF) {
		if (hwswap_engine)
			hwswap_detach("mode is off");
	} else {
		hwswap_backoff = HWSWAP_BACKOFF_MIN;
		if (hwswap_is_attached)
			hwswap_mode_tables();
		else
			hwswap_attach();
	}
	hwswap_unlock();
	return 0;
}

static int hwswap_mode_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", hwswap_mode_names[READ_ONCE(hwswap_mode)]);
}

static const struct kernel_param_ops hwswap_mode_ops = {
	.set = hwswap_mode_set,
	.get = hwswap_mode_get,
};

module_param_cb(mode, &hwswap_mode_ops, NULL, 0644);
MODULE_PARM_DESC(mode, "off (default), shadow: the engine follows and is compared with, hint: its hints are used, scan: it also searches swap tables and chooses readahead, trusted: it also writes to them");

static int __init hwswap_init(void)
{
	int ret;

	if (PAGE_SIZE != 4096 || swap_offload_cluster_slots() != HWSWAP_SLOTS) {
		pr_err("this kernel has swap clusters of %u slots of %lu bytes; the engine knows %u of 4096 only (CONFIG_THP_SWAP with 4 KiB pages)\n",
		       swap_offload_cluster_slots(), PAGE_SIZE, HWSWAP_SLOTS);
		return -EINVAL;
	}
	/* Its workers can be what reclaim is waiting for. */
	hwswap_wq = alloc_workqueue("hwswap", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!hwswap_wq)
		return -ENOMEM;
	hwswap_debugfs_init();
	ret = hwswap_pci_init();
	if (ret)
		goto no_pci;
	ret = hwswap_platform_init();
	if (ret)
		goto no_platform;
	return 0;

no_platform:
	hwswap_pci_exit();
no_pci:
	hwswap_debugfs_exit();
	destroy_workqueue(hwswap_wq);
	return ret;
}

static void __exit hwswap_exit(void)
{
	hwswap_platform_exit();
	hwswap_pci_exit();
	hwswap_debugfs_exit();
	destroy_workqueue(hwswap_wq);
}

module_init(hwswap_init);
module_exit(hwswap_exit);

MODULE_DESCRIPTION("Swap slots proposed by an hwswap engine");
MODULE_AUTHOR("hwswap developers <hwswap@localhost>");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("SWAP_OFFLOAD");
