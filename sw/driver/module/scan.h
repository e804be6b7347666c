/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_SCAN_H
#define HWSWAP_SCAN_H

#include <linux/swap_offload.h>

int hwswap_search(struct swap_offload_search *search);
void hwswap_searched(unsigned int type, enum swap_offload_kind kind, unsigned int right,
		     unsigned int wrong);

#endif /* HWSWAP_SCAN_H */
