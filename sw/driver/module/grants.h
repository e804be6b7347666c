/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_GRANTS_H
#define HWSWAP_GRANTS_H

#include <linux/seq_file.h>

#include "hwswap.h"

const char *hwswap_grants_start(struct hwswap *hw);
void hwswap_grants_stop(void);
bool hwswap_grants_refused(void);
int hwswap_grants_verify(struct seq_file *m);

#endif /* HWSWAP_GRANTS_H */
