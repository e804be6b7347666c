/* SPDX-License-Identifier: Apache-2.0 */
/* The stock allocator's calls beyond struct swap_ops: to follow its changes, and to steer where it begins. */
#ifndef HWSWAP_STOCK_H
#define HWSWAP_STOCK_H

#include "swap.h"

/**
 * struct stock_state - the state of a cluster
 * @count: slots in use, bad ones included
 * @order: that it is exclusive to
 * @flag: list it is on, HWSWAP_FLAG_*; NONE: taken off for a scan
 */
struct stock_state {
  uint16_t count;
  uint8_t order;
  uint8_t flag;
};

/**
 * typedef stock_changed - a cluster has changed, or may have: it was scanned, taken from, or freed into
 * @context: of the follower
 * @type: number of the device
 * @cluster: of the device
 * @state: of the cluster now
 * @start: first slot that was taken or freed
 * @nr: how many slots; 0: only its list may be another
 * @taken: they were taken
 */
typedef void stock_changed(void *context, unsigned type, uint32_t cluster, struct stock_state state, unsigned start,
                           unsigned nr, bool taken);

/**
 * stock_follow - have every change of a cluster reported, after the change
 * @swap: a stock allocator
 * @changed: called for each; NULL: nobody follows
 * @context: passed to it
 */
void stock_follow(struct swap *swap, stock_changed *changed, void *context);

/**
 * stock_steer - have a CPU's next allocation of an order begin at a cluster's first slot, if the rules allow it
 * @swap: a stock allocator
 * @cpu: the CPU
 * @order: the order
 * @type: number of the device
 * @number: of the cluster in it; one on FREE comes into use. Neither is believed
 *
 * Return: whether it will.
 */
bool stock_steer(struct swap *swap, unsigned cpu, unsigned order, unsigned type, uint32_t number);

/* Allocates where the CPU goes on, which alloc tries first; false: nothing is left in that cluster. */
bool stock_at_hint(struct swap *swap, unsigned cpu, unsigned order, uint64_t pfn, struct swap_place *place);

/* Returns the state of a cluster; there is such a cluster. */
struct stock_state stock_state_of(const struct swap *swap, unsigned type, uint32_t cluster);

#endif
