/* SPDX-License-Identifier: Apache-2.0 */
/* What the stock allocator has beyond struct swap_ops: for those who follow it, and those who propose slots to it. */
#ifndef HWSWAP_STOCK_H
#define HWSWAP_STOCK_H

#include "swap.h"

/**
 * struct swap_change - a cluster has changed, or may have: it was scanned, taken from, or freed into
 * @type: number of the device
 * @cluster: of the device
 * @start: first slot that was taken or freed
 * @nr: how many slots; 0: only its list may be another
 * @taken: they were taken
 * @count: slots in use now
 * @order: order of the cluster
 * @flag: list it is on, HWSWAP_FLAG_*
 */
struct swap_change {
  unsigned type;
  uint32_t cluster;
  unsigned start;
  unsigned nr;
  bool taken;
  unsigned count;
  unsigned order;
  unsigned flag;
};

/** enum swap_refusal - what became of proposed slots */
enum swap_refusal {
  SWAP_TAKEN,
  SWAP_REFUSED_HINT,   /* out of range or not aligned */
  SWAP_REFUSED_DEVICE, /* not there, no slots are given of it, or not of this order */
  SWAP_REFUSED_LIST,   /* the cluster is full or off the lists */
  SWAP_REFUSED_ORDER,  /* the cluster belongs to another order */
  SWAP_REFUSED_IN_USE,
  SWAP_REFUSALS,
};

/**
 * stock_follow - have every change of a cluster reported, after the change
 * @swap: a stock allocator
 * @changed: called for each; NULL: nobody follows
 * @context: passed to it
 */
void stock_follow(struct swap *swap, void (*changed)(void *context, const struct swap_change *change), void *context);

/**
 * stock_take - take slots that somebody proposes, if the rules allow it; nothing about them is believed
 * @swap: a stock allocator
 * @order: 2^order slots
 * @place: the first
 * @pfn: the folio their words shall hold
 */
enum swap_refusal stock_take(struct swap *swap, unsigned order, struct swap_place place, uint64_t pfn);

/**
 * stock_cluster - tell a cluster's state, as stock_follow reports it with @nr 0
 * @swap: a stock allocator
 * @type: number of a device
 * @cluster: of the device
 * @change: filled in
 *
 * Return: false when there is no such cluster.
 */
bool stock_cluster(const struct swap *swap, unsigned type, uint32_t cluster, struct swap_change *change);

#endif
