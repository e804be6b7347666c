/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_WORK_H
#define HWSWAP_WORK_H

#include <linux/workqueue.h>

#include "hwswap.h"

/* Work in process context, for callers that cannot do it themselves. */
struct hwswap_workers {
	work_func_t watch;	/* look after the engine, and detach it if it is in doubt */
	work_func_t jobs;	/* tell it of swap devices that have come or gone */
	work_func_t reattach;	/* try to attach it again */
};

int hwswap_work_init(const struct hwswap_workers *workers);
void hwswap_work_exit(void);
void hwswap_work_cancel(void);
void hwswap_doubt(struct hwswap *hw, const char *why);
void hwswap_watch_in(unsigned long delay);
void hwswap_reattach_in(unsigned long delay);
void hwswap_kick_jobs(void);

#endif /* HWSWAP_WORK_H */
