/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_WINDOWS_H
#define HWSWAP_WINDOWS_H

#include <linux/seq_file.h>

#include "hwswap.h"

/** enum hwswap_window - what each DMA window of the engine is for */
enum hwswap_window {
	HWSWAP_WINDOW_WRITTEN,	/* the driver's own memory that it writes */
	HWSWAP_WINDOW_READ,	/* that it reads */
};

static_assert(HWSWAP_WINDOW_READ < HWSWAP_REG_DMA_WINDOW_COUNT);

void hwswap_windows_open(struct hwswap *hw);
void hwswap_windows_show(const struct hwswap *hw, struct seq_file *m);

#endif /* HWSWAP_WINDOWS_H */
