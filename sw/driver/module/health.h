/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_HEALTH_H
#define HWSWAP_HEALTH_H

#include "work.h"

extern const struct hwswap_workers hwswap_workers;

int hwswap_reattach(void);

#endif /* HWSWAP_HEALTH_H */
