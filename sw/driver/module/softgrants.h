/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of hwswap_softgrants, which softgrants.c describes. */
#ifndef HWSWAP_SOFTGRANTS_H
#define HWSWAP_SOFTGRANTS_H

#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/swap_grants.h>

#define SLOTS	  512
#define WORDS	  (SLOTS / 64)
#define ORDERS	  SWAP_GRANTS_ORDERS
#define TOP_ORDER (ORDERS - 1)
#define MAX_TYPES 32
#define NOBODY	  U16_MAX
#define NONE	  U32_MAX

static_assert(IS_ENABLED(CONFIG_64BIT));

/* Ways in which grants are wrong; in the order of lies[], softgrants.c. */
enum lie {
	HONEST,
	BEYOND,		/* the cluster is past the device's end */
	ORDER,		/* the order */
	TAKEN,		/* the cluster is a full one, if there is any, else any */
	DEVICE,		/* the device is any other, or none */
	PRIORITY,	/* the device is the one with the lowest priority */
	EPOCH,		/* the epoch is of another swapon */
	FOREIGN,	/* any cluster of the device */
	NOISE,		/* all of it is random */
	PHASE,		/* that of another lap: the ring stalls */
	FULL,		/* there is none, and NO_RUN says that no order has room */
};

enum placement { INDEXED, OPEN };

/* The engine's summary of a cluster, and the number of the ring that it is granted to. */
struct summary {
	u8 order, list, epoch;
	s8 run; /* largest order with an aligned free run; -1: none */
	u16 owner;
};

struct swapdev {
	struct swap_grants_device is;
	bool known, live, recalling;
	u64 turn; /* when it was chosen last */
};

/* The state of one engine, under soft_mutex. */
extern struct swap_grants_map soft_map;
extern struct summary *soft_summaries;
extern struct swapdev soft_devices[MAX_TYPES];
extern unsigned int soft_unsettled, soft_log2;
extern u64 soft_turns, soft_granted;
extern int soft_lie, soft_placement;
extern bool soft_sparing, soft_news;

/* softgrants_read.c */
bool soft_read(void);
void soft_read_cluster(u32 cluster);
bool soft_kept_right(u32 cluster);

/* softgrants_place.c */
bool soft_serves(const struct swapdev *d, unsigned int order);
struct swapdev *soft_device_of(u32 cluster);
u32 soft_choose(unsigned int order, bool alone);
u32 soft_no_run(void);

/* softgrants_lie.c */
void soft_spoil(u64 *place, const struct swapdev *d, unsigned int order);

/* softgrants_rings.c */
int soft_rings_alloc(void);
void soft_rings_free(void);
bool soft_rings_low(bool dry);
void soft_rings_serve(bool again);
void soft_rings_recall(void);

#endif /* HWSWAP_SOFTGRANTS_H */
