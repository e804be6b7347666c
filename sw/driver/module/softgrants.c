// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap_softgrants: the engine's side of marks and grants (docs/grants.md)
 * in software. It reads which clusters have changed, keeps of each what the engine
 * keeps, and fills the rings of CPUs that want it, in the order of
 * sim/hwswap/model/grants.py. It stands in for the engine in tests and benches: what
 * it costs the CPU is not the engine's cost, and it runs when it is let, every
 * period_us or before each call of the allocator's bench, not all the time.
 *
 * Parameters, /sys/module/hwswap_softgrants/parameters:
 *
 *   placement   indexed: clusters of the order that have room, the lowest first, then
 *               free ones; open: the nearest order first, then free ones (the kernel
 *               has to allow it: /sys/kernel/mm/swap/grants_open)
 *   sparing     with indexed: free clusters are kept for who has nothing else, as the
 *               engine does; 0: they are granted in advance as any others
 *   period_us   how often it runs; 0: only before calls of the bench
 *   first       it runs before ordinary threads (at load), as an engine waits for no CPU
 *   log2        entries of a ring, as a power of two (at load)
 *   clusters    how many it has memory for (at load)
 *   lie         what is wrong with its grants:
 *     none        nothing
 *     misaligned  the first slot
 *     order       the order
 *     taken       the places are those in use
 *     device      the device is any other, or none
 *     priority    the device is the one with the lowest priority
 *     epoch       the epoch is of another swapon
 *     foreign     any cluster of the device, all of it
 *     noise       all of it is random
 *     phase       that of another lap: the ring stalls
 *     full        there is none, and NO_RUN says that no order has room
 *
 * debugfs, hwswap_softgrants: stats, lines "name value"; verify, which compares the
 * memory that the kernel fills with its own tables, and with what is kept here.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/swap_grants.h>
#include <linux/vmalloc.h>

#define SLOTS	  512
#define WORDS	  (SLOTS / 64)
#define ORDERS	  SWAP_GRANTS_ORDERS
#define TOP_ORDER (ORDERS - 1)
#define MAX_TYPES 32
#define NOBODY	  U16_MAX
#define NONE	  U32_MAX
#define SPARED	  8 /* one of so many clusters is kept for who has nothing else */

static_assert(IS_ENABLED(CONFIG_64BIT));

enum lie {
	HONEST,
	MISALIGNED,
	ORDER,
	TAKEN,
	DEVICE,
	PRIORITY,
	EPOCH,
	FOREIGN,
	NOISE,
	PHASE,
	FULL,
};

static const char *const lies[] = {
	"none",
	"misaligned",
	"order",
	"taken",
	"device",
	"priority",
	"epoch",
	"foreign",
	"noise",
	"phase",
	"full",
};

static const char *const placements[] = { "indexed", "open" };

enum placement { INDEXED, OPEN };

/* What the engine keeps of a cluster, and who it is granted to. */
struct summary {
	u8 order, list, epoch;
	s8 run; /* largest order with an aligned free run; -1: none */
	u16 owner;
};

struct ring {
	u32 tail; /* entries written */
	u32 done; /* the first entry that the host is not done with */
	u32 own;  /* cluster that the next entry is of, or NONE */
	u16 next; /* slot that it begins at */
	u32 *out; /* of each entry from done on its cluster, NONE: taken back; 2 << log2 */
};

struct device {
	struct swap_grants_device is;
	bool known, live, recalling;
	u64 turn; /* when it was chosen last */
};

static enum lie lie;
static enum placement placement;
static bool sparing = true, first;
static unsigned int period_us = 100, log2 = 2, clusters = 4096;

/* All of it is one engine's; whoever has it run holds the mutex. */
static DEFINE_MUTEX(engine);
static struct swap_grants_map map;
static struct summary *summaries;
static struct ring *rings;
static struct device devices[MAX_TYPES];
static u64 turns;
static unsigned int unsettled;
static u64 marks_seen, grants_made, recalls;
static struct task_struct *thread;
static struct dentry *folder;

/* Bitmaps */

static const u64 *bitmap_of(u32 cluster)
{
	return map.bitmaps[cluster / SWAP_MARKS_CHUNK] + cluster % SWAP_MARKS_CHUNK * WORDS;
}

static void read_bitmap(u32 cluster, u64 *used)
{
	const u64 *from = bitmap_of(cluster);
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		used[i] = READ_ONCE(from[i]);
}

/* Slots of a word at which 2^order free ones begin, aligned; order 0 to 6. */
static u64 free_runs(u64 used, unsigned int order)
{
	static const u64 aligned[] = { ~0ULL,
				       0x5555555555555555,
				       0x1111111111111111,
				       0x0101010101010101,
				       0x0001000100010001,
				       0x0000000100000001,
				       1 };
	u64 free = ~used;
	unsigned int i;

	for (i = 0; i < order; i++)
		free &= free >> (1 << i);
	return free & aligned[order];
}

static bool run_at(const u64 *used, unsigned int order, unsigned int slot)
{
	unsigned int i;

	if (order < 6)
		return free_runs(used[slot / 64], order) & BIT_ULL(slot % 64);
	for (i = 0; i < 1U << (order - 6); i++) {
		if (used[slot / 64 + i])
			return false;
	}
	return true;
}

static s8 largest_run(const u64 *used)
{
	unsigned int slot, i;
	int order;

	for (order = TOP_ORDER; order > 5; order--) {
		for (slot = 0; slot < SLOTS; slot += 1U << order) {
			if (run_at(used, order, slot))
				return order;
		}
	}
	for (; order >= 0; order--) {
		for (i = 0; i < WORDS; i++) {
			if (free_runs(used[i], order))
				return order;
		}
	}
	return -1;
}

static unsigned int span(unsigned int order)
{
	return min_t(unsigned int, SLOTS, 64U << order);
}

/* The mask of an entry that begins at a slot. */
static u64 free_units(const u64 *used, unsigned int order, unsigned int slot)
{
	unsigned int i;
	u64 mask = 0;

	for (i = 0; i < span(order) >> order; i++) {
		if (run_at(used, order, slot + (i << order)))
			mask |= BIT_ULL(i);
	}
	return mask;
}

/* Marks */

static void scan_cluster(u32 cluster)
{
	struct summary *s = &summaries[cluster];
	u32 word = READ_ONCE(map.words[cluster]);
	u64 used[WORDS];

	marks_seen++;
	read_bitmap(cluster, used);
	s->order = FIELD_GET(SWAP_MARKS_WORD_ORDER, word);
	s->list = FIELD_GET(SWAP_MARKS_WORD_LIST, word);
	s->epoch = FIELD_GET(SWAP_MARKS_WORD_EPOCH, word);
	s->run = largest_run(used);
}

/* A byte that was 1 is cleared before what it stands for is read. */
static bool take(u8 *byte)
{
	if (!READ_ONCE(*byte))
		return false;
	WRITE_ONCE(*byte, 0);
	return true;
}

static void scan(void)
{
	unsigned int group, i;

	for (group = 0; group < map.clusters / SWAP_MARKS_GROUP; group++) {
		DECLARE_BITMAP(marked, SWAP_MARKS_GROUP) = {};

		if (!take(&map.groups[group]))
			continue;
		smp_mb(); /* a CPU's load may pass its store: the engine waits for the answer */
		for (i = 0; i < SWAP_MARKS_GROUP; i++) {
			if (take(&map.dirty[group * SWAP_MARKS_GROUP + i]))
				__set_bit(i, marked);
		}
		smp_mb(); /* the same */
		for_each_set_bit(i, marked, SWAP_MARKS_GROUP)
			scan_cluster(group * SWAP_MARKS_GROUP + i);
	}
	if (unsettled)
		unsettled--;
}

/* Placement */

static bool serves(const struct device *d, unsigned int order)
{
	return d->known && d->live && (d->is.flags & SWAP_GRANTS_SOLIDSTATE) &&
	       (!order || (d->is.flags & SWAP_GRANTS_BLKDEV));
}

static bool usable(const struct device *d, u32 cluster, unsigned int order)
{
	const struct summary *s = &summaries[cluster];

	if (s->epoch != d->is.epoch || s->run < (int)order)
		return false;
	if (s->list == SWAP_GRANTS_LIST_FREE)
		return true;
	if ((s->list != SWAP_GRANTS_LIST_NONFULL && s->list != SWAP_GRANTS_LIST_FRAG) ||
	    order == TOP_ORDER)
		return false;
	return placement == OPEN || !order || s->order == order;
}

/* What the choice goes by, lowest first; of equals the cluster with the lower number. */
static unsigned int rank(const struct summary *s, unsigned int order)
{
	bool is_free = s->list == SWAP_GRANTS_LIST_FREE;

	if (placement == OPEN)
		return is_free ? 1000 : abs((int)s->order - (int)order) * ORDERS + s->order;
	if (!is_free && s->order == order)
		return 0;
	if (!sparing || order)
		return is_free ? 1 : 2;
	/* Single slots: where nobody loses by it, then where the order is the highest. */
	return is_free ? ORDERS + 2 : s->run < (int)s->order ? 1 : 2 + TOP_ORDER - s->order;
}

/*
 * Whether a ring may be given a free cluster of a device. From then on it is this
 * order's, and is not given up before all of it is free again, which hardly happens
 * while swap is nearly full. So it is given when nothing is on offer in the ring, and
 * not out of the last eighth, which those who find nothing else take by a search.
 */
static bool may_open(const struct device *d, unsigned int order, bool alone)
{
	unsigned int left = 0;
	u32 c;

	if (placement == OPEN || !sparing)
		return true;
	if (!alone)
		return false;
	if (!order || order == TOP_ORDER)
		return true;
	for (c = d->is.base; c < d->is.base + d->is.clusters; c++)
		left += summaries[c].owner == NOBODY && summaries[c].epoch == d->is.epoch &&
			summaries[c].list == SWAP_GRANTS_LIST_FREE;
	return left >= d->is.clusters / SPARED;
}

static u32 best(const struct device *d, unsigned int order, bool alone)
{
	bool open = may_open(d, order, alone);
	unsigned int r, least = UINT_MAX;
	u32 c, found = NONE;

	for (c = d->is.base; c < d->is.base + d->is.clusters && least; c++) {
		if (summaries[c].owner != NOBODY || !usable(d, c, order) ||
		    (summaries[c].list == SWAP_GRANTS_LIST_FREE && !open))
			continue;
		r = rank(&summaries[c], order);
		if (r < least) {
			least = r;
			found = c;
		}
	}
	return found;
}

static struct device *device_of(u32 cluster)
{
	unsigned int i;

	for (i = 0; i < MAX_TYPES; i++) {
		struct device *d = &devices[i];

		if (d->known && cluster - d->is.base < d->is.clusters)
			return d;
	}
	return NULL;
}

static bool any_usable(const struct device *d, unsigned int order)
{
	u32 c;

	for (c = 0; c < d->is.clusters; c++)
		if (usable(d, d->is.base + c, order))
			return true;
	return false;
}

/*
 * The best priority of those that have a slot left. The kernel puts a large folio
 * there or nowhere (swap_alloc_slow()), and refuses what is granted of a lower one,
 * unless the CPU came there when there was no better one, and that not for long.
 */
static int least_priority(void)
{
	int least = INT_MIN;
	unsigned int i;

	for (i = 0; i < MAX_TYPES; i++) {
		const struct device *d = &devices[i];

		if (d->known && d->live && !d->recalling && d->is.prio > least && any_usable(d, 0))
			least = d->is.prio;
	}
	return least;
}

/*
 * The next cluster for a ring: of the best priority that has a slot left, equals in
 * turn. alone: nothing is on offer in the ring.
 */
static u32 choose(unsigned int order, bool alone)
{
	struct device *chosen = NULL;
	int least = least_priority();
	u32 cluster = NONE, c;
	unsigned int i;

	for (i = 0; i < MAX_TYPES; i++) {
		struct device *d = &devices[i];

		if (d->recalling || !serves(d, order) || d->is.prio < least ||
		    (chosen && d->turn > chosen->turn))
			continue;
		c = best(d, order, alone);
		if (c != NONE) {
			chosen = d;
			cluster = c;
		}
	}
	if (chosen)
		chosen->turn = ++turns;
	return cluster;
}

static u32 no_run(void)
{
	unsigned int order, i;
	u32 found = 0;

	if (unsettled)
		return 0;
	for (order = 0; order < ORDERS; order++) {
		bool any = false;

		for (i = 0; i < MAX_TYPES && !any; i++) {
			const struct device *d = &devices[i];

			any = serves(d, order) && any_usable(d, order);
		}
		if (!any)
			found |= BIT(order);
	}
	return lie == FULL ? BIT(ORDERS) - 1 : found;
}

/* Rings */

static struct ring *ring_of(unsigned int cpu, unsigned int order)
{
	return &rings[cpu * ORDERS + order];
}

static u32 *out_of(struct ring *r, u32 index)
{
	return &r->out[index & ((2U << log2) - 1)];
}

static void store(unsigned int cpu, unsigned int order, u32 index, u64 mask, u64 place)
{
	struct swap_grant *entry = &map.rings[((cpu * ORDERS + order) << log2) +
					      (index & ((1U << log2) - 1))];

	if (!(index >> log2 & 1) != (READ_ONCE(lie) == PHASE))
		place |= SWAP_GRANT_PHASE;
	else
		place &= ~SWAP_GRANT_PHASE;
	WRITE_ONCE(entry->mask, mask);
	smp_wmb(); /* who finds the phase finds the mask */
	WRITE_ONCE(entry->place, place);
}

/* Let clusters go that no entry of the ring is of any more. */
static void release(unsigned int cpu, unsigned int order)
{
	struct ring *r = ring_of(cpu, order);
	u32 c, i;

	for (c = 0; c < map.clusters; c++) {
		if (summaries[c].owner != cpu * ORDERS + order || c == r->own)
			continue;
		for (i = r->done; i != r->tail && *out_of(r, i) != c; i++)
			;
		if (i == r->tail)
			summaries[c].owner = NOBODY;
	}
}

static void void_entry(unsigned int cpu, unsigned int order, u32 index)
{
	struct ring *r = ring_of(cpu, order);

	*out_of(r, index) = NONE;
	recalls++;
	if (r->tail - index <= 1U << log2)
		store(cpu, order, index, 0, FIELD_PREP(SWAP_GRANT_ORDER, order));
}

static void forget(unsigned int cpu, unsigned int order)
{
	struct ring *r = ring_of(cpu, order);
	u32 i;

	r->own = NONE;
	for (i = r->done; i != r->tail; i++) {
		if (*out_of(r, i) != NONE)
			void_entry(cpu, order, i);
	}
	r->done = r->tail;
	release(cpu, order);
}

static void take_back(void)
{
	unsigned int cpu, order, type;
	u32 i;

	for (type = 0; type < MAX_TYPES; type++) {
		if (!devices[type].recalling)
			continue;
		for (cpu = 0; cpu < map.cpus; cpu++) {
			for (order = 0; order < ORDERS; order++) {
				struct ring *r = ring_of(cpu, order);

				for (i = r->done; i != r->tail; i++) {
					u32 c = *out_of(r, i);
					struct device *d = c == NONE ? NULL : device_of(c);

					if (c != NONE && (!d || d == &devices[type]))
						void_entry(cpu, order, i);
				}
			}
		}
		devices[type].recalling = false;
	}
}

/* Make a grant wrong, in the way that was asked for. */
static void spoil(u64 *mask, u64 *place, const struct device *d, unsigned int order)
{
	u64 slot = FIELD_GET(SWAP_GRANT_SLOT, *place), type = d->is.type, epoch = d->is.epoch;
	unsigned int of = order, i;

	switch (READ_ONCE(lie)) {
	case HONEST:
	case PHASE:
	case FULL:
		return;
	case MISALIGNED:
		slot += get_random_u32_inclusive(1, span(order) - 1);
		break;
	case ORDER:
		of = (order + get_random_u32_inclusive(1, 15)) % 16;
		break;
	case TAKEN:
		*mask = ~*mask;
		break;
	case DEVICE:
		type = (type + get_random_u32_inclusive(1, MAX_TYPES - 1)) % MAX_TYPES;
		if (devices[type].known)
			epoch = devices[type].is.epoch;
		break;
	case PRIORITY:
		for (i = 0; i < MAX_TYPES; i++) {
			if (serves(&devices[i], order) && devices[i].is.prio < d->is.prio) {
				type = i;
				epoch = devices[i].is.epoch;
				slot = 0;
			}
		}
		*mask = ~0ULL;
		break;
	case EPOCH:
		epoch = (epoch + get_random_u32_inclusive(1, 255)) % 256;
		break;
	case FOREIGN:
		slot = get_random_u32_below(d->is.clusters) * SLOTS;
		*mask = ~0ULL;
		break;
	case NOISE:
		*mask = get_random_u64();
		*place = get_random_u64();
		/* Some of it is to be looked at. */
		if (get_random_u32_below(2))
			return;
		slot = get_random_u32_below(d->is.clusters * SLOTS * 2);
		break;
	}
	*place = FIELD_PREP(SWAP_GRANT_SLOT, slot) | FIELD_PREP(SWAP_GRANT_TYPE, type) |
		 FIELD_PREP(SWAP_GRANT_ORDER, of) | FIELD_PREP(SWAP_GRANT_EPOCH, epoch) |
		 SWAP_GRANT_VALID;
}

/* Make the next entry of a ring, whose host is at head; false: there is none. */
static bool build(unsigned int cpu, unsigned int order, u32 head)
{
	struct ring *r = ring_of(cpu, order);
	u64 used[WORDS], mask, place;
	struct device *d;
	unsigned int slot;
	u32 tries;

	for (tries = 0; tries <= map.clusters; tries++) {
		if (r->own == NONE) {
			r->own = choose(order, r->tail == head);
			if (r->own == NONE)
				return false;
			r->next = 0;
			summaries[r->own].owner = cpu * ORDERS + order;
		}
		d = device_of(r->own);
		/* The scan is not under way: what was read is the newest. */
		read_bitmap(r->own, used);
		summaries[r->own].run = largest_run(used);
		for (slot = r->next; usable(d, r->own, order) && slot < SLOTS;
		     slot += span(order)) {
			mask = free_units(used, order, slot);
			if (!mask)
				continue;
			place = FIELD_PREP(SWAP_GRANT_SLOT, (r->own - d->is.base) * SLOTS + slot) |
				FIELD_PREP(SWAP_GRANT_TYPE, d->is.type) |
				FIELD_PREP(SWAP_GRANT_ORDER, order) |
				FIELD_PREP(SWAP_GRANT_EPOCH, d->is.epoch) | SWAP_GRANT_VALID;
			spoil(&mask, &place, d, order);
			*out_of(r, r->tail) = r->own;
			store(cpu, order, r->tail, mask, place);
			r->tail++;
			r->next = slot + span(order);
			if (r->next >= SLOTS)
				r->own = NONE;
			grants_made++;
			return true;
		}
		r->own = NONE;
		release(cpu, order);
	}
	return false;
}

static void serve(unsigned int cpu, unsigned int order)
{
	struct ring *r = ring_of(cpu, order);
	u32 head = READ_ONCE(map.lines[cpu].head[order]), room = 1U << log2;
	u64 used[WORDS];
	bool any = false;

	if (r->tail - head > room) {
		/* The host has counted past what was written: it begins anew. */
		r->tail = head;
		r->done = head;
		r->own = NONE;
		release(cpu, order);
	}
	smp_rmb(); /* the bitmap of what is done with is newer than that it is */
	/* The entry before the head is in use. */
	for (; r->done != r->tail && (s32)(head - 1 - r->done) > 0; r->done++) {
		u32 c = *out_of(r, r->done);

		if (c != NONE) {
			read_bitmap(c, used);
			summaries[c].run = largest_run(used);
		}
		any = true;
	}
	if (any)
		release(cpu, order);
	while (lie != FULL && r->tail - head < room && build(cpu, order, head))
		;
}

static void run_engine(void)
{
	unsigned int cpu, order;
	u32 want, none;

	lockdep_assert_held(&engine);
	scan();
	take_back();
	for (cpu = 0; cpu < map.cpus; cpu++) {
		want = atomic_read(&map.lines[cpu].want);
		for (order = 0; order < ORDERS; order++) {
			struct ring *r = ring_of(cpu, order);

			if (want & BIT(order))
				serve(cpu, order);
			else if (r->done != r->tail || r->own != NONE)
				forget(cpu, order);
		}
	}
	none = no_run();
	if (READ_ONCE(*map.no_run) != none)
		WRITE_ONCE(*map.no_run, none);
}

/* What the kernel tells */

static bool device_changes(const struct swap_grants_device *dev, enum swap_grants_stage stage)
{
	struct device *d = &devices[dev->type];
	struct ring *r;
	unsigned int i;
	u32 c;

	mutex_lock(&engine);
	d->is = *dev;
	d->known = stage != SWAP_GRANTS_OFF_DONE;
	d->live = stage == SWAP_GRANTS_ON || stage == SWAP_GRANTS_OFF_ABORTED;
	d->recalling = true;
	d->turn = ++turns;
	for (i = 0; i < map.cpus * ORDERS; i++) {
		r = &rings[i];
		if (r->own != NONE && r->own - dev->base < dev->clusters)
			r->own = NONE;
	}
	for (c = dev->base; c < dev->base + dev->clusters; c++) {
		summaries[c].owner = NOBODY;
		if (stage == SWAP_GRANTS_OFF_DONE)
			summaries[c].list = SWAP_GRANTS_LIST_NONE;
	}
	/* At once, so that nothing of it is on offer when its place is another's. */
	take_back();
	unsettled = 2;
	mutex_unlock(&engine);
	return serves(d, 0);
}

static void poll_engine(void)
{
	mutex_lock(&engine);
	run_engine();
	mutex_unlock(&engine);
}

static const struct swap_grants_ops ops = {
	.device = device_changes,
	.poll = poll_engine,
};

static int engine_thread(void *unused)
{
	unsigned int us;

	/* An ordinary thread waits for a tick, on a busy CPU. */
	if (first)
		sched_set_fifo_low(current);
	while (!kthread_should_stop()) {
		us = READ_ONCE(period_us);
		if (us)
			poll_engine();
		else
			us = 100000;
		usleep_range(us, us + us / 8 + 1);
	}
	return 0;
}

/* Parameters */

static int choice_set(const char *value, const char *const *names, size_t nr)
{
	return __sysfs_match_string(names, nr, value);
}

static int lie_set(const char *value, const struct kernel_param *kp)
{
	int found = choice_set(value, lies, ARRAY_SIZE(lies));

	if (found < 0)
		return found;
	WRITE_ONCE(lie, found);
	return 0;
}

static int lie_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", lies[lie]);
}

static int placement_set(const char *value, const struct kernel_param *kp)
{
	int found = choice_set(value, placements, ARRAY_SIZE(placements));

	if (found < 0)
		return found;
	WRITE_ONCE(placement, found);
	return 0;
}

static int placement_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", placements[placement]);
}

static const struct kernel_param_ops lie_ops = { .set = lie_set, .get = lie_get };
static const struct kernel_param_ops placement_ops = { .set = placement_set, .get = placement_get };

module_param_cb(lie, &lie_ops, NULL, 0644);
MODULE_PARM_DESC(lie, "what is wrong with the grants");
module_param_cb(placement, &placement_ops, NULL, 0644);
MODULE_PARM_DESC(placement, "indexed or open");
module_param(sparing, bool, 0644);
MODULE_PARM_DESC(sparing, "with placement indexed, keep free clusters for who has nothing else");
module_param(period_us, uint, 0644);
MODULE_PARM_DESC(period_us, "how often the engine runs; 0: only before calls of the bench");
module_param(first, bool, 0444);
MODULE_PARM_DESC(first, "run before ordinary threads");
module_param(log2, uint, 0444);
MODULE_PARM_DESC(log2, "entries of a ring, as a power of two");
module_param(clusters, uint, 0444);
MODULE_PARM_DESC(clusters, "how many clusters there is memory for");

/* debugfs */

static const char *const names[SWAP_GRANTS_NR_COUNTS] = {
	[SWAP_GRANTS_UNITS] = "units",
	[SWAP_GRANTS_POPPED] = "popped",
	[SWAP_GRANTS_TAKEN_BACK] = "taken_back",
	[SWAP_GRANTS_DEVICE] = "refused_device",
	[SWAP_GRANTS_EPOCH] = "refused_epoch",
	[SWAP_GRANTS_FLAGS] = "refused_flags",
	[SWAP_GRANTS_PRIORITY] = "refused_priority",
	[SWAP_GRANTS_ORDER] = "refused_order",
	[SWAP_GRANTS_PLACE] = "refused_place",
	[SWAP_GRANTS_EMPTY] = "refused_empty",
	[SWAP_GRANTS_UNUSABLE] = "unusable",
	[SWAP_GRANTS_NO_TABLE] = "no_table",
	[SWAP_GRANTS_CLAIMED] = "claimed",
	[SWAP_GRANTS_STRAY] = "stray",
	[SWAP_GRANTS_STALE] = "stale",
	[SWAP_GRANTS_NO_RUN] = "no_run",
};

static int stats_show(struct seq_file *m, void *unused)
{
	u64 counts[SWAP_GRANTS_NR_COUNTS];
	unsigned int i;

	swap_grants_counts(counts);
	for (i = 0; i < SWAP_GRANTS_NR_COUNTS; i++)
		seq_printf(m, "%s %llu\n", names[i], counts[i]);
	seq_printf(m, "marks %llu\ngrants %llu\nrecalls %llu\n", marks_seen, grants_made, recalls);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/* Whether what is kept of a cluster is what memory holds, and is not under way. */
static bool kept_right(u32 cluster)
{
	const struct summary *s = &summaries[cluster];
	u32 word = READ_ONCE(map.words[cluster]);
	u64 used[WORDS];

	read_bitmap(cluster, used);
	return s->run == largest_run(used) && s->order == FIELD_GET(SWAP_MARKS_WORD_ORDER, word) &&
	       s->list == FIELD_GET(SWAP_MARKS_WORD_LIST, word) &&
	       s->epoch == FIELD_GET(SWAP_MARKS_WORD_EPOCH, word);
}

/*
 * "kernel": words of bitmaps and words that are not what the kernel's own tables
 * say, which is 0 at any time; "engine": clusters that are not granted, and of which
 * something else is kept here than memory holds, 0 when all is quiet.
 */
static int verify_show(struct seq_file *m, void *unused)
{
	unsigned int looked = 0, kernel = 0, kept = 0, type;
	u32 c, base, nr;
	int differ;

	for (type = 0; type < MAX_TYPES; type++) {
		mutex_lock(&engine);
		base = devices[type].is.base;
		nr = devices[type].known ? devices[type].is.clusters : 0;
		mutex_unlock(&engine);
		for (c = 0; c < nr; c++) {
			differ = swap_grants_verify(type, c);
			if (differ < 0)
				break;
			looked++;
			kernel += differ;
			mutex_lock(&engine);
			run_engine();
			if (summaries[base + c].owner == NOBODY && !kept_right(base + c))
				kept++;
			mutex_unlock(&engine);
		}
	}
	seq_printf(m, "clusters %u\nkernel %u\nengine %u\n", looked, kernel, kept);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(verify);

/* The module comes and goes */

static void free_memory(void)
{
	unsigned int i;

	for (i = 0; map.bitmaps && i < DIV_ROUND_UP(map.clusters, SWAP_MARKS_CHUNK); i++)
		vfree(map.bitmaps[i]);
	for (i = 0; rings && i < map.cpus * ORDERS; i++)
		kfree(rings[i].out);
	kfree(map.bitmaps);
	vfree(map.words);
	vfree(map.dirty);
	vfree(map.groups);
	kfree(map.lines);
	vfree(map.rings);
	kfree(map.no_run);
	vfree(summaries);
	kfree(rings);
}

static int get_memory(void)
{
	unsigned int chunks, i;

	map.clusters = round_up(clusters, SWAP_MARKS_GROUP);
	map.cpus = nr_cpu_ids;
	map.ring_log2 = log2;
	chunks = DIV_ROUND_UP(map.clusters, SWAP_MARKS_CHUNK);
	map.bitmaps = kcalloc(chunks, sizeof(*map.bitmaps), GFP_KERNEL);
	map.words = vcalloc(map.clusters, sizeof(*map.words));
	map.dirty = vzalloc(map.clusters);
	map.groups = vzalloc(map.clusters / SWAP_MARKS_GROUP);
	map.lines = kcalloc(map.cpus, sizeof(*map.lines), GFP_KERNEL);
	map.rings = vcalloc(map.cpus * ORDERS << log2, sizeof(*map.rings));
	map.no_run = kzalloc_obj(*map.no_run);
	summaries = vcalloc(map.clusters, sizeof(*summaries));
	rings = kcalloc(map.cpus * ORDERS, sizeof(*rings), GFP_KERNEL);
	if (!map.bitmaps || !map.words || !map.dirty || !map.groups || !map.lines || !map.rings ||
	    !map.no_run || !summaries || !rings)
		return -ENOMEM;
	for (i = 0; i < chunks; i++) {
		map.bitmaps[i] = vzalloc(SWAP_MARKS_CHUNK * SLOTS / 8);
		if (!map.bitmaps[i])
			return -ENOMEM;
	}
	for (i = 0; i < map.clusters; i++)
		summaries[i] = (struct summary){ .run = -1, .owner = NOBODY };
	for (i = 0; i < map.cpus * ORDERS; i++) {
		rings[i].own = NONE;
		rings[i].out = kcalloc(2U << log2, sizeof(u32), GFP_KERNEL);
		if (!rings[i].out)
			return -ENOMEM;
	}
	return 0;
}

static int __init softgrants_init(void)
{
	int ret;

	if (!clusters || clusters > SWAP_MARKS_CHUNK * 16 || log2 > SWAP_GRANTS_RING_MAX) {
		pr_err("clusters has to be 1 to %u, log2 0 to %u\n", SWAP_MARKS_CHUNK * 16,
		       SWAP_GRANTS_RING_MAX);
		return -EINVAL;
	}
	ret = get_memory();
	if (ret)
		goto no_memory;
	ret = swap_grants_register(&map, &ops);
	if (ret) {
		pr_err("the kernel does not take it as a backend of grants: %pe\n", ERR_PTR(ret));
		goto no_memory;
	}
	thread = kthread_run(engine_thread, NULL, "hwswap_softgrants");
	if (IS_ERR(thread)) {
		ret = PTR_ERR(thread);
		goto no_thread;
	}
	folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("stats", 0400, folder, NULL, &stats_fops);
	debugfs_create_file("verify", 0400, folder, NULL, &verify_fops);
	return 0;
no_thread:
	swap_grants_unregister(&ops);
no_memory:
	free_memory();
	return ret;
}

static void __exit softgrants_exit(void)
{
	debugfs_remove(folder);
	kthread_stop(thread);
	swap_grants_unregister(&ops);
	free_memory();
}

module_init(softgrants_init);
module_exit(softgrants_exit);
MODULE_DESCRIPTION("The engine's side of marks and grants, in software, for tests and benches");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("SWAP_GRANTS");
