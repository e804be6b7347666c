/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_MIRROR_H
#define HWSWAP_MIRROR_H

#include <linux/swap_offload.h>

#include "hwswap.h"

/** struct hwswap_record - a cluster's state, as the engine reads it */
struct hwswap_record {
	__le64 meta;
	__le64 bitmap[HWSWAP_SLOTS / 64];
	__le64 tail;
};

static_assert(sizeof(struct hwswap_record) == HWSWAP_CLUSTER_STATE_SIZE);

static inline struct hwswap_record *hwswap_record(const struct hwswap *hw, u32 cluster)
{
	return (struct hwswap_record *)hw->state.cpu + cluster;
}

int hwswap_mirror_alloc(struct hwswap *hw);
void hwswap_mirror_free(struct hwswap *hw);
void hwswap_mirror_reset(struct hwswap *hw);
void hwswap_mirror_update(struct hwswap *hw, u32 cluster, u8 epoch,
			  const struct swap_offload_change *change);
int hwswap_mirror_read(struct hwswap *hw, struct hwswap_swapdev *sd);
bool hwswap_mirror_settled(struct hwswap *hw);
bool hwswap_mirror_accepts(struct hwswap *hw, unsigned int type,
			   unsigned long offset, unsigned int order);

#endif /* HWSWAP_MIRROR_H */
