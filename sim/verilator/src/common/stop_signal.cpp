// SPDX-License-Identifier: Apache-2.0
#include "common/stop_signal.hpp"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/signalfd.h>
#include <system_error>

namespace hwswap {

StopSignal StopSignal::from_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  std::signal(SIGPIPE, SIG_IGN);
  FileDescriptor fd;
  if (sigprocmask(SIG_BLOCK, &set, nullptr) == 0)
    fd = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd)
    throw std::system_error(errno, std::generic_category(), "signalfd");
  return StopSignal(std::move(fd));
}

bool StopSignal::requested() const {
  pollfd poll_fd = {fd_.get(), POLLIN, 0};
  return poll(&poll_fd, 1, 0) > 0;
}

bool StopSignal::wait_readable(int fd, long timeout_us) const {
  const timespec timeout = {timeout_us / 1'000'000, timeout_us % 1'000'000 * 1000};
  while (true) {
    pollfd fds[2] = {{fd_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
    const int ready = ppoll(fds, 2, timeout_us < 0 ? nullptr : &timeout, nullptr);
    if (ready < 0) {
      if (errno == EINTR)
        continue;
      throw std::system_error(errno, std::generic_category(), "ppoll");
    }
    if (fds[0].revents)
      throw Stopped();
    return fds[1].revents != 0;
  }
}

} // namespace hwswap
