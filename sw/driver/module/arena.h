/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_ARENA_H
#define HWSWAP_ARENA_H

#include "hwswap.h"

int hwswap_arena_alloc(struct hwswap *hw);
void hwswap_arena_free(struct hwswap *hw);

#endif /* HWSWAP_ARENA_H */
