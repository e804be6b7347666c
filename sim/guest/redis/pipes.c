// SPDX-License-Identifier: Apache-2.0
// pipes: a library that is loaded before redis-server, in a guest whose kernel has no sockets.
//
// The server's listening socket is an event descriptor that has one connection waiting. The connection reads from the
// named pipe $REDIS_REQUESTS; the server's writes to it go to the named pipe $REDIS_REPLIES. All else of the
// server is as it is: its event loop, its memory, its children.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int listener = -1, requests = -1, replies = -1;

int socket(int domain, int type, int protocol) {
  (void)type, (void)protocol;
  if (domain != AF_UNIX || listener >= 0) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  listener = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  return listener;
}

int bind(int fd, const struct sockaddr *address, socklen_t length) {
  (void)fd, (void)address, (void)length;
  return 0;
}

int listen(int fd, int backlog) {
  (void)fd, (void)backlog;
  return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
  (void)fd, (void)level, (void)name, (void)value, (void)length;
  return 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length) {
  (void)fd, (void)level, (void)name;
  if (*length >= sizeof(int))
    *(int *)value = 0; /* SO_ERROR: none */
  return 0;
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
  eventfd_t waiting;

  (void)address, (void)length, (void)flags;
  if (fd != listener || eventfd_read(fd, &waiting)) {
    errno = EAGAIN; /* the one connection was accepted */
    return -1;
  }
  /* The client opens the pipes in the same order: the second waits for it, so that the first has a writer then. */
  requests = open(getenv("REDIS_REQUESTS"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  replies = open(getenv("REDIS_REPLIES"), O_WRONLY | O_CLOEXEC);
  return replies < 0 ? -1 : requests;
}

int accept(int fd, struct sockaddr *address, socklen_t *length) { return accept4(fd, address, length, 0); }

ssize_t write(int fd, const void *data, size_t bytes) {
  static ssize_t (*real)(int, const void *, size_t);

  if (!real)
    real = dlsym(RTLD_NEXT, "write");
  return real(fd == requests && fd >= 0 ? replies : fd, data, bytes);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
  static ssize_t (*real)(int, const struct iovec *, int);

  if (!real)
    real = dlsym(RTLD_NEXT, "writev");
  return real(fd == requests && fd >= 0 ? replies : fd, pieces, count);
}
