/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_REGISTERS_H
#define HWSWAP_REGISTERS_H

#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-hi-lo.h>

#include "hwswap.h"

/* Properties of a bus. */
struct hwswap_front {
	/*
	 * the bus of a system on chip: it may be 32 bits wide, see hwswap_read() and
	 * hwswap_write()
	 */
	bool on_chip;
	/*
	 * let the device use DMA, or stop it; NULL where nothing can, and only the end of the
	 * engine's reset says that no transfer is under way
	 */
	void (*bus_master)(struct device *dev, bool on);
};

/**
 * hwswap_reachable - may registers and configuration be touched?
 * @hw: the engine
 *
 * Return: true if so.
 */
static inline bool hwswap_reachable(const struct hwswap *hw)
{
	return READ_ONCE(hw->reach) == HWSWAP_REACHABLE;
}

/**
 * hwswap_read - read a register
 * @hw: the engine
 * @reg: HWSWAP_REG_*
 *
 * One access where the bus carries 64 bits. A narrower one would split it into
 * two, between which a counter can carry from one half into the other: they are
 * read here so that this shows. Ordered like readq().
 *
 * Return: all 64 bits; all ones, as of a device that is gone, where it may not be touched.
 */
static inline u64 hwswap_read(const struct hwswap *hw, u32 reg)
{
	void __iomem *addr = hw->regs + reg;
	u32 low, high, again;

	if (!hwswap_reachable(hw))
		return ~0ULL;
	if (!hw->front->on_chip)
		return readq(addr);
	high = readl(addr + 4);
	low = readl(addr);
	again = readl(addr + 4);
	if (again != high)
		low = readl(addr);
	return (u64)again << 32 | low;
}

/**
 * hwswap_write - write a register
 * @hw: the engine
 * @reg: HWSWAP_REG_*
 * @value: all 64 bits
 *
 * A register that starts something does so on the write that touches its lowest
 * byte, so of two halves the upper one goes first; a 32-bit bus that splits a
 * 64-bit access begins with the lower one. Ordered like writeq(): after all that
 * was written to memory before it. Nothing is written where it may not be touched.
 */
static inline void hwswap_write(const struct hwswap *hw, u32 reg, u64 value)
{
	if (!hwswap_reachable(hw))
		return;
	if (hw->front->on_chip)
		hi_lo_writeq(value, hw->regs + reg);
	else
		writeq(value, hw->regs + reg);
}

#endif /* HWSWAP_REGISTERS_H */
