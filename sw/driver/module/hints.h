/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_HINTS_H
#define HWSWAP_HINTS_H

#include <linux/swap_offload.h>

#include "hwswap.h"

void hwswap_hints_reset(struct hwswap *hw);
bool hwswap_hint(unsigned int order, struct swap_offload_hint *hint);
void hwswap_hint_done(unsigned int order, const struct swap_offload_hint *hint,
		      enum swap_offload_outcome outcome);
int hwswap_shadow_compare(struct hwswap *hw, const struct swap_offload_change *change);
void hwswap_publish_head(struct hwswap *hw, unsigned int order);

#endif /* HWSWAP_HINTS_H */
