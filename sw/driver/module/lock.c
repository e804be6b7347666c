// SPDX-License-Identifier: GPL-2.0
/*
 * What the hooks find, and the lock of all the rest.
 *
 * Locks, from the outside in: hwswap_mutex > the kernel's, of registration >
 * devices_lock. The hook for devices never takes hwswap_mutex, so attaching can register
 * inside it.
 */
#include "lock.h"

/* Attaching, detaching, and everything about which engine is used. */
DEFINE_MUTEX(hwswap_mutex);

/* What the hooks work on: set before they are registered, cleared after. */
struct hwswap *hwswap_active;
enum hwswap_mode hwswap_mode = HWSWAP_OFF;
