// SPDX-License-Identifier: GPL-2.0
/* Module parameters that are numbers between two others. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "params.h"

static int hwswap_bounds_set(const char *val, const struct kernel_param *kp)
{
	const struct hwswap_bounds *bounds = kp->arg;
	unsigned int value;

	if (!val || kstrtouint(val, 0, &value) || value < bounds->min || value > bounds->max) {
		pr_warn("parameter %s is a number from %u to %u, not %.*s: left at %u\n",
			kp->name, bounds->min, bounds->max, val ? (int)strcspn(val, "\n") : 0,
			val ?: "", *bounds->value);
		return -EINVAL;
	}
	WRITE_ONCE(*bounds->value, value);
	return 0;
}

static int hwswap_bounds_get(char *buffer, const struct kernel_param *kp)
{
	const struct hwswap_bounds *bounds = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(*bounds->value));
}

/* Of parameters that hwswap_param_bounded() makes */
const struct kernel_param_ops hwswap_bounds_ops = {
	.set = hwswap_bounds_set,
	.get = hwswap_bounds_get,
};
