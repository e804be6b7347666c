// SPDX-License-Identifier: GPL-2.0
/*
 * The mode, and the parameters of mode trusted: what the engine is used for can
 * change while it is attached. So these are not where they are made use of: a change
 * has to be carried out, and can fail.
 */
#include <linux/moduleparam.h>
#include <linux/security.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "attach.h"
#include "hooks.h"
#include "lock.h"
#include "params.h"
#include "trusted.h"

/* Under hwswap_mutex, attached. */
static void hwswap_follow(void)
{
	const char *why = hwswap_hooks_follow(hwswap_engine);

	if (why)
		hwswap_fail(hwswap_engine, why);
}

/* A parameter of mode trusted has changed. */
static void hwswap_trusted_changed(void)
{
	hwswap_lock();
	if (hwswap_is_attached)
		hwswap_follow();
	hwswap_unlock();
}

static int hwswap_verify_set(const char *val, const struct kernel_param *kp)
{
	int ret = param_set_bool(val, kp);

	if (!ret)
		hwswap_trusted_changed();
	return ret;
}

static const struct kernel_param_ops hwswap_verify_ops = {
	.set = hwswap_verify_set,
	.get = param_get_bool,
};

hwswap_param_bounded(trusted_min_order, hwswap_trusted_min_order, 0, HWSWAP_ORDERS,
		     hwswap_trusted_changed, 0644);
MODULE_PARM_DESC(trusted_min_order, "Mode trusted: the engine writes the entries of folios from this order on; 10: of none (default 9)");
module_param_cb(trusted_verify, &hwswap_verify_ops, &hwswap_trusted_verify, 0644);
MODULE_PARM_DESC(trusted_verify, "Mode trusted: look at each entry that it has written (default y)");

static int hwswap_mode_set(const char *val, const struct kernel_param *kp)
{
	int mode = sysfs_match_string(hwswap_mode_names, val);
	bool shadow = mode == HWSWAP_SHADOW;

	if (mode < 0) {
		pr_warn("mode is off, shadow, hint, scan or trusted\n");
		return mode;
	}
	/* The kernel's memory is not a device's to write to where it is locked down. */
	if (mode == HWSWAP_TRUSTED && security_locked_down(LOCKDOWN_MODULE_PARAMETERS)) {
		pr_warn("hwswap: mode trusted is refused: this kernel is locked down, and a device would write to its tables\n");
		return -EPERM;
	}
	hwswap_lock();
	WRITE_ONCE(hwswap_mode, mode);
	if (mode == HWSWAP_OFF) {
		if (hwswap_engine)
			hwswap_detach("mode is off");
	} else {
		hwswap_forget_failures();
		/* Grants are registered to steer or to be counted; all else can change. */
		if (hwswap_is_attached && hwswap_engine->shadow == shadow) {
			hwswap_check_tables(hwswap_engine);
			hwswap_follow();
		} else {
			hwswap_attach_anew("the mode has changed");
		}
	}
	hwswap_unlock();
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
MODULE_PARM_DESC(mode, "off (default), shadow: software chooses, and what the engine's grants would have done is counted, hint: grants say where searches begin, scan: the engine also searches swap tables and chooses readahead, trusted: it also writes to them");
