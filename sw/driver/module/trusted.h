/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_TRUSTED_H
#define HWSWAP_TRUSTED_H

#include <linux/swap_offload.h>

#include "hwswap.h"

extern unsigned int hwswap_trusted_min_order;
extern bool hwswap_trusted_verify;

int hwswap_fill(const struct swap_offload_entries *entries);
int hwswap_clear(const struct swap_offload_entries *entries);
void hwswap_repaired(const struct swap_offload_entries *entries, unsigned int wrong);
int hwswap_trusted_apply(struct hwswap *hw, const struct swap_offload_ops *ops);

#endif /* HWSWAP_TRUSTED_H */
