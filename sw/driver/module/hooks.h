/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_HOOKS_H
#define HWSWAP_HOOKS_H

#include <linux/swap_offload.h>

extern const struct swap_offload_ops hwswap_ops;

#endif /* HWSWAP_HOOKS_H */
