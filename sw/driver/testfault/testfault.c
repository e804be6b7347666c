// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap_testfault - does one thing that no kernel code may do
 *
 * For a kernel with the checks of kernel-debug.config or kernel-races.config:
 * it has to complain, or its silence says nothing about anything else that ran
 * on it. Loading the module with fault=NAME does it; without a name, or with
 * one that it does not know, it is not loaded.
 */
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmdebug.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "what to do wrong: one of the names in the source");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

/* By WRITE_ONCE() and READ_ONCE() alone: then the compiler cannot follow what is in it. */
static char *hidden;

static void lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void sleep_in_atomic(void)
{
	spin_lock(&spin);
	mutex_lock(&first);
	mutex_unlock(&first);
	spin_unlock(&spin);
}

static void use_after_free(void)
{
	WRITE_ONCE(hidden, kmalloc(64, GFP_KERNEL));
	kfree(READ_ONCE(hidden));
	READ_ONCE(*READ_ONCE(hidden));
}

static void out_of_bounds(void)
{
	/* Within the page: past it lies one without memory, and the kernel would go no further. */
	WRITE_ONCE(hidden, vmalloc(PAGE_SIZE / 2));
	if (READ_ONCE(hidden))
		READ_ONCE(READ_ONCE(hidden)[PAGE_SIZE / 2]);
	vfree(READ_ONCE(hidden));
}

static void past_row(void)
{
	static char rows[2][4];
	unsigned int column = sizeof(rows[0]) + 1;

	/* In the other row, so that no other check has a word to say. */
	OPTIMIZER_HIDE_VAR(column);
	WRITE_ONCE(hidden, &rows[0][column]);
	READ_ONCE(rows[0][column]);
}

static void page_dump(void)
{
	struct page *page = alloc_page(GFP_KERNEL);

	if (page) {
		VM_WARN_ON_ONCE_PAGE(!PageLocked(page), page);
		__free_page(page);
	}
}

static void warning(void)
{
	WARN(1, "as asked for\n");
}

static void leak(void)
{
	int i;

	/* Many, as a stray word may look like a reference to one of them. */
	for (i = 0; i < 64; i++)
		WRITE_ONCE(hidden, kmalloc(1024, GFP_KERNEL));
	WRITE_ONCE(hidden, NULL);
}

static unsigned int raced;

static int race_for_a_second(void *unused)
{
	unsigned long end = jiffies + HZ;

	while (time_before(jiffies, end)) {
		raced++;
		barrier();	/* each time, not once after the loop */
		cond_resched();
	}
	while (unused && !kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void two_writers(void)
{
	struct task_struct *other = kthread_run(race_for_a_second, &raced, "testfault");

	race_for_a_second(NULL);
	if (!IS_ERR(other))
		kthread_stop(other);
}

static const struct {
	const char *name;
	void (*commit)(void);
} faults[] = {
	{ "lock_order", lock_order },
	{ "sleep_in_atomic", sleep_in_atomic },
	{ "use_after_free", use_after_free },
	{ "out_of_bounds", out_of_bounds },
	{ "past_row", past_row },
	{ "page_dump", page_dump },
	{ "warning", warning },
	{ "leak", leak },
	{ "two_writers", two_writers },
};

static int __init testfault_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(fault, faults[i].name))
			continue;
		faults[i].commit();
		return 0;
	}
	pr_err("hwswap_testfault: no fault is called \"%s\"\n", fault);
	return -EINVAL;
}

static void __exit testfault_exit(void)
{
}

module_init(testfault_init);
module_exit(testfault_exit);

MODULE_DESCRIPTION("Faults that a kernel with checks has to complain of");
MODULE_LICENSE("GPL");
