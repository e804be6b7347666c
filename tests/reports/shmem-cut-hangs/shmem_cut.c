// SPDX-License-Identifier: Apache-2.0
// shmem_cut BYTES: pages a file of shmem of 256 kB out, cuts it to so many bytes, and verifies the whole pages of them.

#include "common.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES (256UL << 10)

int main(int argc, char **argv) {
  uint64_t left = parse_number(argc == 2 ? argv[1] : "", "BYTES", 1, FILE_BYTES), wrong = 0;
  int fd = memfd_create("shmem", MFD_CLOEXEC);
  char *base;

  if (fd < 0 || ftruncate(fd, FILE_BYTES))
    die("no file: %s", strerror(errno));
  /* Where a large folio can be mapped as a whole. */
  base = mmap((void *)0x10000000000, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  if (base == MAP_FAILED)
    die("no mapping: %s", strerror(errno));
  for (uint64_t at = 0; at < FILE_BYTES; at += PAGE_BYTES)
    page_fill(base + at, 1, 0);
  if (madvise(base, FILE_BYTES, MADV_PAGEOUT))
    die("cannot page out: %s", strerror(errno));
  if (ftruncate(fd, left))
    die("cannot truncate: %s", strerror(errno));
  for (uint64_t at = 0; at + PAGE_BYTES <= left; at += PAGE_BYTES)
    wrong += page_check(base + at, 1, 0);
  return wrong != 0;
}
