// SPDX-License-Identifier: GPL-2.0
/*
 * Swap devices come and go. swapon and swapoff do not wait for the engine: they
 * leave a job, and a worker tells the engine, in order. Until then the device
 * simply is not mirrored.
 */
#include <linux/device.h>
#include <linux/list.h>
#include <linux/slab.h>

#include "cmd.h"
#include "devices.h"
#include "lock.h"
#include "mirror.h"
#include "tables.h"
#include "work.h"

/** enum hwswap_job_kind - what the engine is to be told */
enum hwswap_job_kind {
	HWSWAP_JOB_ON,
	HWSWAP_JOB_OFF_BEGIN,
	HWSWAP_JOB_OFF_ABORTED,
	HWSWAP_JOB_OFF_DONE,
};

/** struct hwswap_job - something to tell the engine */
struct hwswap_job {
	struct list_head list;
	enum hwswap_job_kind kind;
	unsigned int type;
	u32 generation;
};

/*
 * Guards the job list, and what struct hwswap_swapdev says. Taken inside swapon
 * and swapoff: never held while the engine is waited for.
 */
static DEFINE_MUTEX(devices_lock);

/* Under devices_lock. */
static void hwswap_add_job(struct hwswap *hw, enum hwswap_job_kind kind, unsigned int type)
{
	struct hwswap_job *job = kzalloc_obj(*job, GFP_KERNEL | __GFP_NOFAIL);

	job->kind = kind;
	job->type = type;
	job->generation = hw->swapdev[type].generation;
	list_add_tail(&job->list, &hw->jobs);
	hwswap_kick_jobs();
}

/**
 * hwswap_devices_reset - forget all swap devices and jobs
 * @hw: the engine; no hook is registered
 */
void hwswap_devices_reset(struct hwswap *hw)
{
	struct hwswap_job *job, *next;
	u8 epoch;
	int i;

	mutex_lock(&devices_lock);
	list_for_each_entry_safe(job, next, &hw->jobs, list) {
		list_del(&job->list);
		kfree(job);
	}
	for (i = 0; i < HWSWAP_MAX_TYPES; i++) {
		/* Hints of the time before must not be taken for new ones. */
		epoch = hw->swapdev[i].epoch;
		memset(&hw->swapdev[i], 0, sizeof(hw->swapdev[i]));
		hw->swapdev[i].epoch = epoch;
	}
	mutex_unlock(&devices_lock);
}

/**
 * hwswap_device_on - a swap device is about to be available
 * @dev: what the kernel says of it
 */
void hwswap_device_on(const struct swap_offload_device *dev)
{
	struct hwswap *hw = hwswap_active;
	struct hwswap_swapdev *sd;

	if (dev->type >= HWSWAP_MAX_TYPES)
		return;
	mutex_lock(&devices_lock);
	sd = &hw->swapdev[dev->type];
	sd->dev = *dev;
	sd->present = true;
	sd->warned = false;
	sd->generation = ++hw->generation;
	hwswap_add_job(hw, HWSWAP_JOB_ON, dev->type);
	mutex_unlock(&devices_lock);
}

/**
 * hwswap_device_off - swapoff makes progress
 * @type: number of the swap device
 * @stage: how far
 */
void hwswap_device_off(unsigned int type, enum swap_offload_off stage)
{
	struct hwswap *hw = hwswap_active;
	struct hwswap_swapdev *sd;

	if (type >= HWSWAP_MAX_TYPES)
		return;
	mutex_lock(&devices_lock);
	sd = &hw->swapdev[type];
	if (sd->present) {
		switch (stage) {
		case SWAP_OFFLOAD_OFF_BEGIN:
			hwswap_add_job(hw, HWSWAP_JOB_OFF_BEGIN, type);
			break;
		case SWAP_OFFLOAD_OFF_ABORTED:
			hwswap_add_job(hw, HWSWAP_JOB_OFF_ABORTED, type);
			break;
		case SWAP_OFFLOAD_OFF_DONE:
			hwswap_add_job(hw, HWSWAP_JOB_OFF_DONE, type);
			/* No update runs for it any more, and none may till it is on again. */
			WRITE_ONCE(sd->live, false);
			sd->present = false;
			break;
		}
	}
	mutex_unlock(&devices_lock);
}

/* First fit in rising order; clusters of a device are contiguous in the engine. */
static bool hwswap_find_base(const struct hwswap *hw, u32 clusters, u32 *base)
{
	const struct hwswap_swapdev *sd;
	u32 at = 0;
	int i;

	if (clusters > hw->usable)
		return false;
again:
	for (i = 0; i < HWSWAP_MAX_TYPES; i++) {
		sd = &hw->swapdev[i];
		if (sd->on_engine && at < sd->base + sd->clusters && sd->base < at + clusters) {
			at = sd->base + sd->clusters;
			goto again;
		}
	}
	*base = at;
	return at <= hw->usable - clusters;
}

/*
 * Give the device a place in the engine and let its changes flow into the mirror.
 * Under devices_lock, so that a swapoff cannot come in between.
 */
static bool hwswap_go_live(struct hwswap *hw, struct hwswap_swapdev *sd)
{
	const char *what = "clusters";
	u32 base = 0;

	if (sd->dev.type >= hw->devices)
		what = "swap devices";
	if (sd->dev.type >= hw->devices || !hwswap_find_base(hw, sd->dev.clusters, &base)) {
		if (!sd->warned)
			dev_warn(hw->dev,
				 "swap device %u (%u clusters) stays with software: the engine was built for %u swap devices and %u clusters, and has no %s left\n",
				 sd->dev.type, sd->dev.clusters, hw->devices, hw->usable, what);
		sd->warned = true;
		return false;
	}
	sd->base = base;
	sd->clusters = sd->dev.clusters;
	WRITE_ONCE(sd->epoch, sd->epoch + 1);
	sd->on_engine = true;
	hwswap_tables_new(hw, sd);
	/* Pairs with the acquire in hwswap_update(). */
	smp_store_release(&sd->live, true);
	return true;
}

static int hwswap_tell_on(struct hwswap *hw, struct hwswap_swapdev *sd)
{
	u64 flags = 0;
	u64 arg[3];
	int ret;

	/* The device may go while it is read: a job that says so follows. */
	ret = hwswap_mirror_read(hw, sd);
	if (ret == -ENODEV)
		return 0;

	if (sd->dev.flags & SWAP_OFFLOAD_BLKDEV)
		flags |= HWSWAP_DEVICE_FLAGS_FLAGS_BLKDEV;
	if (sd->dev.flags & SWAP_OFFLOAD_DISCARD)
		flags |= HWSWAP_DEVICE_FLAGS_FLAGS_DISCARD;
	if (sd->dev.flags & SWAP_OFFLOAD_SOLIDSTATE)
		flags |= HWSWAP_DEVICE_FLAGS_FLAGS_SOLIDSTATE;
	else
		flags |= HWSWAP_DEVICE_FLAGS_FLAGS_NO_HINTS;

	/* PREPARE: pages and base; flags; priority and epoch. */
	arg[0] = sd->dev.max | (u64)sd->base << 32;
	arg[1] = flags;
	arg[2] = (u16)sd->dev.prio | (u64)sd->epoch << 16;
	ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPON_PREPARE, sd->dev.type, 0, arg, NULL);
	if (!ret)
		ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPON, sd->dev.type, 0, NULL, NULL);
	/* Bad slots, and all that was in use before the engine came. */
	if (!ret)
		ret = hwswap_cmd(hw, HWSWAP_OPCODE_RESYNC, sd->dev.type, 0, NULL, NULL);
	return ret;
}

static int hwswap_run_job(struct hwswap *hw, const struct hwswap_job *job)
{
	struct hwswap_swapdev *sd = &hw->swapdev[job->type];
	bool go;
	int ret = 0;

	switch (job->kind) {
	case HWSWAP_JOB_ON:
		mutex_lock(&devices_lock);
		go = sd->present && sd->generation == job->generation && hwswap_go_live(hw, sd);
		mutex_unlock(&devices_lock);
		return go ? hwswap_tell_on(hw, sd) : 0;
	case HWSWAP_JOB_OFF_BEGIN:
		if (sd->on_engine)
			ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPOFF_BEGIN, job->type, 0, NULL, NULL);
		break;
	case HWSWAP_JOB_OFF_ABORTED:
		if (sd->on_engine)
			ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPON, job->type, 0, NULL, NULL);
		break;
	case HWSWAP_JOB_OFF_DONE:
		if (sd->on_engine)
			ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPOFF, job->type, 0, NULL, NULL);
		/* That takes back its tables, too. If it did not, they are still held. */
		if (sd->on_engine && !ret)
			hwswap_tables_off(hw, sd);
		sd->on_engine = false;
		break;
	}
	return ret;
}

/**
 * hwswap_run_jobs - tell the engine what has piled up
 * @hw: the engine
 *
 * Context: under hwswap_mutex.
 * Return: 0, or the first error: then the engine no longer knows what it should.
 */
int hwswap_run_jobs(struct hwswap *hw)
{
	struct hwswap_job *job;
	int ret = 0;

	lockdep_assert_held(&hwswap_mutex);
	while (!ret) {
		mutex_lock(&devices_lock);
		job = list_first_entry_or_null(&hw->jobs, struct hwswap_job, list);
		if (job)
			list_del(&job->list);
		mutex_unlock(&devices_lock);
		if (!job)
			break;
		ret = hwswap_run_job(hw, job);
		if (ret)
			dev_dbg(hw->dev, "job %d of swap device %u: %d\n", job->kind, job->type,
				ret);
		kfree(job);
	}
	return ret;
}
