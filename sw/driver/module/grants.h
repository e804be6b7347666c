/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_GRANTS_H
#define HWSWAP_GRANTS_H

#include <linux/errno.h>
#include <linux/seq_file.h>

#include "hwswap.h"

#ifdef CONFIG_SWAP_GRANTS
const char *hwswap_grants_start(struct hwswap *hw);
void hwswap_grants_stop(struct hwswap *hw);
int hwswap_grants_verify(struct hwswap *hw, struct seq_file *m);
void hwswap_grants_show(struct seq_file *m);
void hwswap_grants_free(struct hwswap *hw);
#else
static inline const char *hwswap_grants_start(struct hwswap *hw)
{
	return "the kernel was built without CONFIG_SWAP_GRANTS";
}

static inline void hwswap_grants_stop(struct hwswap *hw)
{
}

static inline int hwswap_grants_verify(struct hwswap *hw, struct seq_file *m)
{
	return -EOPNOTSUPP;
}

static inline void hwswap_grants_show(struct seq_file *m)
{
}

static inline void hwswap_grants_free(struct hwswap *hw)
{
}
#endif

#endif /* HWSWAP_GRANTS_H */
