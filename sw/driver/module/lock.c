// SPDX-License-Identifier: GPL-2.0
/*
 * Who may use the engine: the locks, and what the hooks find under them.
 *
 * Locks, from the outside in: hwswap_mutex (with the command ring) > the kernel's, of
 * registration > devices_lock; cluster lock > the command ring, by trying once. The hook
 * for devices never takes hwswap_mutex, so attaching can register inside it.
 */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "lock.h"

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
