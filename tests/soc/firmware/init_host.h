/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the initramfs's program has from the kernel's nolibc, on the host. Its files are those below
 * $HOST_ROOT; its writes to them, and its system calls, go to the file $HOST_LOG instead, a line each. With
 * $HOST_DAMAGE a bit of the pages that go out changes.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINUX_REBOOT_CMD_POWER_OFF 0
#define LINUX_REBOOT_CMD_HALT 0

static inline int host_log(const char *what, const char *path) {
  int fd = open(getenv("HOST_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0644);

  dprintf(fd, "\n%s %s ", what, path);
  return fd;
}

static inline int host_open(const char *path, int flags) {
  char whole[512];
  int fd;

  snprintf(whole, sizeof(whole), "%s%s", getenv("HOST_ROOT"), path);
  fd = open(whole, flags == O_WRONLY ? O_RDONLY : flags);
  if (fd < 0 || flags != O_WRONLY)
    return fd;
  close(fd);
  return host_log("write", path);
}

static inline long host_syscall(long number, ...) {
  va_list arguments;
  char *first;

  va_start(arguments, number);
  if (number == SYS_finit_module) {
    (void)va_arg(arguments, int);
    first = va_arg(arguments, char *);
    dprintf(host_log("load", "module"), "%s", first);
  } else if (number == SYS_madvise) {
    first = va_arg(arguments, char *);
    if (getenv("HOST_DAMAGE"))
      first[4097] ^= 4;
    close(host_log("call", "madvise"));
  } else {
    first = va_arg(arguments, char *);
    close(host_log(number == SYS_swapon ? "swapon" : number == SYS_swapoff ? "swapoff" : "unload", first));
  }
  va_end(arguments);
  return 0;
}

static inline int host_ioctl(int fd, unsigned long request, unsigned long *bytes) {
  (void)fd, (void)request;
  *bytes = 512UL << 20;
  return 0;
}

#define open(path, flags) host_open(path, flags)
#define syscall(...) host_syscall(__VA_ARGS__)
#define ioctl(fd, request, bytes) host_ioctl(fd, request, bytes)
#define mkdir(path, mode) 0
#define mount(...) 0
#define reboot(command) exit(0)
#define msleep(ms) usleep((ms) * 1000)
