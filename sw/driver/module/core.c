// SPDX-License-Identifier: GPL-2.0
/* Calls of the front ends: an engine was found, has gone, must not be touched. */
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/pm.h>
#include <linux/slab.h>

#include "arena.h"
#include "attach.h"
#include "core.h"
#include "engine.h"
#include "lock.h"
#include "registers.h"
#include "work.h"

/* Is this the build that the front end was told of? */
static int hwswap_check_build(struct hwswap *hw)
{
	u64 id = hwswap_read(hw, HWSWAP_REG_ID);
	u64 build;

	if (FIELD_GET(HWSWAP_ID_MAGIC, id) != HWSWAP_ID_MAGIC_RESET) {
		dev_err(hw->dev, "there is no hwswap engine where the device tree says (its register ID reads %016llx): flash the bitstream that belongs to this device tree, or boot the device tree of the bitstream that is flashed\n",
			id);
		return -ENODEV;
	}
	build = hwswap_read(hw, HWSWAP_REG_BUILD);
	if (build != hw->build_wanted) {
		dev_err(hw->dev, "the engine is build %016llx, the device tree belongs to build %016llx: flash the bitstream that belongs to this device tree, or boot the device tree of the bitstream that is flashed\n",
			build, hw->build_wanted);
		return -ENODEV;
	}
	return 0;
}

/**
 * hwswap_core_add - a front end has found an engine
 * @dev: its device
 * @regs: its registers, HWSWAP_BAR_SIZE bytes
 * @irq: its interrupt; 0 or an error number: none, poll
 * @front: properties of the bus
 * @build: the value that register BUILD must have, or NULL for any
 *
 * An engine that cannot be attached now is kept, its device may recover.
 *
 * Return: 0, -EBUSY when there is an engine already, -ENODEV when it is not the
 * build asked for, or another error.
 */
int hwswap_core_add(struct device *dev, void __iomem *regs, int irq,
		    const struct hwswap_front *front, const u64 *build)
{
	struct hwswap *hw = kzalloc_obj(*hw, GFP_KERNEL);
	int ret = 0;

	if (!hw)
		return -ENOMEM;
	hw->dev = dev;
	hw->regs = regs;
	hw->front = front;
	INIT_LIST_HEAD(&hw->jobs);
	if (build) {
		hw->build_wanted = *build;
		hw->build_known = true;
		ret = hwswap_check_build(hw);
		if (ret)
			goto free;
	}
	if (irq > 0) {
		ret = request_irq(irq, hwswap_interrupt, 0, "hwswap", hw);
		if (ret)
			dev_warn(dev, "no interrupt (%d): its state is polled\n", ret);
		else
			hw->irq = irq;
	}

	mutex_lock(&hwswap_mutex);
	if (hwswap_engine) {
		dev_warn(dev, "there is an engine already (%s): this one is not used\n",
			 dev_name(hwswap_engine->dev));
		ret = -EBUSY;
	} else {
		hwswap_engine = hw;
		dev_set_drvdata(dev, hw);
		hwswap_set_reason("mode is off");
		hwswap_forget_failures();
		hwswap_attach();
		ret = 0;
	}
	mutex_unlock(&hwswap_mutex);
	if (!ret)
		return 0;
	if (hw->irq)
		free_irq(hw->irq, hw);
free:
	kfree(hw);
	return ret;
}

/**
 * hwswap_core_remove - the engine's device goes
 * @dev: its device
 *
 * When this returns the core uses nothing of it any more.
 */
void hwswap_core_remove(struct device *dev)
{
	struct hwswap *hw;

	mutex_lock(&hwswap_mutex);
	hw = hwswap_engine;
	if (!hw || hw->dev != dev) {
		mutex_unlock(&hwswap_mutex);
		return;
	}
	hwswap_detach("the engine's device was removed");
	if (hw->irq)
		free_irq(hw->irq, hw);
	hwswap_engine = NULL;
	dev_set_drvdata(dev, NULL);
	hwswap_held = 0;
	mutex_unlock(&hwswap_mutex);

	/* Workers look at hwswap_engine under the mutex, so they do nothing now. */
	hwswap_work_cancel();
	hwswap_bus_master(hw, false);
	if (hwswap_is_quiet(hw))
		hwswap_arena_free(hw);
	else
		dev_err(dev, "%s, so it may still write to memory: its rings stay allocated\n",
			hwswap_reachable(hw) ? "its reset does not end" : "its bus is frozen");
	kfree(hw);
}

/**
 * hwswap_core_reach - say whether registers and configuration may be touched
 * @dev: its device, locked, so that it neither comes nor goes meanwhile
 * @reach: from now on
 *
 * A waiter for the engine reads all ones from the next register and gives up, so
 * hwswap_core_hold() does not wait for it long.
 *
 * Context: any.
 */
void hwswap_core_reach(struct device *dev, enum hwswap_reach reach)
{
	struct hwswap *hw = dev_get_drvdata(dev);

	if (hw)
		WRITE_ONCE(hw->reach, reach);
}

/**
 * hwswap_core_hold - take an engine out, and do not attach it till it is released
 * @dev: its device
 * @why: which release ends it
 * @reason: completes the sentence "detached: ..."
 *
 * Context: process context, sleeps.
 * Return: 0; -EBUSY, and it is not held, when it may still write to memory. One that cannot
 * be reached is held whatever it does.
 */
int hwswap_core_hold(struct device *dev, enum hwswap_hold why, const char *reason)
{
	struct hwswap *hw;
	int ret = 0;

	mutex_lock(&hwswap_mutex);
	hw = hwswap_engine;
	if (hw && hw->dev == dev) {
		if (hwswap_is_attached)
			dev_info(dev, "detached: %s; software goes on meanwhile\n", reason);
		hwswap_held |= why;
		hwswap_detach(reason);
		if (hwswap_reachable(hw) && !hwswap_is_quiet(hw)) {
			hwswap_held &= ~why;
			hwswap_set_reason("its reset does not end");
			hwswap_try_later();
			ret = -EBUSY;
		}
	}
	mutex_unlock(&hwswap_mutex);
	return ret;
}

/**
 * hwswap_core_release - an engine that was held can be attached again
 * @dev: its device
 * @why: what it was held for
 *
 * Context: process context, sleeps.
 */
void hwswap_core_release(struct device *dev, enum hwswap_hold why)
{
	mutex_lock(&hwswap_mutex);
	if (hwswap_engine && hwswap_engine->dev == dev) {
		hwswap_held &= ~why;
		if (hwswap_mode == HWSWAP_OFF)
			hwswap_set_reason("mode is off");
		hwswap_forget_failures();
		hwswap_attach();
	}
	mutex_unlock(&hwswap_mutex);
}

static int hwswap_suspend(struct device *dev)
{
	int ret = hwswap_core_hold(dev, HWSWAP_HOLD_SLEEP, "it is suspended");

	if (ret)
		dev_err(dev, "not suspended: its reset does not end, so it may still write to memory\n");
	return ret;
}

static int hwswap_resume(struct device *dev)
{
	hwswap_core_release(dev, HWSWAP_HOLD_SLEEP);
	return 0;
}

/* While the machine sleeps there is no engine; after that it learns all anew. */
DEFINE_SIMPLE_DEV_PM_OPS(hwswap_pm_ops, hwswap_suspend, hwswap_resume);
