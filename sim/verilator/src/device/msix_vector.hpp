// SPDX-License-Identifier: Apache-2.0
// The device's one MSI-X vector.
#pragma once

#include "common/file_descriptor.hpp"

#include <cstdint>

namespace hwswap {

/// Signals an eventfd of the client; an interrupt raised while there is none stays pending until there is one.
class MsixVector {
public:
  /// An empty descriptor disconnects.
  void connect(FileDescriptor eventfd) {
    eventfd_ = std::move(eventfd);
    if (pending_ && eventfd_) {
      pending_ = false;
      signal();
    }
  }

  void raise() {
    ++raised_;
    if (eventfd_)
      signal();
    else
      pending_ = true;
  }

  /// Forget a pending interrupt, as a device reset does.
  void clear() { pending_ = false; }

  bool pending() const { return pending_; }

  /// Interrupts raised so far.
  uint64_t raised() const { return raised_; }

private:
  void signal() {
    const uint64_t one = 1;
    // The write can fail only when 2^64 - 2 events are unread; then the client has an event to see anyway.
    [[maybe_unused]] const auto done = write(eventfd_.get(), &one, sizeof(one));
  }

  FileDescriptor eventfd_;
  bool pending_ = false;
  uint64_t raised_ = 0;
};

} // namespace hwswap
