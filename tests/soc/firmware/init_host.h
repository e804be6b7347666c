/* SPDX-License-Identifier: Apache-2.0 */
/* What the initramfs's program has from the kernel's nolibc, on the host; it never stops the host. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define reboot(command) host_reboot(command)
#define msleep(ms) usleep((ms) * 1000)
#ifndef LINUX_REBOOT_CMD_POWER_OFF
#define LINUX_REBOOT_CMD_POWER_OFF 0x4321FEDC
#define LINUX_REBOOT_CMD_HALT 0xCDEF0123
#endif
#define strlcpy host_strlcpy

static inline void host_reboot(unsigned int command) { (void)command; }

static inline size_t host_strlcpy(char *to, const char *from, size_t size) {
  size_t length = strlen(from);

  if (size) {
    size_t part = length < size ? length : size - 1;

    memcpy(to, from, part);
    to[part] = '\0';
  }
  return length;
}
