// SPDX-License-Identifier: GPL-2.0
/*
 * The mode: what the engine is used for can change while it is attached. So it is not
 * where it is made use of: a change has to be carried out, and can fail.
 */
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "attach.h"
#include "hooks.h"
#include "lock.h"

static const char *const hwswap_mode_names[] = {
	[HWSWAP_OFF] = "off",
	[HWSWAP_HINT] = "hint",
	[HWSWAP_SCAN] = "scan",
};

/* To another mode in which it is attached; under hwswap_mutex. */
static void hwswap_follow(void)
{
	const char *why;

	hwswap_check_tables(hwswap_engine);
	why = hwswap_hooks_follow(hwswap_engine);
	if (why)
		hwswap_fail(hwswap_engine, why);
}

static int hwswap_mode_set(const char *val, const struct kernel_param *kp)
{
	int mode = sysfs_match_string(hwswap_mode_names, val);

	if (mode < 0) {
		pr_warn("mode is off, hint or scan\n");
		return mode;
	}
	mutex_lock(&hwswap_mutex);
	WRITE_ONCE(hwswap_mode, mode);
	if (mode == HWSWAP_OFF) {
		if (hwswap_engine)
			hwswap_detach("mode is off");
	} else {
		hwswap_forget_failures();
		if (hwswap_is_attached)
			hwswap_follow();
		else
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
MODULE_PARM_DESC(mode, "off (default), hint: the engine's grants say where searches begin, scan: it also searches swap tables");
