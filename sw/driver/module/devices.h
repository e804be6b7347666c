/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_DEVICES_H
#define HWSWAP_DEVICES_H

#include <linux/swap_offload.h>

#include "hwswap.h"

void hwswap_devices_reset(struct hwswap *hw);
void hwswap_device_on(const struct swap_offload_device *dev);
void hwswap_device_off(unsigned int type, enum swap_offload_off stage);
int hwswap_run_jobs(struct hwswap *hw);

#endif /* HWSWAP_DEVICES_H */
