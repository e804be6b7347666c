/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_HOOKS_H
#define HWSWAP_HOOKS_H

#include "hwswap.h"

const char *hwswap_hooks_follow(struct hwswap *hw);
void hwswap_hooks_out(struct hwswap *hw);

#endif /* HWSWAP_HOOKS_H */
