// SPDX-License-Identifier: GPL-2.0
/*
 * Waking the workers. Detaching an engine is a matter of the highest layers, but the
 * lowest ones find out that it is needed: inside swapon, while waiting for the engine, in
 * an interrupt. They cannot call upwards, so they wake a worker, whose function was set
 * here when the module was loaded.
 */
#include <linux/atomic.h>

#include "work.h"

static struct workqueue_struct *hwswap_wq;
static struct work_struct hwswap_jobs_work;
static struct delayed_work hwswap_watch_work;
static struct delayed_work hwswap_reattach_work;

/**
 * hwswap_work_init - make the workers
 * @workers: what they do
 *
 * Before there is an engine: nobody wakes them until then.
 *
 * Return: 0 or -ENOMEM.
 */
int hwswap_work_init(const struct hwswap_workers *workers)
{
	INIT_WORK(&hwswap_jobs_work, workers->jobs);
	INIT_DELAYED_WORK(&hwswap_watch_work, workers->watch);
	INIT_DELAYED_WORK(&hwswap_reattach_work, workers->reattach);
	/* Its workers can be what reclaim is waiting for. */
	hwswap_wq = alloc_workqueue("hwswap", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return hwswap_wq ? 0 : -ENOMEM;
}

/* hwswap_work_exit - there are no engines any more */
void hwswap_work_exit(void)
{
	destroy_workqueue(hwswap_wq);
}

/* hwswap_work_cancel - end what the workers do, or were woken for */
void hwswap_work_cancel(void)
{
	cancel_delayed_work_sync(&hwswap_reattach_work);
	cancel_delayed_work_sync(&hwswap_watch_work);
	cancel_work_sync(&hwswap_jobs_work);
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
		hwswap_watch_in(0);
}

/**
 * hwswap_watch_in - look after the engine
 * @delay: in so many jiffies
 */
void hwswap_watch_in(unsigned long delay)
{
	mod_delayed_work(hwswap_wq, &hwswap_watch_work, delay);
}

/**
 * hwswap_reattach_in - try to attach the engine again
 * @delay: in so many jiffies
 */
void hwswap_reattach_in(unsigned long delay)
{
	mod_delayed_work(hwswap_wq, &hwswap_reattach_work, delay);
}

/* hwswap_kick_jobs - there is something to tell the engine */
void hwswap_kick_jobs(void)
{
	queue_work(hwswap_wq, &hwswap_jobs_work);
}
