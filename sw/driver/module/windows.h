/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_WINDOWS_H
#define HWSWAP_WINDOWS_H

#include <linux/seq_file.h>

#include "hwswap.h"

/** enum hwswap_window - what each DMA window of the engine is for */
enum hwswap_window {
	HWSWAP_WINDOW_WRITTEN,		/* the driver's own memory that it writes */
	HWSWAP_WINDOW_READ,		/* that it reads */
	HWSWAP_WINDOW_TABLES_LOW,	/* swap tables that it was given, below 4 GiB */
	HWSWAP_WINDOW_TABLES_HIGH,	/* and above: what lies between is not memory */
};

static_assert(HWSWAP_WINDOW_TABLES_HIGH < HWSWAP_REG_DMA_WINDOW_COUNT);

void hwswap_windows_open(struct hwswap *hw);
void hwswap_windows_add_table(struct hwswap *hw, dma_addr_t bus);
void hwswap_windows_no_tables(struct hwswap *hw);
void hwswap_windows_show(const struct hwswap *hw, struct seq_file *m);

#endif /* HWSWAP_WINDOWS_H */
