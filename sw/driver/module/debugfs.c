// SPDX-License-Identifier: GPL-2.0
/* /sys/kernel/debug/hwswap, for people and tests. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "attach.h"
#include "counts.h"
#include "debugfs.h"
#include "grants.h"
#include "health.h"
#include "lock.h"
#include "registers.h"
#include "stats.h"
#include "windows.h"

static struct dentry *hwswap_dir;

static int stats_show(struct seq_file *m, void *unused)
{
	hwswap_stats_show(m);
	hwswap_counts_show(m);
	return 0;
}

static ssize_t stats_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	hwswap_stats_reset();
	return len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(stats);

static int state_show(struct seq_file *m, void *unused)
{
	/* Without the mutex: attaching may be waiting for a dead engine. */
	const char *why = hwswap_why_detached();

	seq_printf(m, "%s%s\n", why ? "detached: " : "attached", why ?: "");
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
	struct hwswap *hw;

	mutex_lock(&hwswap_mutex);
	hw = hwswap_active;
	if (!hw) {
		mutex_unlock(&hwswap_mutex);
		seq_puts(m, "detached\n");
		return 0;
	}
	seq_printf(m, "build %016llx\n", hw->build);
	seq_printf(m, "control %llx\n", hwswap_read(hw, HWSWAP_REG_CONTROL));
	seq_printf(m, "status %llx\n", hwswap_read(hw, HWSWAP_REG_STATUS));
	hwswap_windows_show(hw, m);
	seq_printf(m, "grants %llu\n", hwswap_read(hw, HWSWAP_REG_STAT_GRANTS));
	seq_printf(m, "beats %llu\n", hwswap_read(hw, HWSWAP_REG_STAT_DMA_READ_BEATS) +
				      hwswap_read(hw, HWSWAP_REG_STAT_DMA_WRITE_BEATS));
	mutex_unlock(&hwswap_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(engine);

static int verify_show(struct seq_file *m, void *unused)
{
	int ret;

	ret = mutex_lock_interruptible(&hwswap_mutex);
	if (ret)
		return ret;
	ret = hwswap_active ? hwswap_grants_verify(m) : -ENODEV;
	mutex_unlock(&hwswap_mutex);
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
}

/* hwswap_debugfs_exit - take the files away; waits for their readers */
void hwswap_debugfs_exit(void)
{
	debugfs_remove(hwswap_dir);
}
