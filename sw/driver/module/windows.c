// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's DMA windows: it makes no access to memory outside of them. After a
 * reset they permit nothing, and the driver opens no more than it needs: its own
 * memory, one part to be read and one to be written; and, only while the engine knows
 * swap tables, the addresses between the lowest and the highest of these.
 *
 * An engine that goes astray for want of care is stopped by that. One that lies on
 * purpose need not have windows: against that helps an IOMMU.
 */
#include <linux/sizes.h>

#include "registers.h"
#include "windows.h"

static u32 hwswap_window_reg(enum hwswap_window window, u32 reg)
{
	return HWSWAP_REG_DMA_WINDOW_BASE + window * HWSWAP_REG_DMA_WINDOW_STRIDE + reg;
}

/*
 * The limit, which permits, comes last. A window that is open already only grows, so
 * at no time does it permit more than in the end.
 */
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

	memset(hw->tables_span, 0, sizeof(hw->tables_span));
	hwswap_window_set(hw, HWSWAP_WINDOW_WRITTEN, start, start + hw->arena_written,
			  HWSWAP_DMA_WINDOW_LIMIT_WRITE);
	hwswap_window_set(hw, HWSWAP_WINDOW_READ, start + hw->arena_written, start + hw->arena.size,
			  HWSWAP_DMA_WINDOW_LIMIT_READ);
}

/**
 * hwswap_windows_add_table - let the engine read a swap table
 * @hw: the engine
 * @bus: the table's address for it
 *
 * What lies between two tables is in the window, too.
 *
 * Context: under hwswap_mutex, before the engine is given the table.
 */
void hwswap_windows_add_table(struct hwswap *hw, dma_addr_t bus)
{
	u64 start = bus, end = start + PAGE_SIZE;
	bool high = start >= SZ_4G;
	struct hwswap_span *span = &hw->tables_span[high];

	if (span->end && start >= span->start && end <= span->end)
		return;
	span->start = span->end ? min(span->start, start) : start;
	span->end = max(span->end, end);
	hwswap_window_set(hw, HWSWAP_WINDOW_TABLES_LOW + high, span->start, span->end,
			  HWSWAP_DMA_WINDOW_LIMIT_READ);
}

/**
 * hwswap_windows_no_tables - the engine knows no swap table any more
 * @hw: the engine
 *
 * Context: under hwswap_mutex.
 */
void hwswap_windows_no_tables(struct hwswap *hw)
{
	int i;

	memset(hw->tables_span, 0, sizeof(hw->tables_span));
	for (i = HWSWAP_WINDOW_TABLES_LOW; i <= HWSWAP_WINDOW_TABLES_HIGH; i++)
		hwswap_write(hw, hwswap_window_reg(i, HWSWAP_REG_DMA_WINDOW_LIMIT), 0);
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
