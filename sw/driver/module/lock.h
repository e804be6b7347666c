/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_LOCK_H
#define HWSWAP_LOCK_H

#include <linux/mutex.h>
#include <linux/types.h>

struct hwswap;

/** enum hwswap_mode - what the engine is used for */
enum hwswap_mode {
	HWSWAP_OFF,	/* nothing: nothing is registered */
	HWSWAP_HINT,	/* its grants say where searches begin */
};

extern struct mutex hwswap_mutex;
extern struct hwswap *hwswap_active;
extern enum hwswap_mode hwswap_mode;

#endif /* HWSWAP_LOCK_H */
