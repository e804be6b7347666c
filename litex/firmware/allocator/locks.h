/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks between harts, as the kernel splits them: one for each cluster, one for a device's lists, one for the list of
 * devices. A cluster's is taken before a device's; from a device's list a cluster is taken by trying.
 *
 * They are ticket locks, as Linux has on RISC-V without Zabha. With SWAP_HARTS 1 there are none, and the compiler
 * leaves nothing of their calls.
 */
#ifndef HWSWAP_LOCKS_H
#define HWSWAP_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#ifndef SWAP_HARTS
#define SWAP_HARTS 1 /* that allocate and free at a time */
#endif

/** enum lock_kind - the purpose of a lock */
enum lock_kind {
  LOCK_CLUSTER, /* ci->lock */
  LOCK_DEVICE,  /* si->lock */
  LOCK_LIST,    /* swap_avail_lock */
  LOCK_MEMORY,  /* of tables that no hart keeps for itself */
  LOCK_KINDS,
};

#if SWAP_HARTS > 1

#define OWN_LINE __attribute__((aligned(64))) /* a cache line that others do not write to for other reasons */

/**
 * union lock - a ticket lock
 * @turn: the number whose turn it is
 * @word: the same in its lower half; the next number to be given out in its upper half
 */
union lock {
  uint16_t turn;
  uint32_t word;
};

#define LOCK_TICKET 0x10000u

/**
 * struct hart_counts - a hart's counts, in lines of its own
 * @waited: cycles from asking for a lock to having it, where it was not to be had at once
 */
struct hart_counts {
  uint32_t waited[LOCK_KINDS];
} OWN_LINE;

extern struct hart_counts hart_counts[SWAP_HARTS];

#ifdef __riscv

static inline unsigned hart_number(void) {
  unsigned long hart;

  __asm__("csrr %0, mhartid" : "=r"(hart));
  return (unsigned)hart;
}

static inline uint32_t lock_clock(void) {
  unsigned long cycles;

  __asm__ volatile("csrr %0, mcycle" : "=r"(cycles)::"memory");
  return (uint32_t)cycles;
}

static inline void lock_rest(void) {}

#else

/* On the host, for tests: threads (host/threads.c). */
unsigned hart_number(void);
uint32_t lock_clock(void);
void lock_rest(void);

#endif

static __attribute__((noinline, unused)) void lock_wait(union lock *lock, uint16_t ticket, enum lock_kind kind) {
  const uint32_t start = lock_clock();

  while (__atomic_load_n(&lock->turn, __ATOMIC_ACQUIRE) != ticket)
    lock_rest();
  hart_counts[hart_number()].waited[kind] += lock_clock() - start;
}

static inline void lock_take(union lock *lock, enum lock_kind kind) {
  const uint32_t word = __atomic_fetch_add(&lock->word, LOCK_TICKET, __ATOMIC_ACQUIRE);

  if ((uint16_t)word != word >> 16)
    lock_wait(lock, (uint16_t)(word >> 16), kind);
}

static inline bool lock_try(union lock *lock, enum lock_kind kind) {
  uint32_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);

  (void)kind;
  return (uint16_t)word == word >> 16 &&
         __atomic_compare_exchange_n(&lock->word, &word, word + LOCK_TICKET, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void lock_drop(union lock *lock, enum lock_kind kind) {
  (void)kind;
  __atomic_store_n(&lock->turn, (uint16_t)(__atomic_load_n(&lock->turn, __ATOMIC_RELAXED) + 1), __ATOMIC_RELEASE);
}

/* Adds to a number that several harts change; returns its new value. */
static inline uint32_t count_add(uint32_t *count, uint32_t nr) {
  return __atomic_add_fetch(count, nr, __ATOMIC_RELAXED);
}

static inline uint32_t count_get(const uint32_t *count) { return __atomic_load_n(count, __ATOMIC_RELAXED); }

#else

#define OWN_LINE

union lock {};

static inline unsigned hart_number(void) { return 0; }

static inline void lock_take(union lock *lock, enum lock_kind kind) {
  (void)lock;
  (void)kind;
}

static inline bool lock_try(union lock *lock, enum lock_kind kind) {
  (void)lock;
  (void)kind;
  return true;
}

static inline void lock_drop(union lock *lock, enum lock_kind kind) {
  (void)lock;
  (void)kind;
}

static inline uint32_t count_add(uint32_t *count, uint32_t nr) { return *count += nr; }

static inline uint32_t count_get(const uint32_t *count) { return *count; }

#endif

#endif
