/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_VERIFY_H
#define HWSWAP_VERIFY_H

#include <linux/seq_file.h>

#include "hwswap.h"

int hwswap_verify(struct hwswap *hw, struct seq_file *m);

#endif /* HWSWAP_VERIFY_H */
