// SPDX-License-Identifier: GPL-2.0
/*
 * Swap devices come and go. The engine knows of them in two places.
 *
 * Grants have a table of devices in registers. The engine's core, which has the
 * commands on swap tables, is told by commands, whatever the mode is, so that a mode can
 * change at any time.
 *
 * swapon and swapoff hold mutexes of the kernel, so they wait for neither: they leave a
 * job, and a worker tells the engine, in order. Until then the device is software's. One
 * whose place was another's is not told of before that one was taken back; what the kernel
 * pops of the old one meanwhile it refuses, by its epoch.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "cmd.h"
#include "devices.h"
#include "lock.h"
#include "registers.h"
#include "tables.h"
#include "work.h"

/* How long a device's entry may take: its clusters are gone through, and all rings. */
#define HWSWAP_ENTRY_MS		2000
/* The same in looks, for a guest whose clock runs ahead of its devices. */
#define HWSWAP_ENTRY_LOOKS	1000

/* Something to tell the engine. */
struct hwswap_job {
	struct list_head list;	/* in the list of jobs */
	enum swap_grants_stage stage;	/* what has become of the device */
	u32 generation;	/* which swapon that was about, if it is one */
	struct swap_grants_device dev;	/* the device, as the kernel has told of it then */
};

/*
 * Guards the job list, and which devices there are. Taken inside swapon and swapoff:
 * never held while the engine is waited for.
 */
static DEFINE_MUTEX(devices_lock);

/**
 * hwswap_devices_reset - forget all swap devices and jobs
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
	memset(hw->swapdev, 0, sizeof(hw->swapdev));
	mutex_unlock(&devices_lock);
}

/* Grants */

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

/* A rotating device is never granted of, so the engine's grants know nothing of it. */
static int hwswap_run_entry(struct hwswap *hw, const struct hwswap_job *job)
{
	bool live = job->stage == SWAP_GRANTS_ON || job->stage == SWAP_GRANTS_OFF_ABORTED;

	if (!(job->dev.flags & SWAP_GRANTS_SOLIDSTATE))
		return 0;
	if (READ_ONCE(hw->doubt))
		return -EPROTO;
	if (!hwswap_entry_write(hw, &job->dev, live)) {
		hwswap_doubt(hw, "it does not take a swap device's entry");
		return -ETIMEDOUT;
	}
	if (live)
		swap_grants_serve(job->dev.type, job->dev.epoch);
	return 0;
}

/* What is to be told */

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
	struct hwswap_swapdev *sd = &hw->swapdev[dev->type];

	job->stage = stage;
	job->dev = *dev;
	mutex_lock(&devices_lock);
	if (stage == SWAP_GRANTS_ON) {
		sd->generation = ++hw->generation;
		job->generation = sd->generation;
	} else if (stage == SWAP_GRANTS_OFF_DONE) {
		/* No hook runs for it any more, and none may till it is on again. */
		WRITE_ONCE(sd->live, false);
		sd->generation = 0;
	}
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
 * one, as long as nobody asks about its swap table.
 *
 * Context: inside swapon, swapoff and registration; of one device at a time. Sleeps, but
 * neither for the engine nor for hwswap_mutex, which who registers holds.
 * Return: false: the engine does not serve it as yet. A worker tells the engine, and then
 * the kernel.
 */
bool hwswap_device(const struct swap_grants_device *dev, enum swap_grants_stage stage)
{
	struct hwswap *hw = hwswap_active;

	if (hwswap_fits(hw, dev, stage == SWAP_GRANTS_ON) &&
	    (dev->flags & SWAP_GRANTS_SOLIDSTATE || hwswap_has_tables(hw)))
		hwswap_add_job(hw, dev, stage);
	return false;
}

/* The core */

/* Is this still the swapon that a job is about? It may have gone meanwhile. */
static bool hwswap_still_on(const struct hwswap_swapdev *sd, const struct hwswap_job *job)
{
	bool on;

	mutex_lock(&devices_lock);
	on = sd->generation == job->generation;
	mutex_unlock(&devices_lock);
	return on;
}

static int hwswap_tell_on(struct hwswap *hw, struct hwswap_swapdev *sd,
			  const struct hwswap_job *job)
{
	const struct swap_grants_device *dev = &job->dev;
	/* The core gives no slots: neither flags nor priority make a difference. */
	const u64 arg[3] = { dev->max | (u64)dev->base << 32, 0, 0 };
	int ret;

	ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPON_PREPARE, dev->type, 0, arg);
	if (!ret)
		ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPON, dev->type, 0, NULL);
	if (ret)
		return ret;

	sd->on_engine = true;
	sd->closing = false;
	sd->type = dev->type;
	sd->epoch = dev->epoch;
	sd->base = dev->base;
	sd->clusters = dev->clusters;
	mutex_lock(&devices_lock);
	if (sd->generation == job->generation) {
		/* Pairs with the acquire of who looks for it without a lock. */
		smp_store_release(&sd->live, true);
	}
	mutex_unlock(&devices_lock);
	return 0;
}

static int hwswap_run_command(struct hwswap *hw, const struct hwswap_job *job)
{
	struct hwswap_swapdev *sd = &hw->swapdev[job->dev.type];
	int ret = 0;

	if (!hwswap_has_tables(hw))
		return 0;
	/* What follows on a swapon that was passed over is passed over as well. */
	if (job->stage != SWAP_GRANTS_ON && !sd->on_engine)
		return 0;
	switch (job->stage) {
	case SWAP_GRANTS_ON:
		if (hwswap_still_on(sd, job))
			ret = hwswap_tell_on(hw, sd, job);
		break;
	case SWAP_GRANTS_OFF_BEGIN:
		ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPOFF_BEGIN, job->dev.type, 0, NULL);
		sd->closing = true;
		break;
	case SWAP_GRANTS_OFF_ABORTED:
		/* Nobody has told of a swapoff that began before registration. */
		if (sd->closing)
			ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPON, job->dev.type, 0, NULL);
		sd->closing = false;
		break;
	case SWAP_GRANTS_OFF_DONE:
		ret = hwswap_cmd(hw, HWSWAP_OPCODE_SWAPOFF, job->dev.type, 0, NULL);
		/* That takes back its tables, too. If it did not, they are still held. */
		if (!ret)
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
 * Context: under hwswap_mutex. Sleeps.
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
		ret = hwswap_run_entry(hw, job) ?: hwswap_run_command(hw, job);
		if (ret)
			dev_dbg(hw->dev, "stage %d of swap device %u: %d\n", job->stage,
				job->dev.type, ret);
		kfree(job);
	}
	return ret;
}
