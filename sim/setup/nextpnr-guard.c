// SPDX-License-Identifier: Apache-2.0
/*
 * Loaded before nextpnr-ecp5: a readable page of zeros in front of every file it maps.
 *
 * nextpnr 0.7 writes "no string" into its chip database as the address one byte before the database, and then reads the
 * string: of every pin, when an input with a reference voltage (all DDR3 memory) is written to the bitstream. Where
 * nothing is mapped there, which is chance, it ends with a segmentation fault after an hour of work; behind a page of
 * zeros it finds the empty string.
 *
 * Without any library of its own, so that it can be compiled on one system and loaded into another's C library.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#define PAGE 4096

int *__errno_location(void);

static void *call(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  register long r10 __asm__("r10") = flags;
  register long r8 __asm__("r8") = file;
  register long r9 __asm__("r9") = offset;
  long result;

  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_mmap), "D"(address), "S"(length), "d"((long)protection), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  if (result < 0 && result >= -4095) {
    *__errno_location() = (int)-result;
    return MAP_FAILED;
  }
  return (void *)result;
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  char *guard;

  if (address || file < 0)
    return call(address, length, protection, flags, file, offset);
  guard = call(NULL, PAGE + length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (guard == MAP_FAILED)
    return MAP_FAILED;
  return call(guard + PAGE, length, protection, flags | MAP_FIXED, file, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  return mmap(address, length, protection, flags, file, offset);
}
