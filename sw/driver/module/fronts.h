/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_FRONTS_H
#define HWSWAP_FRONTS_H

#ifdef CONFIG_PCI
int hwswap_pci_init(void);
void hwswap_pci_exit(void);
#else
static inline int hwswap_pci_init(void) { return 0; }
static inline void hwswap_pci_exit(void) { }
#endif

#ifdef CONFIG_OF
int hwswap_platform_init(void);
void hwswap_platform_exit(void);
#else
static inline int hwswap_platform_init(void) { return 0; }
static inline void hwswap_platform_exit(void) { }
#endif

#endif /* HWSWAP_FRONTS_H */
