/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_PLATFORM_H
#define HWSWAP_PLATFORM_H

#ifdef CONFIG_OF
int hwswap_platform_init(void);
void hwswap_platform_exit(void);
#else
static inline int hwswap_platform_init(void) { return 0; }
static inline void hwswap_platform_exit(void) { }
#endif

#endif /* HWSWAP_PLATFORM_H */
