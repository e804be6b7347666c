// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching an engine, on whatever bus, to the swap allocator, and detaching it.
 *
 * The kernel's own tables stay the truth. Whatever the engine does wrong, the answer is
 * the same: detach it, go on in software, reset it after a while, and store all bitmaps
 * for it anew.
 */
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "arena.h"
#include "attach.h"
#include "devices.h"
#include "engine.h"
#include "grants.h"
#include "lock.h"
#include "stats.h"
#include "work.h"

#define HWSWAP_WATCH_PERIOD	(HZ / 2)
#define HWSWAP_BACKOFF_MIN	HZ
#define HWSWAP_BACKOFF_MAX	(60 * HZ)
#define HWSWAP_PROVEN		(30 * HZ)

/* Under hwswap_mutex, like all below. */
struct hwswap *hwswap_engine;		/* the engine found, attached or not */
bool hwswap_is_attached;
unsigned int hwswap_held;		/* not to be attached, whatever the mode: see core.h */
static bool hwswap_retry;		/* the trouble may pass */
/* Why it is not attached, or NULL when it is: read without a lock. */
static const char *hwswap_reason = "no engine was found";
static unsigned long hwswap_backoff = HWSWAP_BACKOFF_MIN;
static unsigned long hwswap_attached_since;	/* in jiffies */

/* hwswap_why_detached - say why the engine is not attached; NULL: it is */
const char *hwswap_why_detached(void)
{
	return READ_ONCE(hwswap_reason);
}

/**
 * hwswap_set_reason - say why the engine is not attached
 * @why: completes the sentence "detached: ..."
 *
 * Context: under hwswap_mutex.
 */
void hwswap_set_reason(const char *why)
{
	WRITE_ONCE(hwswap_reason, why);
}

/**
 * hwswap_forget_failures - the next attempt is the first one again
 *
 * Context: under hwswap_mutex.
 */
void hwswap_forget_failures(void)
{
	hwswap_backoff = HWSWAP_BACKOFF_MIN;
}

/**
 * hwswap_went_well - nothing is wrong with the attached engine
 *
 * Context: under hwswap_mutex.
 */
void hwswap_went_well(void)
{
	/* It has lasted: the next trouble is a new one. */
	if (time_after(jiffies, hwswap_attached_since + HWSWAP_PROVEN))
		hwswap_forget_failures();
	hwswap_watch_in(HWSWAP_WATCH_PERIOD);
}

/* Return NULL, or why attaching failed and nothing is registered. */
static const char *hwswap_try_attach(struct hwswap *hw)
{
	const char *why;

	why = hwswap_identify(hw, &hwswap_retry);
	if (why)
		return why;
	if (!hw->arena.cpu && hwswap_arena_alloc(hw))
		return "there is no memory for its rings";
	hwswap_pin(hw);

	why = hwswap_reset(hw);
	if (why)
		return why;
	hwswap_devices_reset(hw);
	WRITE_ONCE(hw->doubt, NULL);
	hw->heartbeat = 0;
	hw->heartbeat_seen = jiffies;

	hwswap_bus_master(hw, true);
	hwswap_program(hw);
	hwswap_active = hw;
	why = hwswap_grants_start(hw);
	if (why)
		goto inactive;
	/* It is attached only when the engine knows all devices. */
	why = hwswap_run_jobs(hw);
	if (!why)
		return NULL;
	hwswap_grants_stop();
inactive:
	hwswap_active = NULL;
	hwswap_stop(hw);
	hwswap_devices_reset(hw);
	return why;
}

static void hwswap_schedule_reattach(void)
{
	if (!hwswap_retry)
		return;
	hwswap_reattach_in(hwswap_backoff);
	hwswap_backoff = min(hwswap_backoff * 2, (unsigned long)HWSWAP_BACKOFF_MAX);
}

/**
 * hwswap_try_later - the trouble may pass: try the engine again after a while
 *
 * Context: under hwswap_mutex.
 */
void hwswap_try_later(void)
{
	hwswap_retry = true;
	hwswap_schedule_reattach();
}

/**
 * hwswap_attach - attach, if mode and engine are there
 *
 * Context: under hwswap_mutex. Sleeps.
 */
void hwswap_attach(void)
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
	dev_info(hw->dev, "attached: %u swap devices, %u CPUs, %u clusters, rings of %u, build %016llx\n",
		 hw->devices, hw->cpus, hw->usable, 1U << hw->grant_log2, hw->build);
	hwswap_watch_in(HWSWAP_WATCH_PERIOD);
}

/**
 * hwswap_detach - take the engine out of the allocator
 * @why: completes the sentence "detached: ..."
 *
 * Context: under hwswap_mutex. Sleeps.
 */
void hwswap_detach(const char *why)
{
	struct hwswap *hw = hwswap_engine;

	lockdep_assert_held(&hwswap_mutex);
	WRITE_ONCE(hwswap_reason, why);
	if (!hwswap_is_attached)
		return;
	/* After this the kernel calls nothing here, and uses none of its memory. */
	hwswap_grants_stop();
	hwswap_active = NULL;
	hwswap_is_attached = false;
	hwswap_stop(hw);
	hwswap_devices_reset(hw);
	hwswap_count(HWSWAP_STAT_DETACHES);
}

/**
 * hwswap_attach_anew - take the engine out, if it is in, and attach it as the mode says
 * @why: completes the sentence "detached: ..."
 *
 * Context: under hwswap_mutex. Sleeps.
 */
void hwswap_attach_anew(const char *why)
{
	hwswap_detach(why);
	hwswap_attach();
}

/**
 * hwswap_fail - take an engine out that has failed, and try it again after a while
 * @hw: the engine
 * @why: completes the sentence "detached: ..."
 *
 * Context: under hwswap_mutex. Sleeps.
 */
void hwswap_fail(struct hwswap *hw, const char *why)
{
	dev_warn(hw->dev, "detached: %s; software goes on\n", why);
	hwswap_detach(why);
	hwswap_try_later();
}
