// SPDX-License-Identifier: Apache-2.0
#include "common/progress.hpp"

#include <cstdio>
#include <unistd.h>

namespace hwswap {

Progress::Progress(uint64_t total) : terminal_(isatty(STDERR_FILENO) != 0), total_(total) {}

Progress::~Progress() {
  if (shown_)
    std::fputs("\r\033[K", stderr);
}

void Progress::update(uint64_t done, uint64_t cycles) {
  if (!terminal_)
    return;
  const auto now = Clock::now();
  if (now < next_)
    return;
  next_ = now + std::chrono::milliseconds(500);
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double share = total_ ? static_cast<double>(done) / static_cast<double>(total_) : 1.0;
  std::fprintf(stderr, "\r\033[K%3.0f %% of %llu operations, %.0f kcycles/s, %.0f s left", 100 * share,
               static_cast<unsigned long long>(total_), static_cast<double>(cycles) / seconds / 1000,
               share > 0 ? seconds * (1 - share) / share : 0.0);
  std::fflush(stderr);
  shown_ = true;
}

} // namespace hwswap
