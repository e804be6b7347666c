// SPDX-License-Identifier: GPL-2.0
/*
 * The workers, which any part of the driver wakes (work.c). They watch the engine, tell
 * it about swap devices, detach it when something is wrong, and attach it again.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched/mm.h>

#include "attach.h"
#include "devices.h"
#include "engine.h"
#include "grants.h"
#include "health.h"
#include "lock.h"
#include "registers.h"

#define HWSWAP_DEAD_AFTER	(2 * HZ)

/* A number that changes as long as the engine looks at what it is told. */
static u32 hwswap_beat(struct hwswap *hw)
{
	return FIELD_GET(HWSWAP_GRANT_STATE_PASSES, hwswap_read(hw, HWSWAP_REG_GRANT_STATE));
}

/* Return what is wrong with an attached engine, or NULL. */
static const char *hwswap_look(struct hwswap *hw)
{
	const char *why;
	u64 status;
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
	if (hwswap_grants_refused())
		return "most of its grants are refused";

	/* A resting engine has no heartbeat. */
	if (READ_ONCE(hw->rests)) {
		hw->heartbeat_seen = jiffies;
		return NULL;
	}
	beat = hwswap_beat(hw);
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
	for (i = 0; i < 1000; i++) {
		usleep_range(100, 300);
		if (hwswap_beat(hw) != beat) {
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

	mutex_lock(&hwswap_mutex);
	if (hwswap_is_attached) {
		why = hwswap_look(hwswap_engine);
		if (why)
			hwswap_fail(hwswap_engine, why);
		else
			hwswap_went_well();
	}
	mutex_unlock(&hwswap_mutex);
	memalloc_noio_restore(noio);
}

static void hwswap_jobs_fn(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save();
	const char *why;

	mutex_lock(&hwswap_mutex);
	if (hwswap_is_attached) {
		why = hwswap_run_jobs(hwswap_engine);
		if (why)
			hwswap_fail(hwswap_engine, why);
	}
	mutex_unlock(&hwswap_mutex);
	memalloc_noio_restore(noio);
}

static void hwswap_reattach_fn(struct work_struct *work)
{
	mutex_lock(&hwswap_mutex);
	hwswap_attach();
	mutex_unlock(&hwswap_mutex);
}

/* For work.c, through which lower layers wake them. */
const struct hwswap_workers hwswap_workers = {
	.watch		= hwswap_watch_fn,
	.jobs		= hwswap_jobs_fn,
	.reattach	= hwswap_reattach_fn,
};

/**
 * hwswap_reattach - take the engine out, if it is in, and attach it anew
 *
 * Return: 0 when it is attached after that, else -EIO.
 */
int hwswap_reattach(void)
{
	int ret;

	mutex_lock(&hwswap_mutex);
	hwswap_forget_failures();
	hwswap_attach_anew("about to be attached again");
	ret = hwswap_is_attached ? 0 : -EIO;
	mutex_unlock(&hwswap_mutex);
	return ret;
}
