/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_DEBUGFS_H
#define HWSWAP_DEBUGFS_H

void hwswap_debugfs_init(void);
void hwswap_debugfs_exit(void);

#endif /* HWSWAP_DEBUGFS_H */
