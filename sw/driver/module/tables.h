/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_TABLES_H
#define HWSWAP_TABLES_H

#include <linux/bitops.h>
#include <linux/mm_types.h>

#include "hwswap.h"

/**
 * struct hwswap_table - the swap table of a cluster that the engine knows
 * @page: its page, held; NULL: the engine knows none. Written by who has the command
 *	ring.
 * @bus: its address for the engine
 */
struct hwswap_table {
	struct page *page;
	dma_addr_t bus;
};

int hwswap_tables_alloc(struct hwswap *hw);
void hwswap_tables_free(struct hwswap *hw);
void __hwswap_tables_note(struct hwswap *hw, u32 cluster, unsigned int list);
void hwswap_tables_new(struct hwswap *hw, const struct hwswap_swapdev *sd);
int hwswap_tables_give(struct hwswap *hw, const struct hwswap_swapdev *sd);
int hwswap_table_give_now(struct hwswap *hw, const struct hwswap_swapdev *sd, u32 cluster,
			  struct page *page, u64 timeout_ns);
int hwswap_tables_take(struct hwswap *hw);
int hwswap_tables_drop(struct hwswap *hw);
void hwswap_tables_off(struct hwswap *hw, const struct hwswap_swapdev *sd);
void hwswap_tables_release(struct hwswap *hw);
u32 hwswap_tables_quarantined(const struct hwswap *hw);

/**
 * hwswap_tables_note - a cluster has changed
 * @hw: the engine
 * @cluster: its number in the engine
 * @list: the list it is on now (enum swap_offload_list)
 *
 * Nearly always the engine knows the cluster's table, or is going to be given it; the
 * rest is out of line.
 *
 * Context: the update hook: under the cluster lock, perhaps with interrupts off.
 */
static __always_inline void hwswap_tables_note(struct hwswap *hw, u32 cluster, unsigned int list)
{
	if (list == SWAP_OFFLOAD_LIST_FREE ||
	    (!READ_ONCE(hw->tables[cluster].page) && !test_bit(cluster, hw->wanted)))
		__hwswap_tables_note(hw, cluster, list);
}

#endif /* HWSWAP_TABLES_H */
