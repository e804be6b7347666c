/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of bits as wide as a register (BITS_WORD: 32 or 64), and searches in them: for free slots, whose bit is 0 in a
 * word of used ones, and for aligned runs of free slots.
 */
#ifndef HWSWAP_BITS_H
#define HWSWAP_BITS_H

#include <stdbool.h>
#include <stdint.h>

#ifndef BITS_WORD
#define BITS_WORD __INTPTR_WIDTH__
#endif

#if BITS_WORD == 64
typedef uint64_t bits_t;
#define BITS_LOG2 6u
#else
typedef uint32_t bits_t;
#define BITS_LOG2 5u
#endif

#define BITS_ALL ((bits_t) ~(bits_t)0)

/*
 * Number of the lowest bit set; the word is not 0. Where the CPU has no instruction for it: by a multiplication on a
 * CPU of 32 bits, whose multiplier takes a cycle or two, by halves on one of 64: a Rocket's takes one cycle per bit.
 */
static inline unsigned bits_lowest32(uint32_t word) {
#if defined(__riscv_mul) && !defined(__riscv_zbb) && __riscv_xlen == 32
  /* A de Bruijn sequence: its top five bits after a shift by n tell n. */
  static const uint8_t number[32] = {0,  1,  28, 2,  29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4,  8,
                                     31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6,  11, 5,  10, 9};

  return number[((word & -word) * UINT32_C(0x077cb531)) >> 27];
#elif defined(__riscv) && !defined(__riscv_zbb)
  unsigned number = 0;

  for (unsigned half = 16; half; half /= 2) {
    if (!(word & ((UINT32_C(1) << half) - 1))) {
      word >>= half;
      number += half;
    }
  }
  return number;
#else
  return (unsigned)__builtin_ctz(word);
#endif
}

static inline unsigned bits_lowest(bits_t word) {
#if BITS_WORD == 64
  const uint32_t low = (uint32_t)word;

  return low ? bits_lowest32(low) : 32 + bits_lowest32((uint32_t)(word >> 32));
#else
  return bits_lowest32(word);
#endif
}

/* `nr` bits from `first` on, inside one word; nr is not 0. */
static inline bits_t bits_mask(unsigned first, unsigned nr) { return (BITS_ALL >> (BITS_WORD - nr)) << first; }

/**
 * bits_free_runs - find the aligned runs of free slots inside a word
 * @used: one bit per slot
 * @order: runs of 2^order slots, at most a word
 *
 * Return: a word with the first bit of each such run set.
 */
static inline bits_t bits_free_runs(bits_t used, unsigned order) {
  static const bits_t aligned[BITS_LOG2 + 1] = {
      BITS_ALL,
      BITS_ALL / 0x3,
      BITS_ALL / 0xf,
      BITS_ALL / 0xff,
      BITS_ALL / 0xffff,
#if BITS_WORD == 64
      BITS_ALL / 0xffffffff,
#endif
      1,
  };
  bits_t runs = ~used;

  /* Each step doubles the length of the runs whose first bit is left. */
  for (unsigned step = 0; step < order; step++)
    runs &= runs >> (1u << step);
  return runs & aligned[order];
}

#endif
