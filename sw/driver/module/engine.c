// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's registers: which engine it is, its reset, what it is told before it
 * runs, its interrupt, and how it is kept from memory.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "engine.h"
#include "registers.h"
#include "windows.h"
#include "work.h"

#define HWSWAP_RESET_MS		2000

/**
 * hwswap_identify - see that there is an engine of a known kind
 * @hw: the engine; its sizes are filled in
 * @retry: whether the trouble may pass
 *
 * Return: NULL if so, else why not.
 */
const char *hwswap_identify(struct hwswap *hw, bool *retry)
{
	u64 id = hwswap_read(hw, HWSWAP_REG_ID);
	u64 version = hwswap_read(hw, HWSWAP_REG_VERSION);
	u64 caps = hwswap_read(hw, HWSWAP_REG_CAPS);
	u64 build = hwswap_read(hw, HWSWAP_REG_BUILD);

	*retry = true;
	/* Once more: the device may have gone in between, and its answers mean nothing. */
	if (id == ~0ULL || hwswap_read(hw, HWSWAP_REG_ID) == ~0ULL)
		return "its registers read all ones: it is gone, or in reset";
	*retry = false;
	if (FIELD_GET(HWSWAP_ID_MAGIC, id) != HWSWAP_ID_MAGIC_RESET)
		return "register ID does not say HWSWAP: this is no hwswap engine";
	if (FIELD_GET(HWSWAP_VERSION_MAJOR, version) != HWSWAP_VERSION_MAJOR_RESET) {
		dev_warn(hw->dev, "the engine has interface version %llu, this driver knows %llu: use the driver that belongs to it\n",
			 FIELD_GET(HWSWAP_VERSION_MAJOR, version), HWSWAP_VERSION_MAJOR_RESET);
		return "it has another interface version";
	}
	if (!(caps & HWSWAP_CAPS_GRANTS))
		return "it was built without grants";
	hw->build = build;
	if (hw->build_known && hw->build != hw->build_wanted)
		return "it is another engine now, by its BUILD: bind the driver anew to use it";
	/* Its rings have the sizes that these capabilities ask for, and cannot grow. */
	if (hw->pinned && hw->caps != caps)
		return "it is another engine now, by its CAPS: bind the driver anew to use it";
	*retry = true;
	hw->caps = caps;
	hw->devices = min(FIELD_GET(HWSWAP_CAPS_DEVICES, caps), HWSWAP_MAX_TYPES);
	hw->cpus = FIELD_GET(HWSWAP_CAPS_CPUS, caps);
	hw->clusters = FIELD_GET(HWSWAP_CAPS_CLUSTERS, caps);
	hw->grant_log2 = FIELD_GET(HWSWAP_GRANT_STATE_RING_LOG2,
				   hwswap_read(hw, HWSWAP_REG_GRANT_STATE));
	if (!hw->devices || !hw->cpus || !hw->clusters ||
	    hw->clusters > HWSWAP_REG_GRANT_CHUNK_COUNT * HWSWAP_CHUNK ||
	    !hw->grant_log2 || hw->grant_log2 > 6 ||
	    FIELD_GET(HWSWAP_CAPS_ORDERS, caps) != HWSWAP_ORDERS) {
		return "its capabilities make no sense";
	}
	if (nr_cpu_ids > hw->cpus) {
		dev_warn(hw->dev, "the engine was built for %u CPUs, this machine can have %u: build it with more (CPUS=), or boot with nr_cpus=%u\n",
			 hw->cpus, nr_cpu_ids, hw->cpus);
		*retry = false;
		return "it was built for fewer CPUs";
	}
	return NULL;
}

/**
 * hwswap_pin - from now on it is this engine or none: memory was allocated for it
 * @hw: the engine, identified
 */
void hwswap_pin(struct hwswap *hw)
{
	hw->pinned = true;
	hw->build_wanted = hw->build;
	hw->build_known = true;
}

/**
 * hwswap_bus_master - let the engine use DMA, or stop it where the bus can do that
 * @hw: the engine
 * @on: whether it may
 */
void hwswap_bus_master(struct hwswap *hw, bool on)
{
	if (hw->front->bus_master && hwswap_reachable(hw))
		hw->front->bus_master(hw->dev, on);
}

/*
 * A reset gives up waiting for a bus that does not answer, and says so: what it had
 * asked for before may still be under way to memory.
 */
static bool hwswap_in_reset(struct hwswap *hw)
{
	return hwswap_read(hw, HWSWAP_REG_CONTROL) & HWSWAP_CONTROL_RESET ||
	       hwswap_read(hw, HWSWAP_REG_STATUS) & HWSWAP_STATUS_BUS_OWED;
}

/**
 * hwswap_reset - reset the engine, and wait for the end of it
 * @hw: the engine
 *
 * After that nothing of it is under way to memory.
 *
 * Return: NULL, or why that is not so.
 */
const char *hwswap_reset(struct hwswap *hw)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(HWSWAP_RESET_MS);
	unsigned int looks = 0;

	hwswap_write(hw, HWSWAP_REG_CONTROL, HWSWAP_CONTROL_RESET);
	do {
		if (hwswap_read(hw, HWSWAP_REG_CONTROL) == ~0ULL)
			return "its registers read all ones: it is gone, or in reset";
		if (!hwswap_in_reset(hw))
			return NULL;
		usleep_range(50, 200);
	} while (time_before(jiffies, deadline) || ++looks < 1000);
	if (hwswap_read(hw, HWSWAP_REG_CONTROL) & HWSWAP_CONTROL_RESET)
		return "its reset does not end";
	return "the bus still owes it answers from before its reset";
}

/**
 * hwswap_program - tell the engine where everything is, and let it run
 * @hw: the engine, reset
 */
void hwswap_program(struct hwswap *hw)
{
	hw->programmed = true;
	/* Before anything that could start DMA. */
	hwswap_windows_open(hw);
	hwswap_write(hw, HWSWAP_REG_IRQ_STATUS, ~0ULL);
	hwswap_write(hw, HWSWAP_REG_IRQ_ENABLE, hw->irq ? HWSWAP_IRQ_ENABLE_ERROR : 0);
	hwswap_write(hw, HWSWAP_REG_CONTROL, HWSWAP_CONTROL_ENABLE);
}

/**
 * hwswap_interrupt - the engine has stopped
 * @irq: number of the interrupt
 * @data: the struct hwswap
 *
 * Return: whether it was the engine's.
 */
irqreturn_t hwswap_interrupt(int irq, void *data)
{
	struct hwswap *hw = data;
	u64 status = hwswap_read(hw, HWSWAP_REG_IRQ_STATUS);

	if (!status || status == ~0ULL)
		return IRQ_NONE;
	hwswap_write(hw, HWSWAP_REG_IRQ_STATUS, status);
	/* The line must be low before the interrupt controller looks at it again. */
	if (hw->front->on_chip)
		hwswap_read(hw, HWSWAP_REG_IRQ_STATUS);
	if (status & HWSWAP_IRQ_STATUS_ERROR)
		hwswap_doubt(hw, "it has stopped with an error");
	return IRQ_HANDLED;
}

/**
 * hwswap_is_quiet - is nothing of the engine's under way to memory any more?
 * @hw: the engine, stopped
 *
 * A reset ends when the last transfer has. Where bus mastering is what stops the engine,
 * it has been stopped, but for one whose bus was frozen first.
 *
 * Return: true if so.
 */
bool hwswap_is_quiet(struct hwswap *hw)
{
	if (!hw->programmed)
		return true;
	if (hw->front->bus_master)
		return READ_ONCE(hw->reach) != HWSWAP_FROZEN;
	return !hwswap_reset(hw);
}

/**
 * hwswap_stop - stop the engine
 * @hw: the engine; it may be dead, so nothing is expected of it
 */
void hwswap_stop(struct hwswap *hw)
{
	hwswap_write(hw, HWSWAP_REG_IRQ_ENABLE, 0);
	hwswap_write(hw, HWSWAP_REG_CONTROL, 0);
	hwswap_write(hw, HWSWAP_REG_CONTROL, HWSWAP_CONTROL_RESET);
	/* The read brings the writes to the device, or shows that it is gone. */
	hwswap_read(hw, HWSWAP_REG_CONTROL);
	hwswap_bus_master(hw, false);
	/* When this is answered, all that it sent before has arrived. */
	hwswap_read(hw, HWSWAP_REG_CONTROL);
}

/**
 * hwswap_trouble - why is the engine no longer trusted?
 * @hw: the engine
 *
 * A refused DMA access tells the most, so it comes first.
 *
 * Return: why, or NULL.
 */
const char *hwswap_trouble(struct hwswap *hw)
{
	u64 status = hwswap_read(hw, HWSWAP_REG_STATUS), refused;

	if (status == ~0ULL || !(status & HWSWAP_STATUS_DMA_REFUSED))
		return READ_ONCE(hw->doubt);
	refused = hwswap_read(hw, HWSWAP_REG_DMA_REFUSED);
	/* Each attempt to attach it may end like that. */
	if (refused != hw->refused)
		dev_warn(hw->dev, "its DMA %s at bus address %#llx was refused: that is in none of its windows\n",
			 refused & HWSWAP_DMA_REFUSED_WRITE ? "write" : "read",
			 refused & HWSWAP_DMA_REFUSED_ADDR);
	hw->refused = refused;
	return "it wanted to use memory that it was not given";
}
