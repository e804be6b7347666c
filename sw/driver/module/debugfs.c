// SPDX-License-Identifier: GPL-2.0
/* What people and tests look at: /sys/kernel/debug/hwswap. */
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>

#include "hwswap.h"

/* How often a cluster that differs is looked at again before it counts. */
#define HWSWAP_VERIFY_TRIES	200
#define HWSWAP_VERIFY_DETAILS	20

static struct dentry *hwswap_dir;

static int stats_show(struct seq_file *m, void *unused)
{
	hwswap_stats_show(m);
	return 0;
}

static int stats_open(struct inode *inode, struct file *file)
{
	return single_open(file, stats_show, NULL);
}

static ssize_t stats_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	hwswap_stats_reset();
	return len;
}

static const struct file_operations stats_fops = {
	.owner		= THIS_MODULE,
	.open		= stats_open,
	.read		= seq_read,
	.write		= stats_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int state_show(struct seq_file *m, void *unused)
{
	char line[128];

	hwswap_describe(line, sizeof(line));
	seq_printf(m, "%s\n", line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static ssize_t reattach_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	int ret = hwswap_reattach();

	return ret ?: len;
}

static const struct file_operations reattach_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= reattach_write,
	.llseek	= noop_llseek,
};

static int engine_show(struct seq_file *m, void *unused)
{
	static const struct {
		const char *name;
		u32 reg;
	} regs[] = {
		{ "cycles", HWSWAP_REG_STAT_CYCLES },
		{ "busy_cycles", HWSWAP_REG_STAT_BUSY_CYCLES },
		{ "commands", HWSWAP_REG_STAT_COMMANDS },
		{ "command_errors", HWSWAP_REG_STAT_COMMAND_ERRORS },
		{ "alloc_fast", HWSWAP_REG_STAT_ALLOC_FAST },
		{ "alloc_nonfull", HWSWAP_REG_STAT_ALLOC_NONFULL },
		{ "alloc_free", HWSWAP_REG_STAT_ALLOC_FREE },
		{ "alloc_frag", HWSWAP_REG_STAT_ALLOC_FRAG },
		{ "alloc_steal", HWSWAP_REG_STAT_ALLOC_STEAL },
		{ "alloc_fail", HWSWAP_REG_STAT_ALLOC_FAIL },
		{ "frees", HWSWAP_REG_STAT_FREES },
		{ "scans", HWSWAP_REG_STAT_SCANS },
		{ "list_moves", HWSWAP_REG_STAT_LIST_MOVES },
		{ "notices", HWSWAP_REG_STAT_NOTICES },
		{ "fetches", HWSWAP_REG_STAT_FETCHES },
		{ "fetch_retries", HWSWAP_REG_STAT_FETCH_RETRIES },
		{ "hints_made", HWSWAP_REG_STAT_HINTS_MADE },
		{ "hints_used_up", HWSWAP_REG_STAT_HINTS_USED_UP },
		{ "hints_recalled", HWSWAP_REG_STAT_HINTS_RECALLED },
		{ "polls", HWSWAP_REG_STAT_POLLS },
		{ "dma_read_beats", HWSWAP_REG_STAT_DMA_READ_BEATS },
		{ "dma_write_beats", HWSWAP_REG_STAT_DMA_WRITE_BEATS },
		{ "dma_refused", HWSWAP_REG_STAT_DMA_REFUSED },
	};
	struct hwswap *hw;
	u64 usage, state, size;
	unsigned int i;
	u32 reg;

	hwswap_lock();
	hw = hwswap_active;
	if (!hw) {
		hwswap_unlock();
		seq_puts(m, "detached\n");
		return 0;
	}
	seq_printf(m, "version %u.%u\n", hw->version >> 16, hw->version & 0xffff);
	seq_printf(m, "build %016llx\n", hw->build);
	seq_printf(m, "devices %u\ncpus %u\nclusters %u\nhint_ring %u\n", hw->devices, hw->cpus,
		   hw->clusters, 1U << hw->hint_log2);
	seq_printf(m, "interrupt %d\n", hw->irq);
	seq_printf(m, "control %llx\n", hwswap_read(hw, HWSWAP_REG_CONTROL));
	seq_printf(m, "status %llx\n", hwswap_read(hw, HWSWAP_REG_STATUS));
	hwswap_windows_show(hw, m);
	usage = hwswap_read(hw, HWSWAP_REG_USAGE);
	seq_printf(m, "free_slots %llu\nhinted_slots %llu\n",
		   FIELD_GET(HWSWAP_USAGE_SLOTS, usage), FIELD_GET(HWSWAP_USAGE_HINTED, usage));
	for (i = 0; i < ARRAY_SIZE(regs); i++)
		seq_printf(m, "%s %llu\n", regs[i].name, hwswap_read(hw, regs[i].reg));
	for (i = 0; i < hw->devices; i++) {
		reg = HWSWAP_REG_DEVICE_BASE + i * HWSWAP_REG_DEVICE_STRIDE;
		state = hwswap_read(hw, reg + HWSWAP_REG_DEVICE_STATE);
		size = hwswap_read(hw, reg + HWSWAP_REG_DEVICE_SIZE);
		if (state & HWSWAP_DEVICE_STATE_CLAIMED)
			seq_printf(m, "device%u pages %llu base %llu used %llu priority %d writeok %u available %u epoch %llu\n",
				   i, FIELD_GET(HWSWAP_DEVICE_SIZE_PAGES, size),
				   FIELD_GET(HWSWAP_DEVICE_SIZE_BASE, size),
				   FIELD_GET(HWSWAP_DEVICE_STATE_USED, state),
				   (s16)FIELD_GET(HWSWAP_DEVICE_STATE_PRIORITY, state),
				   !!(state & HWSWAP_DEVICE_STATE_WRITEOK),
				   !!(state & HWSWAP_DEVICE_STATE_AVAILABLE),
				   FIELD_GET(HWSWAP_DEVICE_STATE_EPOCH, state));
	}
	hwswap_unlock();
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(engine);

static int tables_show(struct seq_file *m, void *unused)
{
	struct hwswap *hw;
	u64 state;

	hwswap_lock();
	hw = hwswap_active;
	if (!hw || !hw->has_tables) {
		seq_puts(m, hw ? "the engine knows no swap tables\n" : "detached\n");
		goto out;
	}
	seq_printf(m, "given %u\nquarantined %u\nwanted %u\n", hw->tables_given,
		   hwswap_tables_quarantined(hw), bitmap_weight(hw->wanted, hw->usable));
	seq_printf(m, "words_read %llu\nwords_written %llu\nbusy_cycles %llu\n",
		   hwswap_read(hw, HWSWAP_REG_STAT_TABLE_WORDS_READ),
		   hwswap_read(hw, HWSWAP_REG_STAT_TABLE_WORDS_WRITTEN),
		   hwswap_read(hw, HWSWAP_REG_STAT_TABLE_BUSY_CYCLES));
	state = hwswap_read(hw, HWSWAP_REG_READAHEAD);
	seq_printf(m, "readahead_previous %llu\nreadahead_pages %llu\n",
		   FIELD_GET(HWSWAP_READAHEAD_PREVIOUS, state),
		   FIELD_GET(HWSWAP_READAHEAD_PAGES, state));
out:
	hwswap_unlock();
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tables);

/** enum hwswap_verdict - how a cluster looks on the three sides */
enum hwswap_verdict {
	HWSWAP_SAME,
	HWSWAP_LATE,		/* the engine has an older record */
	HWSWAP_RECORD_DIFFERS,	/* the record is not what the kernel's tables say */
	HWSWAP_ENGINE_DIFFERS,	/* the engine is not what the record says */
};

/** struct hwswap_compare - what hwswap_compare_one() compares */
struct hwswap_compare {
	const struct hwswap_record *record;	/* what the engine is shown */
	const struct hwswap_record *dumped;	/* what it says it holds */
	enum hwswap_verdict verdict;
	u64 kernel[HWSWAP_SLOTS / 64];
	u16 count;
	u8 order;
	u8 list;
};

/* Under the cluster lock: the record cannot change meanwhile. */
static void hwswap_compare_one(const struct swap_offload_snapshot *snap, void *data)
{
	const u64 state = HWSWAP_CLUSTER_STATE_META_COUNT | HWSWAP_CLUSTER_STATE_META_ORDER |
			  HWSWAP_CLUSTER_STATE_META_FLAG | HWSWAP_CLUSTER_STATE_META_EPOCH;
	struct hwswap_compare *cmp = data;
	u64 meta = le64_to_cpu(cmp->record->meta), dump = le64_to_cpu(cmp->dumped->meta);
	unsigned int i;

	bitmap_to_arr64(cmp->kernel, snap->used, HWSWAP_SLOTS);
	cmp->count = snap->count;
	cmp->order = snap->order;
	cmp->list = snap->list;

	cmp->verdict = HWSWAP_RECORD_DIFFERS;
	for (i = 0; i < ARRAY_SIZE(cmp->kernel); i++) {
		if (le64_to_cpu(cmp->record->bitmap[i]) != cmp->kernel[i])
			return;
	}
	/* A cluster in somebody's hands is off-list; its record says where it was. */
	if (FIELD_GET(HWSWAP_CLUSTER_STATE_META_COUNT, meta) != snap->count ||
	    (snap->list != SWAP_OFFLOAD_LIST_NONE &&
	     (FIELD_GET(HWSWAP_CLUSTER_STATE_META_FLAG, meta) != snap->list ||
	      FIELD_GET(HWSWAP_CLUSTER_STATE_META_ORDER, meta) != snap->order)))
		return;

	cmp->verdict = HWSWAP_LATE;
	if ((meta ^ dump) & HWSWAP_CLUSTER_STATE_META_SEQ)
		return;
	cmp->verdict = HWSWAP_ENGINE_DIFFERS;
	if ((meta ^ dump) & state)
		return;
	for (i = 0; i < ARRAY_SIZE(cmp->kernel); i++) {
		if (cmp->dumped->bitmap[i] != cmp->record->bitmap[i])
			return;
	}
	cmp->verdict = HWSWAP_SAME;
}

static int hwswap_dump(struct hwswap *hw, u32 first, u32 nr)
{
	const u64 arg[3] = { first, hw->dump.bus, 0 };

	return hwswap_cmd(hw, HWSWAP_OPCODE_DUMP, 0, nr, arg, NULL);
}

static void hwswap_verify_report(struct seq_file *m, const struct hwswap_swapdev *sd, u32 cluster,
				 const struct hwswap_compare *cmp)
{
	static const char *const verdicts[] = {
		[HWSWAP_LATE] = "late",
		[HWSWAP_RECORD_DIFFERS] = "record",
		[HWSWAP_ENGINE_DIFFERS] = "engine",
	};
	u64 kernel, record, engine;
	unsigned int i;

	seq_printf(m, "%s: device %u cluster %u kernel count %u order %u list %u, record meta %016llx, engine meta %016llx\n",
		   verdicts[cmp->verdict], sd->dev.type, cluster, cmp->count, cmp->order, cmp->list,
		   le64_to_cpu(cmp->record->meta), le64_to_cpu(cmp->dumped->meta));
	for (i = 0; i < ARRAY_SIZE(cmp->kernel); i++) {
		kernel = cmp->kernel[i];
		record = le64_to_cpu(cmp->record->bitmap[i]);
		engine = le64_to_cpu(cmp->dumped->bitmap[i]);
		if (kernel != record || kernel != engine)
			seq_printf(m, "  slots %u: kernel %016llx record %016llx engine %016llx\n",
				   i * 64, kernel, record, engine);
	}
}

/** struct hwswap_verify - sums of one verification */
struct hwswap_verify {
	u32 clusters;
	u32 differences;
};

static int hwswap_verify_device(struct seq_file *m, struct hwswap *hw, struct hwswap_swapdev *sd,
				struct hwswap_verify *sum)
{
	u32 first, i, nr, tries;
	struct hwswap_compare cmp;
	int ret;

	for (first = 0; first < sd->clusters; first += nr) {
		nr = min(sd->clusters - first, (u32)HWSWAP_DUMP_CLUSTERS);
		ret = hwswap_dump(hw, sd->base + first, nr);
		if (ret)
			return ret;
		for (i = 0; i < nr; i++) {
			cmp.record = hwswap_record(hw, sd->base + first + i);
			cmp.dumped = (struct hwswap_record *)hw->dump.cpu + i;
			for (tries = 0; ; tries++) {
				if (signal_pending(current))
					return -EINTR;
				/* A device that is switched off needs no comparison. */
				if (swap_offload_snapshot(sd->dev.type, first + i,
							  hwswap_compare_one, &cmp))
					return 0;
				if (cmp.verdict == HWSWAP_SAME || tries == HWSWAP_VERIFY_TRIES)
					break;
				usleep_range(1000, 2000);
				ret = hwswap_dump(hw, sd->base + first, nr);
				if (ret)
					return ret;
			}
			sum->clusters++;
			if (cmp.verdict == HWSWAP_SAME)
				continue;
			if (sum->differences++ < HWSWAP_VERIFY_DETAILS)
				hwswap_verify_report(m, sd, first + i, &cmp);
		}
	}
	return 0;
}

/*
 * Compare kernel, records and engine, cluster by cluster. Swap can go on: while
 * the engine holds an older record than the one it is shown, it is given time. A
 * signal ends it.
 */
static int verify_show(struct seq_file *m, void *unused)
{
	struct hwswap_verify sum = {};
	unsigned int i, tries;
	struct hwswap *hw;
	int ret;

	ret = hwswap_lock_interruptible();
	if (ret)
		return ret;
	hw = hwswap_active;
	if (!hw) {
		ret = -ENODEV;
		goto out;
	}
	for (tries = 0; !hwswap_mirror_settled(hw) && tries < 500; tries++) {
		if (signal_pending(current)) {
			ret = -EINTR;
			goto out;
		}
		/* Also gives a simulated engine time in which to catch up. */
		hwswap_read(hw, HWSWAP_REG_STATUS);
		usleep_range(500, 1000);
	}
	for (i = 0; !ret && i < hw->devices; i++) {
		if (hw->swapdev[i].on_engine && READ_ONCE(hw->swapdev[i].live))
			ret = hwswap_verify_device(m, hw, &hw->swapdev[i], &sum);
	}
	if (ret)
		goto out;
	seq_printf(m, "clusters %u differences %u\n", sum.clusters, sum.differences);
	hwswap_count(HWSWAP_STAT_VERIFIES);
	hwswap_count_add(HWSWAP_STAT_VERIFY_CLUSTERS, sum.clusters);
	hwswap_count_add(HWSWAP_STAT_VERIFY_DIFFERENCES, sum.differences);
out:
	hwswap_unlock();
	return ret;
}
DEFINE_SHOW_ATTRIBUTE(verify);

/* hwswap_debugfs_init - make the files */
void hwswap_debugfs_init(void)
{
	hwswap_dir = debugfs_create_dir("hwswap", NULL);
	debugfs_create_file("stats", 0600, hwswap_dir, NULL, &stats_fops);
	debugfs_create_file("state", 0400, hwswap_dir, NULL, &state_fops);
	debugfs_create_file("verify", 0400, hwswap_dir, NULL, &verify_fops);
	debugfs_create_file("reattach", 0200, hwswap_dir, NULL, &reattach_fops);
	debugfs_create_file("engine", 0400, hwswap_dir, NULL, &engine_fops);
	debugfs_create_file("tables", 0400, hwswap_dir, NULL, &tables_fops);
}

/* hwswap_debugfs_exit - take the files away; waits for their readers */
void hwswap_debugfs_exit(void)
{
	debugfs_remove(hwswap_dir);
}
