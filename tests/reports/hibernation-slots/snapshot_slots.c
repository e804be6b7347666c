// SPDX-License-Identifier: Apache-2.0
// snapshot_slots [--busy] DEVICE NUMBER: takes swap slots as a program that hibernates does, and gives them back.
//
// NUMBER can be `all`: until none is free. Slots have to be on the device, none twice, and SwapFree has to go down by
// one for each, and up again; --busy leaves SwapFree alone, as others swap meanwhile. The exit status is 1 when one of
// this is not so.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/suspend_ioctls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MOST 65536UL /* slots of a device */

static bool wrong;

static void expect(const char *what, uint64_t expected, uint64_t found) {
  if (expected == found)
    return;
  printf("%s: %" PRIu64 ", not %" PRIu64 "\n", what, found, expected);
  wrong = true;
}

static uint64_t free_slots(void) {
  struct sysinfo info;

  sysinfo(&info);
  return info.freeswap * info.mem_unit / PAGE_BYTES;
}

int main(int argc, char **argv) {
  bool busy = argc == 4 && !strcmp(argv[1], "--busy"), all;
  struct resume_swap_area area = {.offset = 0};
  static bool taken[MOST];
  uint64_t before, number, got;
  struct stat status;
  loff_t at;
  int fd;

  if (argc != 3 + busy)
    die("usage: snapshot_slots [--busy] DEVICE NUMBER|all");
  if (stat(argv[1 + busy], &status))
    die("%s: %s", argv[1 + busy], strerror(errno));
  all = !strcmp(argv[2 + busy], "all");
  number = all ? MOST : parse_number(argv[2 + busy], "NUMBER", 1, MOST);
  fd = open_or_die("/dev/snapshot", O_RDONLY);
  /* As new_encode_dev() of the kernel has it. */
  area.dev = (minor(status.st_rdev) & 0xff) | major(status.st_rdev) << 8 | (minor(status.st_rdev) & ~0xffU) << 12;
  if (ioctl(fd, SNAPSHOT_SET_SWAP_AREA, &area))
    die("SNAPSHOT_SET_SWAP_AREA: %s", strerror(errno));
  before = free_slots();
  for (got = 0; got < number; got++) {
    if (ioctl(fd, SNAPSHOT_ALLOC_SWAP_PAGE, &at)) {
      if (errno != ENOSPC || !all)
        die("slot %" PRIu64 ": %s", got, strerror(errno));
      break;
    }
    if (at % PAGE_BYTES || !at || at / PAGE_BYTES >= MOST || taken[at / PAGE_BYTES])
      die("slot %" PRIu64 " is at %lld, which cannot be, or was taken", got, (long long)at);
    taken[at / PAGE_BYTES] = true;
    if (!busy && got < 100)
      expect("SwapFree with one slot more", before - got - 1, free_slots());
  }
  if (!busy)
    expect("SwapFree with all slots", before - got, free_slots());
  if (all)
    expect("slots that were free", before, got);
  if (ioctl(fd, SNAPSHOT_FREE_SWAP_PAGES))
    die("SNAPSHOT_FREE_SWAP_PAGES: %s", strerror(errno));
  if (!busy)
    expect("SwapFree at the end", before, free_slots());
  close(fd);
  return wrong;
}
