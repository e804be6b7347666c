// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap_softgrants: the engine's side of grants (docs/grants.md) in software.
 * It reads bitmaps in turn, keeps of each cluster what the engine keeps, and fills the
 * rings of CPUs that want it, in the order of sim/hwswap/model/grants.py. It stands in
 * for the engine in tests and benches: it runs every period_us, before each call of the
 * allocator's bench, or all the time on a CPU that it has for itself, and counts what
 * that takes.
 *
 * Parameters, /sys/module/hwswap_softgrants/parameters, beside what modinfo says of them:
 *
 *   placement   indexed: clusters of the order that have room, the lowest first, then
 *               free ones; open: the nearest order first, then free ones (the kernel
 *               has to allow it: /sys/kernel/mm/swap/any_order)
 *   sparing     with indexed: free clusters are kept for empty rings, as the engine
 *               does; 0: they are granted in advance as any others
 *   lie         what is wrong with its grants: see enum lie
 *
 * debugfs, hwswap_softgrants: stats, lines "name value"; verify, which compares the
 * memory that the kernel fills with its own tables, and with what is kept here.
 *
 * softgrants_read.c reads clusters, softgrants_place.c chooses among them,
 * softgrants_rings.c grants of them, softgrants_lie.c makes such grants wrong.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <linux/vmalloc.h>

#include "counts.h"
#include "softgrants.h"

static const char *const lies[] = {
	"none",
	"beyond",
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

int soft_lie, soft_placement;
bool soft_sparing = true;
unsigned int soft_log2 = 2;
static bool first;
static unsigned int period_us = 100, clusters = 4096;
static int own_cpu = -1;

struct swap_grants_map soft_map;
struct summary *soft_summaries;
struct swapdev soft_devices[MAX_TYPES];
unsigned int soft_unsettled;
u64 soft_turns, soft_granted;
static u64 took; /* cycles, in run_engine() */

/* For so many calls poll_engine() does not read. */
#define REST 64
static unsigned int rest;

static DEFINE_MUTEX(soft_mutex);
static struct task_struct *thread;
static struct dentry *folder;

/* By the clock of the allocator's bench. */
static cycles_t engine_cycles(void)
{
#ifdef CONFIG_RISCV
	return csr_read(CSR_CYCLE);
#else
	return get_cycles();
#endif
}

/* read: look at further clusters, and again for rings that nothing was found for. */
static void run_engine(bool read)
{
	cycles_t start = engine_cycles();
	u32 none;

	lockdep_assert_held(&soft_mutex);
	if (read && soft_read() && !soft_news)
		rest = REST;
	soft_rings_recall();
	soft_rings_serve(read);
	none = soft_no_run();
	if (READ_ONCE(*soft_map.no_run) != none)
		WRITE_ONCE(*soft_map.no_run, none);
	took += engine_cycles() - start;
}

/* Calls of the kernel */

static bool device_changes(const struct swap_grants_device *dev, enum swap_grants_stage stage)
{
	struct swapdev *d = &soft_devices[dev->type];
	u32 c;

	mutex_lock(&soft_mutex);
	d->is = *dev;
	d->known = stage != SWAP_GRANTS_OFF_DONE;
	d->live = stage == SWAP_GRANTS_ON || stage == SWAP_GRANTS_OFF_ABORTED;
	d->recalling = true;
	d->turn = ++soft_turns;
	for (c = dev->base; c < dev->base + dev->clusters; c++) {
		soft_summaries[c].owner = NOBODY;
		if (stage == SWAP_GRANTS_OFF_DONE)
			soft_summaries[c].list = SWAP_GRANTS_LIST_NONE;
	}
	/* At once, so that nothing of it is on offer when its place is another's. */
	soft_rings_recall();
	soft_unsettled = 2;
	mutex_unlock(&soft_mutex);
	return soft_serves(d, 0);
}

/*
 * A thread of its own would sleep until a ring runs low. It reads where it knows of no
 * room, and rests after a round that has found nothing new.
 */
static void poll_engine(void)
{
	bool read = false;

	mutex_lock(&soft_mutex);
	if (soft_rings_low(true)) {
		read = !rest;
		rest -= !read;
	}
	read |= soft_unsettled;
	if (read || soft_rings_low(false))
		run_engine(read);
	mutex_unlock(&soft_mutex);
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
	while (own_cpu >= 0 && !kthread_should_stop()) {
		poll_engine();
		cond_resched();
	}
	while (!kthread_should_stop()) {
		us = READ_ONCE(period_us);
		if (us) {
			mutex_lock(&soft_mutex);
			run_engine(true);
			mutex_unlock(&soft_mutex);
		} else {
			us = 100000;
		}
		usleep_range(us, us + us / 8 + 1);
	}
	return 0;
}

/* Parameters */

/* One that is a name out of several. */
struct choice {
	const char *const *names;
	size_t nr;
	int *value;
};

static const struct choice lie_choice = { lies, ARRAY_SIZE(lies), &soft_lie };
static const struct choice placement_choice = {
	placements, ARRAY_SIZE(placements), &soft_placement
};

static int choice_set(const char *value, const struct kernel_param *kp)
{
	const struct choice *choice = kp->arg;
	int found = __sysfs_match_string(choice->names, choice->nr, value);

	if (found < 0)
		return found;
	mutex_lock(&soft_mutex);
	WRITE_ONCE(*choice->value, found);
	soft_unsettled = max(soft_unsettled, 1U);
	mutex_unlock(&soft_mutex);
	return 0;
}

static int choice_get(char *buffer, const struct kernel_param *kp)
{
	const struct choice *choice = kp->arg;

	return sysfs_emit(buffer, "%s\n", choice->names[READ_ONCE(*choice->value)]);
}

static const struct kernel_param_ops choice_ops = { .set = choice_set, .get = choice_get };

module_param_cb(lie, &choice_ops, (void *)&lie_choice, 0644);
MODULE_PARM_DESC(lie, "what is wrong with the grants");
module_param_cb(placement, &choice_ops, (void *)&placement_choice, 0644);
MODULE_PARM_DESC(placement, "indexed or open");
module_param_named(sparing, soft_sparing, bool, 0644);
MODULE_PARM_DESC(sparing, "with placement indexed, keep free clusters for empty rings");
module_param(period_us, uint, 0644);
MODULE_PARM_DESC(period_us, "how often the engine runs; 0: only before calls of the bench");
module_param_named(cpu, own_cpu, int, 0444);
MODULE_PARM_DESC(cpu, "a CPU on which nothing else is to run: the engine looks for work there all the time");
module_param(first, bool, 0444);
MODULE_PARM_DESC(first, "run before ordinary threads, as an engine waits for no CPU");
module_param_named(log2, soft_log2, uint, 0444);
MODULE_PARM_DESC(log2, "entries of a ring, as a power of two");
module_param(clusters, uint, 0444);
MODULE_PARM_DESC(clusters, "how many clusters there is memory for");

/* debugfs */

static int stats_show(struct seq_file *m, void *unused)
{
	hwswap_counts_show(m);
	mutex_lock(&soft_mutex);
	seq_printf(m, "grants %llu\ncycles %llu\n", soft_granted, took);
	mutex_unlock(&soft_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/*
 * "kernel": words of bitmaps and words that are not what the kernel's own tables
 * say, which is 0 at any time; "engine": clusters that are not granted, and of which
 * something else is kept here than memory holds, 0 when all is quiet and was read.
 */
static int verify_show(struct seq_file *m, void *unused)
{
	unsigned int looked = 0, kernel = 0, kept = 0, rounds = 0, type;
	u32 c, base, nr;
	int differ;

	mutex_lock(&soft_mutex);
	while (rounds < 2)
		rounds += soft_read();
	mutex_unlock(&soft_mutex);
	for (type = 0; type < MAX_TYPES; type++) {
		mutex_lock(&soft_mutex);
		base = soft_devices[type].is.base;
		nr = soft_devices[type].known ? soft_devices[type].is.clusters : 0;
		mutex_unlock(&soft_mutex);
		for (c = 0; c < nr; c++) {
			differ = swap_grants_verify(type, c);
			if (differ < 0)
				break;
			looked++;
			kernel += differ;
			mutex_lock(&soft_mutex);
			run_engine(true);
			if (soft_summaries[base + c].owner == NOBODY && !soft_kept_right(base + c))
				kept++;
			mutex_unlock(&soft_mutex);
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

	for (i = 0; soft_map.bitmaps && i < DIV_ROUND_UP(soft_map.clusters, SWAP_GRANTS_CHUNK); i++)
		vfree(soft_map.bitmaps[i]);
	kfree(soft_map.bitmaps);
	vfree(soft_map.words);
	kfree(soft_map.lines);
	vfree(soft_map.rings);
	kfree(soft_map.no_run);
	vfree(soft_summaries);
	soft_rings_free();
}

static int get_memory(void)
{
	struct swap_grants_map *map = &soft_map;
	unsigned int chunks, i;

	map->clusters = clusters;
	map->cpus = nr_cpu_ids;
	map->ring_log2 = soft_log2;
	chunks = DIV_ROUND_UP(map->clusters, SWAP_GRANTS_CHUNK);
	map->bitmaps = kcalloc(chunks, sizeof(*map->bitmaps), GFP_KERNEL);
	map->words = vcalloc(map->clusters, sizeof(*map->words));
	map->lines = kcalloc(map->cpus, sizeof(*map->lines), GFP_KERNEL);
	map->rings = vcalloc(map->cpus * ORDERS << soft_log2, sizeof(*map->rings));
	map->no_run = kzalloc_obj(*map->no_run);
	soft_summaries = vcalloc(map->clusters, sizeof(*soft_summaries));
	if (!map->bitmaps || !map->words || !map->lines || !map->rings || !map->no_run ||
	    !soft_summaries)
		return -ENOMEM;
	for (i = 0; i < chunks; i++) {
		map->bitmaps[i] = vzalloc(SWAP_GRANTS_CHUNK * SLOTS / 8);
		if (!map->bitmaps[i])
			return -ENOMEM;
	}
	for (i = 0; i < map->clusters; i++)
		soft_summaries[i] = (struct summary){ .run = -1, .owner = NOBODY };
	return soft_rings_alloc();
}

static int __init softgrants_init(void)
{
	int ret;

	if (!clusters || clusters > SWAP_GRANTS_CHUNK * 16 || soft_log2 > SWAP_GRANTS_RING_MAX) {
		pr_err("clusters has to be 1 to %u, log2 0 to %u\n", SWAP_GRANTS_CHUNK * 16,
		       SWAP_GRANTS_RING_MAX);
		return -EINVAL;
	}
	if (own_cpu >= 0 && (own_cpu >= nr_cpu_ids || !cpu_online(own_cpu))) {
		pr_err("CPU %d is not online: give cpu one that is\n", own_cpu);
		return -EINVAL;
	}
	ret = get_memory();
	if (ret)
		goto no_memory;
	ret = swap_grants_register(&soft_map, &ops);
	if (ret) {
		pr_err("the kernel does not take it as a backend of grants: %pe\n", ERR_PTR(ret));
		goto no_memory;
	}
	thread = kthread_create(engine_thread, NULL, "hwswap_softgrants");
	if (IS_ERR(thread)) {
		ret = PTR_ERR(thread);
		goto no_thread;
	}
	if (own_cpu >= 0)
		kthread_bind(thread, own_cpu);
	wake_up_process(thread);
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
MODULE_DESCRIPTION("The engine's side of grants, in software, for tests and benches");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("SWAP_GRANTS");
