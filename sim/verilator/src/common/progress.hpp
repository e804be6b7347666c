// SPDX-License-Identifier: Apache-2.0
// One line on a terminal that says how far a long run is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace hwswap {

/// Writes to stderr at most twice a second, and nothing at all when stderr is no terminal.
class Progress {
public:
  /// `total`: operations to come.
  explicit Progress(uint64_t total);
  ~Progress();

  /// `done` operations and `cycles` engine cycles lie behind.
  void update(uint64_t done, uint64_t cycles);

private:
  using Clock = std::chrono::steady_clock;

  bool shown_ = false;
  bool terminal_;
  uint64_t total_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_ + std::chrono::milliseconds(500);
};

} // namespace hwswap
