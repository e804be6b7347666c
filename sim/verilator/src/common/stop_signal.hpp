// SPDX-License-Identifier: Apache-2.0
// A request that the program ends, as a descriptor that polls readable.
#pragma once

#include "common/file_descriptor.hpp"

namespace hwswap {

/// Thrown out of a wait when the stop was asked for.
struct Stopped {};

class StopSignal {
public:
  /// Any descriptor that becomes readable when the program shall stop.
  explicit StopSignal(FileDescriptor fd) : fd_(std::move(fd)) {}

  /// Blocks SIGINT and SIGTERM for this process and turns them into the request. SIGPIPE is ignored: a client that went
  /// away is an error return of the write.
  static StopSignal from_signals();

  int fd() const { return fd_.get(); }

  /// Whether the stop was asked for; a system call.
  bool requested() const;

  /// Wait until `fd` is readable: true, or false after `timeout_us` microseconds (negative: for ever). Throws Stopped.
  bool wait_readable(int fd, long timeout_us) const;

private:
  FileDescriptor fd_;
};

} // namespace hwswap
