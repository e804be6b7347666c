// SPDX-License-Identifier: GPL-2.0
/*
 * State that the kernel's calls use, and the lock for everything else.
 *
 * Locks, from the outside in: hwswap_mutex > the kernel's, of registration >
 * devices_lock. hwswap_device() never takes hwswap_mutex, so attaching can register under
 * it.
 */
#include "lock.h"

/* Attaching, detaching, and everything about which engine is used. */
DEFINE_MUTEX(hwswap_mutex);

/* The engine of the kernel's calls: set before registration, cleared after. */
struct hwswap *hwswap_active;
enum hwswap_mode hwswap_mode = HWSWAP_OFF;
