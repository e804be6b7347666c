/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_ATTACH_H
#define HWSWAP_ATTACH_H

#include "hwswap.h"
#include "lock.h"

extern struct hwswap *hwswap_engine;
extern bool hwswap_is_attached;
extern unsigned int hwswap_held;

const char *hwswap_why_detached(void);
void hwswap_set_reason(const char *why);
void hwswap_forget_failures(void);
void hwswap_went_well(void);
void hwswap_try_later(void);
void hwswap_attach(void);
void hwswap_attach_anew(const char *why);
void hwswap_detach(const char *why);
void hwswap_fail(struct hwswap *hw, const char *why);

#endif /* HWSWAP_ATTACH_H */
