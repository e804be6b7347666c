// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's DMA windows: it makes no access to memory outside of them. After a
 * reset they permit nothing, and the driver opens no more than it needs: its own
 * memory, one part to be read and one to be written.
 *
 * They stop a faulty engine. Against a malicious one, which need not honour them, only an
 * IOMMU helps.
 */
#include "registers.h"
#include "windows.h"

static u32 hwswap_window_reg(enum hwswap_window window, u32 reg)
{
	return HWSWAP_REG_DMA_WINDOW_BASE + window * HWSWAP_REG_DMA_WINDOW_STRIDE + reg;
}

/* The limit, which permits, comes last. */
static void hwswap_window_set(struct hwswap *hw, enum hwswap_window window, u64 start, u64 end,
			      u64 permissions)
{
	hwswap_write(hw, hwswap_window_reg(window, HWSWAP_REG_DMA_WINDOW_START), start);
	hwswap_write(hw, hwswap_window_reg(window, HWSWAP_REG_DMA_WINDOW_LIMIT),
		     end | permissions);
}

/**
 * hwswap_windows_open - let the engine reach the driver's own memory
 * @hw: the engine, reset: no window permits anything
 */
void hwswap_windows_open(struct hwswap *hw)
{
	u64 start = hw->arena.bus;

	hwswap_window_set(hw, HWSWAP_WINDOW_WRITTEN, start, start + hw->arena_written,
			  HWSWAP_DMA_WINDOW_LIMIT_WRITE);
	hwswap_window_set(hw, HWSWAP_WINDOW_READ, start + hw->arena_written, start + hw->arena.size,
			  HWSWAP_DMA_WINDOW_LIMIT_READ);
}

/**
 * hwswap_windows_show - print each window as the engine has it
 * @hw: the engine
 * @m: where to
 */
void hwswap_windows_show(const struct hwswap *hw, struct seq_file *m)
{
	u64 start, limit;
	int i;

	for (i = 0; i < HWSWAP_REG_DMA_WINDOW_COUNT; i++) {
		start = hwswap_read(hw, hwswap_window_reg(i, HWSWAP_REG_DMA_WINDOW_START));
		limit = hwswap_read(hw, hwswap_window_reg(i, HWSWAP_REG_DMA_WINDOW_LIMIT));
		seq_printf(m, "window%d %llx-%llx read %u write %u\n", i, start,
			   limit & HWSWAP_DMA_WINDOW_LIMIT_ADDR,
			   !!(limit & HWSWAP_DMA_WINDOW_LIMIT_READ),
			   !!(limit & HWSWAP_DMA_WINDOW_LIMIT_WRITE));
	}
}
