/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_LOCK_H
#define HWSWAP_LOCK_H

#include <linux/mutex.h>
#include <linux/types.h>

struct hwswap;

/** enum hwswap_mode - what the engine is used for */
enum hwswap_mode {
	HWSWAP_OFF,	/* nothing: nothing is registered */
	HWSWAP_SHADOW,	/* software chooses, what grants would have done is counted */
	HWSWAP_HINT,	/* its grants say where searches begin */
	HWSWAP_SCAN,	/* it also searches swap tables and chooses readahead */
	HWSWAP_TRUSTED,	/* it also writes to them, for large folios */
	HWSWAP_MODES,	/* how many there are */
};

extern struct mutex hwswap_mutex;
extern struct hwswap *hwswap_active;
extern enum hwswap_mode hwswap_mode;

void hwswap_lock(void);
int hwswap_lock_interruptible(void);
bool hwswap_trylock(void);
void hwswap_unlock(void);
bool hwswap_ring_try(void);
void hwswap_ring_leave(void);

#endif /* HWSWAP_LOCK_H */
