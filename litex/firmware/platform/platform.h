/* SPDX-License-Identifier: Apache-2.0 */
/* The SoC under a bare-metal program: console, cycle counter, memory, barriers. Addresses come from LiteX's exports. */
#ifndef HWSWAP_PLATFORM_H
#define HWSWAP_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSR_ACCESSORS_DEFINED

static inline void csr_write_simple(unsigned long value, unsigned long address) {
  *(volatile uint32_t *)address = (uint32_t)value;
}

static inline unsigned long csr_read_simple(unsigned long address) { return *(volatile uint32_t *)address; }

#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>

/* Console. A line is one call of print_end() after any of the others. */
void print(const char *text);
void print_number(uint64_t number);
void print_hex(uint64_t number);
void print_end(void);

/* The lines a reader looks for: a JSON object's members are written one by one. */
void json_begin(void);
void json_text(const char *name, const char *value);
void json_number(const char *name, uint64_t value);
void json_hex(const char *name, uint64_t value);
void json_end(void);

/* Says that the program has ended, 0: well; and stays here. */
_Noreturn void done(unsigned status);

/* Ends the program with a sentence about the error. */
_Noreturn void fail(const char *sentence);

/*
 * CPU cycles, modulo 2^32. VexRiscv's own counter is not in every variant, so there it is LiteX's timer, which counts
 * the CPU's clock.
 */
static inline uint32_t cycles_now(void) {
#if defined(CONFIG_CPU_TYPE_ROCKET) || defined(CONFIG_CPU_TYPE_ROCKET4)
  unsigned long cycles;

  __asm__ volatile("csrr %0, mcycle" : "=r"(cycles)::"memory");
  return (uint32_t)cycles;
#else
  timer0_uptime_latch_write(1);
  return (uint32_t)timer0_uptime_cycles_read();
#endif
}

/*
 * Barriers between accesses to memory that the engine shares, and to its registers. VexRiscv makes accesses to uncached
 * memory one after another, in the program's order: the compiler is all there is to hold back.
 */
#if HWSWAP_DMA_COHERENT
#define fence(before, after) __asm__ volatile("fence " #before ", " #after ::: "memory")
#else
#define fence(before, after) __asm__ volatile("" ::: "memory")
#endif

static inline void barrier_read(void) { fence(ir, ir); }
static inline void barrier_write(void) { fence(ow, ow); }
static inline void barrier_full(void) { fence(iorw, iorw); }

/* Private memory, for the program alone: after its image, up to the end of the first half of RAM. */
void *private_get(size_t bytes);

/* Returns the place where private_get goes on; a later private_return to it gives back all memory got in between. */
size_t private_mark(void);
void private_return(size_t mark);

/*
 * Memory shared with the engine: the second half of RAM. Where the engine's DMA is not coherent, the CPU sees it
 * through a window that passes by its caches.
 */
struct shared {
  volatile void *cpu; /* the CPU's address of it */
  uint64_t bus;       /* the engine's */
};

/* Zeroed; aligned to 64 bytes. */
struct shared shared_get(size_t bytes);

/* Returns its start on the engine's bus, and its size. */
uint64_t shared_bus(size_t *bytes);

/* Gives all of it back. */
void shared_reset(void);

#endif
