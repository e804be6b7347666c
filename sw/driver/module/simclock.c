// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap_simclock: tells a simulated engine what time it is in the guest.
 *
 * A guest whose clock counts its instructions runs at another speed than the
 * simulator beside it, and never at the same speed twice. With this module the
 * guest sets the pace: on each tick it writes its time to BAR 2 of the simulated
 * device, and the engine is clocked up to that time before the write returns. No
 * part of the driver; of no use, and refused, on real hardware.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "hwswap_map.h"

#define SIMCLOCK_BAR	2
#define SIMCLOCK_MAGIC	0x53494d434c4f434bULL	/* ASCII SIMCLOCK */
#define SIMCLOCK_PATIENCE_MS	5000

static unsigned int period_us = 100;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "Microseconds of guest time between two ticks (default 100, at least 10)");

static struct pci_dev *simclock_pdev;
static void __iomem *simclock_regs;
static struct hrtimer simclock_timer;

static enum hrtimer_restart simclock_tick(struct hrtimer *timer)
{
	writeq(ktime_get_ns(), simclock_regs + HWSWAP_SIM_CONTROL_GUEST_TIME_OFFSET);
	hrtimer_forward_now(timer, us_to_ktime(period_us));
	return HRTIMER_RESTART;
}

/*
 * Early in its life a kernel has timers of one jiffy, until its clock source has
 * been found good. Ticks that far apart would pace the engine at another rate
 * than was asked for.
 */
static bool simclock_timers_are_fine(void)
{
	unsigned int ms;

	for (ms = 0; hrtimer_resolution != 1 && ms < SIMCLOCK_PATIENCE_MS; ms += 20)
		msleep(20);
	return hrtimer_resolution == 1;
}

static int __init simclock_init(void)
{
	if (period_us < 10) {
		pr_err("hwswap_simclock: period_us is %u: choose 10 or more\n", period_us);
		return -EINVAL;
	}
	if (!simclock_timers_are_fine()) {
		pr_err("hwswap_simclock: this kernel has no high-resolution timers (CONFIG_HIGH_RES_TIMERS, a good clock source)\n");
		return -ETIME;
	}
	simclock_pdev = pci_get_device(HWSWAP_PCI_ID_VENDOR, HWSWAP_PCI_ID_DEVICE, NULL);
	if (!simclock_pdev) {
		pr_err("hwswap_simclock: there is no hwswap device\n");
		return -ENODEV;
	}
	if (pci_resource_len(simclock_pdev, SIMCLOCK_BAR) >= HWSWAP_SIM_CONTROL_SIZE)
		simclock_regs = pci_iomap(simclock_pdev, SIMCLOCK_BAR, 0);
	if (!simclock_regs ||
	    readq(simclock_regs + HWSWAP_SIM_CONTROL_MAGIC_OFFSET) != SIMCLOCK_MAGIC) {
		pr_err("hwswap_simclock: the hwswap device is not a simulated one\n");
		if (simclock_regs)
			pci_iounmap(simclock_pdev, simclock_regs);
		pci_dev_put(simclock_pdev);
		return -ENODEV;
	}
	hrtimer_setup(&simclock_timer, simclock_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_start(&simclock_timer, us_to_ktime(period_us), HRTIMER_MODE_REL_HARD);
	return 0;
}

static void __exit simclock_exit(void)
{
	hrtimer_cancel(&simclock_timer);
	pci_iounmap(simclock_pdev, simclock_regs);
	pci_dev_put(simclock_pdev);
}

module_init(simclock_init);
module_exit(simclock_exit);

MODULE_DESCRIPTION("Guest time for a simulated hwswap engine");
MODULE_AUTHOR("hwswap developers <hwswap@localhost>");
MODULE_LICENSE("GPL");
