// SPDX-License-Identifier: GPL-2.0
/* The mode: whether the engine is used. It can change at any time. */
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "attach.h"
#include "lock.h"

static const char *const hwswap_mode_names[] = {
	[HWSWAP_OFF] = "off",
	[HWSWAP_HINT] = "hint",
};

static int hwswap_mode_set(const char *val, const struct kernel_param *kp)
{
	int mode = sysfs_match_string(hwswap_mode_names, val);

	if (mode < 0) {
		pr_warn("mode is off or hint\n");
		return mode;
	}
	mutex_lock(&hwswap_mutex);
	WRITE_ONCE(hwswap_mode, mode);
	if (mode == HWSWAP_OFF) {
		if (hwswap_engine)
			hwswap_detach("mode is off");
	} else {
		hwswap_forget_failures();
		if (!hwswap_is_attached)
			hwswap_attach_anew("the mode has changed");
	}
	mutex_unlock(&hwswap_mutex);
	return 0;
}

static int hwswap_mode_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", hwswap_mode_names[READ_ONCE(hwswap_mode)]);
}

static const struct kernel_param_ops hwswap_mode_ops = {
	.set = hwswap_mode_set,
	.get = hwswap_mode_get,
};

module_param_cb(mode, &hwswap_mode_ops, NULL, 0644);
MODULE_PARM_DESC(mode, "off (default), hint: the engine's grants say where searches begin");
