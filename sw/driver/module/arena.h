/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_ARENA_H
#define HWSWAP_ARENA_H

#include "hwswap.h"

#define HWSWAP_CMD_LOG2		5
#define HWSWAP_GIVE_SIZE	4096	/* bytes of addresses of one TABLE_GIVE */
#define HWSWAP_FOUND_SIZE	64	/* bytes of a cluster's bitmap */

int hwswap_arena_alloc(struct hwswap *hw);
void hwswap_arena_free(struct hwswap *hw);

#endif /* HWSWAP_ARENA_H */
