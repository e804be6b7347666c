// SPDX-License-Identifier: Apache-2.0
/*
 * Loaded before nextpnr-ecp5: a readable page of zeros in front of every file it maps.
 *
 * nextpnr 0.7 writes "no string" into its chip database as the address one byte before the database, and then reads the
 * string: of every pin, when an input with a reference voltage (all DDR3 memory) is written to the bitstream. Where
 * nothing is mapped there, which is chance, it ends with a segmentation fault after an hour of work; behind a page of
 * zeros it finds the empty string.
 *
 * Linked with no library, so that it can be compiled on one system and loaded into another's C library: syscall() is
 * that one's.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define PAGE 4096

static void *call(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  return (void *)syscall(SYS_mmap, address, length, (long)protection, (long)flags, (long)file, (long)offset);
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
