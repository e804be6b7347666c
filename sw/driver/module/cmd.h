/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_CMD_H
#define HWSWAP_CMD_H

#include <linux/interrupt.h>

#include "hwswap.h"

void hwswap_cmd_reset(struct hwswap *hw);
int hwswap_cmd(struct hwswap *hw, unsigned int opcode, unsigned int type,
	       unsigned int nr, const u64 arg[3]);
int hwswap_cmd_status(struct hwswap *hw, unsigned int opcode, unsigned int type,
		      unsigned int nr, const u64 arg[3], u64 *result, unsigned int *status);
irqreturn_t hwswap_interrupt(int irq, void *data);

#endif /* HWSWAP_CMD_H */
