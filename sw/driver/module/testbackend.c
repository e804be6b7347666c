// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap_testbackend: a backend for searches of swap tables that is all software, and
 * honest or not: it shows that the kernel's hooks for searches believe nothing. For
 * tests; keep the real driver out of mode scan meanwhile.
 *
 * /sys/module/hwswap_testbackend/parameters/lie says how it answers:
 *
 *   none      as the tables are
 *   nothing   there is never anything to be found
 *   skip      half of what there is to be found is left out
 *   noise     any slot of the device, every slot of its cluster
 *   outside   slots below and behind what was asked for
 *   silent    no answer
 *
 * The other parameters there are counters.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/swap_offload.h>

#define SLOTS		512

/* Entries of a swap table, see mm/swap_table.h */
#define ENTRY_BAD	(~0UL << 3)
#define ENTRY_COUNT	(0xfUL << 60)

static_assert(IS_ENABLED(CONFIG_64BIT));

enum lie { NONE, NOTHING, SKIP, NOISE, OUTSIDE, SILENT };

static const char *const lies[] = { "none", "nothing", "skip", "noise", "outside", "silent" };

static enum lie lie;

static atomic_t searches = ATOMIC_INIT(0);
static atomic_t right = ATOMIC_INIT(0);
static atomic_t wrong = ATOMIC_INIT(0);

static bool entry_is(u64 entry, enum swap_offload_kind kind)
{
	if (kind == SWAP_OFFLOAD_FIND_CACHE_ONLY)
		return (entry & 3) == 2 && !(entry & ENTRY_COUNT);
	return entry && entry != ENTRY_BAD;
}

/* The slots of a cluster that are of a kind; false when there are none. */
static bool look(unsigned int type, unsigned int cluster, enum swap_offload_kind kind,
		 unsigned int from, unsigned long *slots)
{
	struct page *page = swap_offload_get_table(type, cluster);
	const u64 *entries;
	unsigned int i;

	bitmap_zero(slots, SLOTS);
	if (!page)
		return false;
	entries = page_address(page);
	for (i = from; i < SLOTS; i++) {
		if (entry_is(READ_ONCE(entries[i]), kind))
			__set_bit(i, slots);
	}
	put_page(page);
	return !bitmap_empty(slots, SLOTS);
}

static int honest_search(struct swap_offload_search *s)
{
	unsigned long cluster, from = s->from % SLOTS;

	for (cluster = s->from / SLOTS; cluster * SLOTS < s->end; cluster++) {
		if (look(s->type, cluster, s->kind, from, s->slots)) {
			s->found = cluster * SLOTS + find_first_bit(s->slots, SLOTS);
			return 1;
		}
		from = 0;
		cond_resched();
	}
	return 0;
}

static int test_search(struct swap_offload_search *s)
{
	enum lie how = READ_ONCE(lie);
	unsigned int i;
	int ret;

	if (how == SILENT)
		return -EAGAIN;
	atomic_inc(&searches);
	switch (how) {
	case NOTHING:
		return 0;
	case NOISE:
		s->found = s->from + get_random_u32_below(s->end);
		bitmap_fill(s->slots, SLOTS);
		return 1;
	case OUTSIDE:
		s->found = get_random_u32_below(2) ? s->from - 1 :
			   s->end + get_random_u32_below(SLOTS);
		bitmap_fill(s->slots, SLOTS);
		return 1;
	default:
		ret = honest_search(s);
		break;
	}
	if (ret > 0 && how == SKIP) {
		for_each_set_bit(i, s->slots, SLOTS) {
			if (get_random_u32_below(2))
				__clear_bit(i, s->slots);
		}
		if (bitmap_empty(s->slots, SLOTS))
			return 0;
		s->found = round_down(s->found, SLOTS) + find_first_bit(s->slots, SLOTS);
	}
	return ret;
}

static void test_searched(unsigned int type, enum swap_offload_kind kind, unsigned int good,
			  unsigned int bad)
{
	atomic_add(good, &right);
	atomic_add(bad, &wrong);
}

static const struct swap_offload_ops test_ops = {
	.search		= test_search,
	.searched	= test_searched,
};

static int lie_set(const char *val, const struct kernel_param *kp)
{
	int found = sysfs_match_string(lies, val);

	if (found < 0)
		return found;
	WRITE_ONCE(lie, found);
	return 0;
}

static int lie_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", lies[READ_ONCE(lie)]);
}

static const struct kernel_param_ops lie_ops = {
	.set = lie_set,
	.get = lie_get,
};

module_param_cb(lie, &lie_ops, NULL, 0644);
MODULE_PARM_DESC(lie, "none (default), nothing, skip, noise, outside or silent");

module_param_named(searches, searches.counter, int, 0444);
MODULE_PARM_DESC(searches, "Searches that were answered");
module_param_named(right, right.counter, int, 0444);
MODULE_PARM_DESC(right, "Slots of the answers that were as they said");
module_param_named(wrong, wrong.counter, int, 0444);
MODULE_PARM_DESC(wrong, "Slots of the answers that were not");

static int __init test_init(void)
{
	if (PAGE_SIZE != 4096 || !IS_ENABLED(CONFIG_THP_SWAP)) {
		pr_err("hwswap_testbackend: knows swap clusters of %u slots of 4096 bytes only\n",
		       SLOTS);
		return -EINVAL;
	}
	return swap_offload_register(&test_ops);
}

static void __exit test_exit(void)
{
	swap_offload_unregister(&test_ops);
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("An honest or lying backend for searches of swap tables, for tests");
MODULE_AUTHOR("hwswap developers <hwswap@localhost>");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("SWAP_OFFLOAD");
