/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_ENGINE_H
#define HWSWAP_ENGINE_H

#include <linux/interrupt.h>

#include "hwswap.h"

const char *hwswap_identify(struct hwswap *hw, bool *retry);
void hwswap_pin(struct hwswap *hw);
const char *hwswap_reset(struct hwswap *hw);
void hwswap_bus_master(struct hwswap *hw, bool on);
void hwswap_program(struct hwswap *hw);
irqreturn_t hwswap_interrupt(int irq, void *data);
bool hwswap_is_quiet(struct hwswap *hw);
void hwswap_stop(struct hwswap *hw);
const char *hwswap_trouble(struct hwswap *hw);

#endif /* HWSWAP_ENGINE_H */
