// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap_tablebench: swap tables beside a tree. For benches; no part of the driver.
 *
 * Reading /sys/kernel/debug/hwswap_tablebench looks at each swap device, builds a
 * tree (an XArray for each 64 MiB, which is what swap caches were before there were
 * swap tables) with an entry for each slot in use, and gives a line of JSON. It looks at
 * so many clusters of a device as parameter clusters says:
 *
 *   clusters, tables       that number, and those of them that have a swap table
 *   table_bytes            what the tables take
 *   in_use                 slots in use, bad ones not included
 *   tree_nodes, tree_bytes what the tree takes, without the memory of the slab around
 *   lookups                slots that were looked up, in random order, all in use
 *   empty, table, tree     get_cycles() for all of them: the loop alone, with a look at
 *                          the swap table as swap_table_get() does it, with xa_load()
 *
 * The tree holds less than the tables: no counts, which took a byte a slot then.
 */
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/swap_offload.h>
#include <linux/timex.h>
#include <linux/xarray.h>

#define SLOTS		512
#define TREE_SHIFT	14	/* slots of a tree, as a power of two */
#define LOOKUPS		8192
#define MAX_TYPES	32
#define ENTRY_BAD	(~0UL << 3)

/* As much of struct swap_cluster_info as a look at a table needs, and its size. */
struct bench_cluster {
	const u64 *table;
	struct page *page;
	u64 rest[5];
};

struct bench_device {
	unsigned int type, clusters, tables, in_use, trees;
	struct bench_cluster *cluster;
	struct xarray *tree;
	u32 *slots;
};

static unsigned int clusters;
module_param(clusters, uint, 0444);
MODULE_PARM_DESC(clusters, "How many clusters a device has, or the largest of them");

static struct dentry *bench_file;

/* The first slot is never given, so its cluster has a table as long as the device is used. */
static bool bench_there(unsigned int type)
{
	struct page *page = swap_offload_get_table(type, 0);

	if (page)
		put_page(page);
	return page;
}

/* Hold the tables, and build the tree. */
static int bench_build(struct bench_device *dev)
{
	unsigned int i, slot;
	u32 offset;
	u64 entry;
	int ret;

	for (i = 0; i < dev->clusters; i++) {
		dev->cluster[i].page = swap_offload_get_table(dev->type, i);
		if (!dev->cluster[i].page)
			continue;
		dev->cluster[i].table = page_address(dev->cluster[i].page);
		dev->tables++;
		for (slot = 0; slot < SLOTS; slot++) {
			entry = READ_ONCE(dev->cluster[i].table[slot]);
			if (!entry || entry == ENTRY_BAD)
				continue;
			offset = i * SLOTS + slot;
			ret = xa_err(xa_store(&dev->tree[offset >> TREE_SHIFT],
					      offset & GENMASK(TREE_SHIFT - 1, 0),
					      xa_mk_value(offset), GFP_KERNEL));
			if (ret)
				return ret;
			dev->slots[dev->in_use++] = offset;
		}
		cond_resched();
	}
	return 0;
}

static unsigned int bench_nodes(const void *entry)
{
	const struct xa_node *node;
	unsigned int i, nr = 1;

	if (!xa_is_node(entry))
		return 0;
	node = xa_to_node(entry);
	for (i = 0; i < XA_CHUNK_SIZE; i++)
		nr += bench_nodes(rcu_dereference_raw(node->slots[i]));
	return nr;
}

static void bench_shuffle(struct bench_device *dev)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 1);
	for (i = max(dev->in_use, 1U) - 1; i; i--)
		swap(dev->slots[i], dev->slots[prandom_u32_state(&rnd) % (i + 1)]);
}

static u64 bench_empty(const struct bench_device *dev, unsigned int nr)
{
	cycles_t t = get_cycles();
	unsigned int i;

	for (i = 0; i < nr; i++)
		barrier_data(&dev->slots[i]);
	return get_cycles() - t;
}

static u64 bench_table(const struct bench_device *dev, unsigned int nr)
{
	cycles_t t = get_cycles();
	unsigned int i;
	u32 offset;

	for (i = 0; i < nr; i++) {
		const u64 *table;
		u64 entry = 0;

		offset = READ_ONCE(dev->slots[i]);
		rcu_read_lock();
		table = READ_ONCE(dev->cluster[offset / SLOTS].table);
		if (table)
			entry = READ_ONCE(table[offset % SLOTS]);
		rcu_read_unlock();
		barrier_data(&entry);
	}
	return get_cycles() - t;
}

static u64 bench_tree(const struct bench_device *dev, unsigned int nr)
{
	cycles_t t = get_cycles();
	unsigned int i;
	u32 offset;

	for (i = 0; i < nr; i++) {
		void *entry;

		offset = READ_ONCE(dev->slots[i]);
		entry = xa_load(&dev->tree[offset >> TREE_SHIFT],
				offset & GENMASK(TREE_SHIFT - 1, 0));
		barrier_data(&entry);
	}
	return get_cycles() - t;
}

static void bench_report(struct seq_file *m, const struct bench_device *dev)
{
	unsigned int i, nodes = 0, nr = min(dev->in_use, LOOKUPS);

	for (i = 0; i < dev->trees; i++)
		nodes += bench_nodes(rcu_dereference_raw(dev->tree[i].xa_head));
	seq_printf(m, "{\"type\":%u,\"clusters\":%u,\"tables\":%u,\"table_bytes\":%lu,\"in_use\":%u,\"tree_nodes\":%u,\"tree_bytes\":%lu,\"lookups\":%u,\"empty\":%llu,\"table\":%llu,\"tree\":%llu}\n",
		   dev->type, dev->clusters, dev->tables, dev->tables * PAGE_SIZE, dev->in_use,
		   nodes, nodes * sizeof(struct xa_node), nr, bench_empty(dev, nr),
		   bench_table(dev, nr), bench_tree(dev, nr));
}

static int bench_device(struct seq_file *m, unsigned int type)
{
	struct bench_device dev = { .type = type, .clusters = clusters };
	unsigned int i;
	int ret = -ENOMEM;

	if (!bench_there(type))
		return 0;
	dev.trees = DIV_ROUND_UP_ULL((u64)dev.clusters * SLOTS, 1U << TREE_SHIFT);
	dev.cluster = kvcalloc(dev.clusters, sizeof(*dev.cluster), GFP_KERNEL);
	dev.tree = kvcalloc(dev.trees, sizeof(*dev.tree), GFP_KERNEL);
	dev.slots = kvcalloc((size_t)dev.clusters * SLOTS, sizeof(*dev.slots), GFP_KERNEL);
	if (!dev.cluster || !dev.tree || !dev.slots)
		goto out;
	for (i = 0; i < dev.trees; i++)
		xa_init(&dev.tree[i]);
	ret = bench_build(&dev);
	if (!ret) {
		bench_shuffle(&dev);
		bench_report(m, &dev);
	}
	for (i = 0; i < dev.trees; i++)
		xa_destroy(&dev.tree[i]);
	for (i = 0; i < dev.clusters; i++) {
		if (dev.cluster[i].page)
			put_page(dev.cluster[i].page);
	}
out:
	kvfree(dev.slots);
	kvfree(dev.tree);
	kvfree(dev.cluster);
	return ret;
}

static int bench_show(struct seq_file *m, void *unused)
{
	unsigned int type;
	int ret = 0;

	for (type = 0; !ret && type < MAX_TYPES; type++)
		ret = bench_device(m, type);
	return ret;
}
DEFINE_SHOW_ATTRIBUTE(bench);

static int __init bench_init(void)
{
	if (PAGE_SIZE != 4096 || !IS_ENABLED(CONFIG_THP_SWAP)) {
		pr_err("hwswap_tablebench: knows swap clusters of %u slots of 4096 bytes only\n",
		       SLOTS);
		return -EINVAL;
	}
	if (!clusters || clusters > U32_MAX / SLOTS) {
		pr_err("hwswap_tablebench: say how many clusters the swap devices have (clusters=), at most %u\n",
		       U32_MAX / SLOTS);
		return -EINVAL;
	}
	bench_file = debugfs_create_file("hwswap_tablebench", 0400, NULL, NULL, &bench_fops);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove(bench_file);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Memory and lookups of swap tables, beside those of a tree");
MODULE_AUTHOR("hwswap developers <hwswap@localhost>");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("SWAP_OFFLOAD");
