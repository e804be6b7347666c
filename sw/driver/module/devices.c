// SPDX-License-Identifier: GPL-2.0
/*
 * Swap devices come and go. The engine has a table of them in registers.
 *
 * swapon and swapoff hold mutexes of the kernel, so they do not wait for the engine. They
 * queue a job, and a worker tells the engine, in order. Until then software serves the
 * device. If it has the global clusters of an earlier device, the engine is told only when
 * it has taken that one's grants back; the kernel refuses those by their epoch meanwhile.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "devices.h"
#include "engine.h"
#include "lock.h"
#include "registers.h"
#include "work.h"

/* How long a device's entry may take: its clusters are gone through, and all rings. */
#define HWSWAP_ENTRY_MS		2000
/* The same in looks, for a guest whose clock runs ahead of its devices. */
#define HWSWAP_ENTRY_LOOKS	1000

/* Something to tell the engine. */
struct hwswap_job {
	struct list_head list;	/* in the list of jobs */
	enum swap_grants_stage stage;	/* what has become of the device */
	struct swap_grants_device dev;	/* the device, as the kernel has told of it then */
};

/* Guards the job list. Taken inside swapon and swapoff: not held to wait for the engine. */
static DEFINE_MUTEX(devices_lock);

/**
 * hwswap_devices_reset - forget all jobs
 * @hw: the engine; no hook is registered
 */
void hwswap_devices_reset(struct hwswap *hw)
{
	struct hwswap_job *job, *next;

	mutex_lock(&devices_lock);
	list_for_each_entry_safe(job, next, &hw->jobs, list) {
		list_del(&job->list);
		kfree(job);
	}
	mutex_unlock(&devices_lock);
}

/* Give a device a new entry; true when it has taken effect. Under hwswap_mutex. */
static bool hwswap_entry_write(struct hwswap *hw, const struct swap_grants_device *dev, bool live)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(HWSWAP_ENTRY_MS);
	unsigned int looks = 0;
	u64 state;

	hwswap_write(hw, HWSWAP_REG_GRANT_RANGE,
		     FIELD_PREP(HWSWAP_GRANT_RANGE_BASE, (u64)dev->base) |
		     FIELD_PREP(HWSWAP_GRANT_RANGE_CLUSTERS, (u64)dev->clusters));
	hwswap_write(hw, HWSWAP_REG_GRANT_DEVICE,
		     FIELD_PREP(HWSWAP_GRANT_DEVICE_TYPE, dev->type) |
		     FIELD_PREP(HWSWAP_GRANT_DEVICE_LIVE, live) |
		     FIELD_PREP(HWSWAP_GRANT_DEVICE_FILE, !(dev->flags & SWAP_GRANTS_BLKDEV)) |
		     FIELD_PREP(HWSWAP_GRANT_DEVICE_EPOCH, dev->epoch) |
		     FIELD_PREP(HWSWAP_GRANT_DEVICE_PRIORITY, (u64)(u16)dev->prio));
	do {
		state = hwswap_read(hw, HWSWAP_REG_GRANT_STATE);
		if (state == ~0ULL)
			return false;
		if (!(state & HWSWAP_GRANT_STATE_DEVICE_BUSY))
			return true;
		usleep_range(20, 100);
	} while (time_before(jiffies, deadline) || ++looks < HWSWAP_ENTRY_LOOKS);
	return false;
}

static void hwswap_run_job(struct hwswap *hw, const struct hwswap_job *job)
{
	bool live = job->stage == SWAP_GRANTS_ON || job->stage == SWAP_GRANTS_OFF_ABORTED;

	if (!hwswap_entry_write(hw, &job->dev, live))
		hwswap_doubt(hw, "it does not take a swap device's entry");
	else if (live)
		swap_grants_serve(job->dev.type, job->dev.epoch);
}

/**
 * hwswap_run_jobs - tell the engine what has piled up
 * @hw: the engine
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: NULL, or why the engine no longer knows what it should.
 */
const char *hwswap_run_jobs(struct hwswap *hw)
{
	struct hwswap_job *job;

	lockdep_assert_held(&hwswap_mutex);
	while (!READ_ONCE(hw->doubt)) {
		mutex_lock(&devices_lock);
		job = list_first_entry_or_null(&hw->jobs, struct hwswap_job, list);
		if (job)
			list_del(&job->list);
		mutex_unlock(&devices_lock);
		if (!job)
			return NULL;
		hwswap_run_job(hw, job);
		kfree(job);
	}
	return hwswap_trouble(hw);
}

/* Jobs */

/* Whether a device fits into the engine; says so where it does not. */
static bool hwswap_fits(const struct hwswap *hw, const struct swap_grants_device *dev, bool say)
{
	bool fits = dev->clusters && (u64)dev->base + dev->clusters <= hw->usable;

	if (dev->type < hw->devices && fits)
		return true;
	if (!say)
		return false;
	if (dev->type >= hw->devices)
		dev_warn(hw->dev, "swap device %u stays with software: the engine was built for %u swap devices\n",
			 dev->type, hw->devices);
	else
		dev_warn(hw->dev, "swap device %u stays with software: its %u clusters from %u on are not among the %u that there is memory for\n",
			 dev->type, dev->clusters, dev->base, hw->usable);
	return false;
}

static void hwswap_add_job(struct hwswap *hw, const struct swap_grants_device *dev,
			   enum swap_grants_stage stage)
{
	struct hwswap_job *job = kzalloc_obj(*job, GFP_KERNEL | __GFP_NOFAIL);

	job->stage = stage;
	job->dev = *dev;
	mutex_lock(&devices_lock);
	list_add_tail(&job->list, &hw->jobs);
	mutex_unlock(&devices_lock);
	hwswap_kick_jobs();
}

/**
 * hwswap_device - a swap device comes or goes
 * @dev: the device
 * @stage: where it is
 *
 * A device that does not fit into the engine stays with software, and so does a rotating
 * one, of which nothing is granted.
 *
 * Context: inside swapon, swapoff and registration; of one device at a time. Sleeps, but
 * neither for the engine nor for hwswap_mutex, which the registering task holds.
 * Return: false: the engine does not serve it yet. A worker tells the engine, then the
 * kernel.
 */
bool hwswap_device(const struct swap_grants_device *dev, enum swap_grants_stage stage)
{
	struct hwswap *hw = hwswap_active;

	if (dev->flags & SWAP_GRANTS_SOLIDSTATE && hwswap_fits(hw, dev, stage == SWAP_GRANTS_ON))
		hwswap_add_job(hw, dev, stage);
	return false;
}
