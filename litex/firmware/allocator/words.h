/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a swap table: the contents of slots. */
#ifndef HWSWAP_WORDS_H
#define HWSWAP_WORDS_H

#include <stdint.h>

#define SWAP_WORD_FREE UINT64_C(0)
#define SWAP_WORD_BAD (~UINT64_C(0) << 3)

/* A cached folio: its page frame number in bits 58:2, the type 10 below; count and zero flag above are 0. */
static inline uint64_t swap_word_folio(uint64_t pfn) { return (pfn & ((UINT64_C(1) << 57) - 1)) << 2 | 2; }

/**
 * swap_fill - write the same word to many slots (memset64)
 * @words: the first slot's word
 * @word: the value
 * @nr: slots
 */
static inline void swap_fill(uint64_t *words, uint64_t word, unsigned nr) {
  uint64_t *end = words + nr;

  for (; end - words >= 8; words += 8) {
    words[0] = word;
    words[1] = word;
    words[2] = word;
    words[3] = word;
    words[4] = word;
    words[5] = word;
    words[6] = word;
    words[7] = word;
  }
  while (words != end)
    *words++ = word;
}

#endif
