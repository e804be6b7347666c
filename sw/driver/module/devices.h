/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_DEVICES_H
#define HWSWAP_DEVICES_H

#include <linux/swap_grants.h>

#include "hwswap.h"

void hwswap_devices_reset(struct hwswap *hw);
bool hwswap_device(const struct swap_grants_device *dev, enum swap_grants_stage stage);
const char *hwswap_run_jobs(struct hwswap *hw);

#endif /* HWSWAP_DEVICES_H */
