/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_TABLES_H
#define HWSWAP_TABLES_H

#include <linux/bitops.h>
#include <linux/mm_types.h>

#include "hwswap.h"

#define HWSWAP_GIVE_MAX		512U	/* clusters of one TABLE_GIVE */

/* The swap table of a cluster that the engine knows. */
struct hwswap_table {
	/* its page, held; NULL: the engine knows none. Written under hwswap_mutex */
	struct page *page;
	dma_addr_t bus;	/* its address for the engine */
};

int hwswap_tables_alloc(struct hwswap *hw);
void hwswap_tables_free(struct hwswap *hw);
void hwswap_table_freed(unsigned int type, unsigned int cluster);
int hwswap_tables_give(struct hwswap *hw, const struct hwswap_swapdev *sd, u32 first, u32 nr);
int hwswap_tables_take(struct hwswap *hw);
int hwswap_tables_drop(struct hwswap *hw);
void hwswap_tables_off(struct hwswap *hw, const struct hwswap_swapdev *sd);
void hwswap_tables_release(struct hwswap *hw);
u32 hwswap_tables_quarantined(const struct hwswap *hw);

#endif /* HWSWAP_TABLES_H */
