// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap_testbackend: a backend for searches of swap tables that is all software, and
 * honest or not: it shows that the kernel's hooks for searches and readahead believe
 * nothing, and that its tables are right in the end whoever wrote to them. For tests;
 * keep the real driver out of modes scan and trusted meanwhile.
 *
 * /sys/module/hwswap_testbackend/parameters/lie says how it answers:
 *
 *   none      as the tables are
 *   nothing   there is never anything to be found
 *   skip      half of what there is to be found is left out
 *   noise     any slot of the device, every slot of its cluster
 *   outside   slots below and behind what was asked for, windows without the slot
 *             that is needed, windows larger than a cluster
 *   silent    no answer
 *
 * With fill_order it writes the entries of folios from that order on; then
 *
 *   none      as it should; without fill_verify where all entries become the same, with
 *             memset64(), which is how software that is not in doubt would do it
 *   nothing   it says that it did, and did not
 *   skip      every other entry
 *   noise     other entries, of kinds that do no harm to who reads them meanwhile
 *   outside   half of them, and it says that something went wrong
 *   silent    it says that it did not, which is true
 *
 * The other parameters there are counters.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/swap_offload.h>

#define SLOTS		512

/* Entries of a swap table, see mm/swap_table.h */
#define ENTRY_BAD	(~0UL << 3)
#define ENTRY_COUNT	(0xfUL << 60)
#define ENTRY_FLAGS	(0x1fUL << 59)
#define ENTRY_PFN	BIT(2)	/* 1, as a page's number */

static_assert(IS_ENABLED(CONFIG_64BIT));

enum lie { NONE, NOTHING, SKIP, NOISE, OUTSIDE, SILENT };

static const char *const lies[] = { "none", "nothing", "skip", "noise", "outside", "silent" };

static enum lie lie;
static unsigned int fill_order = 10;
static bool fill_verify = true;

static atomic_t searches = ATOMIC_INIT(0);
static atomic_t right = ATOMIC_INIT(0);
static atomic_t wrong = ATOMIC_INIT(0);
static atomic_t windows = ATOMIC_INIT(0);
static atomic_t windows_same = ATOMIC_INIT(0);
static atomic_t fills = ATOMIC_INIT(0);
static atomic_t clears = ATOMIC_INIT(0);
static atomic_t repaired = ATOMIC_INIT(0);

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

/* The same window as the kernel's; of its slots those in use and not cached. */
static void honest_window(struct swap_offload_window *w)
{
	struct page *page = swap_offload_get_table(w->type, w->offset / SLOTS);
	const u64 *entries;
	unsigned int i;

	if (!page)
		return;
	entries = page_address(page);
	for (i = 0; i < SLOTS; i++) {
		if (!(READ_ONCE(entries[i]) & 1))
			__clear_bit(i, w->slots);
	}
	put_page(page);
}

static bool test_window(struct swap_offload_window *w)
{
	unsigned long start = w->start, nr = w->nr, size = 1UL << w->page_cluster;

	switch (READ_ONCE(lie)) {
	case NONE:
		honest_window(w);
		break;
	case NOTHING:
		bitmap_zero(w->slots, SLOTS);
		break;
	case SKIP:
		w->start = w->offset;
		w->nr = 1;
		break;
	case NOISE:
		w->start = round_down(w->offset, size);
		w->nr = size;
		break;
	case OUTSIDE:
		switch (get_random_u32_below(4)) {
		case 0:
			w->start = w->offset + 1;
			break;
		case 1:
			w->nr = ULONG_MAX;
			break;
		case 2:
			w->start = 0;
			w->nr = 2 * SLOTS;
			break;
		default:
			w->nr = 0;
			break;
		}
		break;
	case SILENT:
		return false;
	}
	atomic_inc(&windows);
	if (w->start == start && w->nr == nr)
		atomic_inc(&windows_same);
	return true;
}

/* One entry that is not what it should be. */
static u64 noise(const struct swap_offload_entries *w, u64 entry, unsigned int i)
{
	switch (get_random_u32_below(4)) {
	case 0:
		return 0;
	case 1:
		return (entry & ENTRY_FLAGS) | 1;
	case 2:
		/* Nobody asks for the counts of slots that are not given out yet. */
		if (w->expected == SWAP_OFFLOAD_EXPECT_FREE)
			return get_random_u64() << 59 | w->value;
		return entry;
	default:
		/* Another page of the same folio. */
		if (w->value & 2)
			return (entry & ENTRY_FLAGS) | (w->value + i * ENTRY_PFN);
		return entry;
	}
}

static int write_entries(const struct swap_offload_entries *w)
{
	u64 *entries = (u64 *)page_address(w->table) + w->offset % SLOTS;
	enum lie how = READ_ONCE(lie);
	unsigned int i, nr = how == OUTSIDE ? w->nr / 2 : w->nr;

	if (how == SILENT)
		return 0;
	if (how == NONE && !READ_ONCE(fill_verify) &&
	    (w->expected == SWAP_OFFLOAD_EXPECT_FREE ||
	     w->expected == SWAP_OFFLOAD_EXPECT_CACHE_ONLY)) {
		memset64(entries, w->value, nr);
		return 1;
	}
	for (i = 0; i < nr && how != NOTHING; i++) {
		if (how == NOISE)
			WRITE_ONCE(entries[i], noise(w, entries[i], i));
		else if (how != SKIP || i % 2)
			WRITE_ONCE(entries[i], (entries[i] & ENTRY_FLAGS) | w->value);
	}
	return how == OUTSIDE ? -EIO : 1;
}

static int test_fill(const struct swap_offload_entries *w)
{
	atomic_inc(&fills);
	return write_entries(w);
}

static int test_clear(const struct swap_offload_entries *w)
{
	atomic_inc(&clears);
	return write_entries(w);
}

static void test_repaired(const struct swap_offload_entries *w, unsigned int nr)
{
	atomic_add(nr, &repaired);
}

static const struct swap_offload_ops test_ops = {
	.search		= test_search,
	.searched	= test_searched,
	.window		= test_window,
	.fill		= test_fill,
	.clear		= test_clear,
	.repaired	= test_repaired,
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

/* Under the kernel's lock of modules' parameters; before registration too. */
static bool registered;

static int fill_set(const char *val, const struct kernel_param *kp)
{
	int ret = kp->arg == &fill_verify ? param_set_bool(val, kp) : param_set_uint(val, kp);

	if (!ret && registered)
		ret = swap_offload_set_fill(&test_ops, fill_order, fill_verify);
	return ret;
}

static const struct kernel_param_ops fill_order_ops = {
	.set = fill_set,
	.get = param_get_uint,
};

static const struct kernel_param_ops fill_verify_ops = {
	.set = fill_set,
	.get = param_get_bool,
};

module_param_cb(fill_order, &fill_order_ops, &fill_order, 0644);
MODULE_PARM_DESC(fill_order, "It writes the entries of folios from this order on; 10: of none (default 10)");
module_param_cb(fill_verify, &fill_verify_ops, &fill_verify, 0644);
MODULE_PARM_DESC(fill_verify, "The kernel looks at what it wrote (default y)");

static int counter_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read((const atomic_t *)kp->arg));
}

static int counter_set(const char *val, const struct kernel_param *kp)
{
	int value, ret = kstrtoint(val, 0, &value);

	if (!ret)
		atomic_set((atomic_t *)kp->arg, value);
	return ret;
}

static const struct kernel_param_ops counter_ops = {
	.set = counter_set,
	.get = counter_get,
};

module_param_cb(searches, &counter_ops, &searches, 0644);
MODULE_PARM_DESC(searches, "Searches that were answered");
module_param_cb(right, &counter_ops, &right, 0644);
MODULE_PARM_DESC(right, "Slots of the answers that were as they said");
module_param_cb(wrong, &counter_ops, &wrong, 0644);
MODULE_PARM_DESC(wrong, "Slots of the answers that were not");
module_param_cb(windows, &counter_ops, &windows, 0644);
MODULE_PARM_DESC(windows, "Windows that were proposed");
module_param_cb(windows_same, &counter_ops, &windows_same, 0644);
MODULE_PARM_DESC(windows_same, "Windows among them that were the kernel's own");
module_param_cb(fills, &counter_ops, &fills, 0644);
MODULE_PARM_DESC(fills, "Folios whose entries it was asked to write");
module_param_cb(clears, &counter_ops, &clears, 0644);
MODULE_PARM_DESC(clears, "Folios whose entries it was asked to take away");
module_param_cb(repaired, &counter_ops, &repaired, 0644);
MODULE_PARM_DESC(repaired, "Entries that the kernel found wrong");

static int __init test_init(void)
{
	int ret;

	if (PAGE_SIZE != 4096 || !IS_ENABLED(CONFIG_THP_SWAP)) {
		pr_err("hwswap_testbackend: knows swap clusters of %u slots of 4096 bytes only\n",
		       SLOTS);
		return -EINVAL;
	}
	ret = swap_offload_register(&test_ops);
	if (ret)
		return ret;
	ret = swap_offload_set_fill(&test_ops, fill_order, fill_verify);
	if (ret)
		swap_offload_unregister(&test_ops);
	else
		registered = true;
	return ret;
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
