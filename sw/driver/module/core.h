/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_CORE_H
#define HWSWAP_CORE_H

#include <linux/pm.h>

#include "registers.h"

/* Why a device is not to be attached, whatever the mode; bits. */
enum hwswap_hold {
	HWSWAP_HOLD_SLEEP = BIT(0),	/* the machine is suspended */
	HWSWAP_HOLD_RESET = BIT(1),	/* its bus is about to reset it, or has not finished */
	/* its bus has reported an error, and has not recovered */
	HWSWAP_HOLD_ERROR = BIT(2),
};

extern const struct dev_pm_ops hwswap_pm_ops;

int hwswap_core_add(struct device *dev, void __iomem *regs, int irq,
		    const struct hwswap_front *front, const u64 *build);
void hwswap_core_remove(struct device *dev);
void hwswap_core_reach(struct device *dev, enum hwswap_reach reach);
int hwswap_core_hold(struct device *dev, enum hwswap_hold why, const char *reason);
void hwswap_core_release(struct device *dev, enum hwswap_hold why);

#endif /* HWSWAP_CORE_H */
