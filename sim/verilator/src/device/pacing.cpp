// SPDX-License-Identifier: Apache-2.0
#include "device/pacing.hpp"

#include "hwswap_map.h"

#include <algorithm>

namespace hwswap {

namespace {

/// Cycles between two looks at CONTROL in a long run: an engine that a fault has stopped makes no grants any more.
constexpr uint64_t look_interval = 4096;
/// Cycles between two looks whether the program shall stop.
constexpr uint64_t stop_interval = 65536;
/// Most cycles inside one register access while the guest's time is not known yet: a bound for an engine that never
/// rests, far above what a reset of the largest store takes.
constexpr uint64_t untimed_cycles = 4'000'000;
/// One pass that began after the change would do; the one under way may have begun before it.
constexpr uint32_t settle_passes = 2;
constexpr uint64_t ns_per_second = 1'000'000'000;

} // namespace

void Settler::look() {
  const bool enabled = engine_.read_register(HWSWAP_REG_CONTROL) & HWSWAP_CONTROL_ENABLE;
  constexpr uint64_t grants = HWSWAP_GRANT_CONTROL_READ | HWSWAP_GRANT_CONTROL_GRANT;
  polls_ = enabled && (engine_.read_register(HWSWAP_REG_GRANT_CONTROL) & grants) == grants;
  next_look_ = engine_.cycles() + look_interval;
}

void Settler::run(uint64_t cycles) {
  const uint64_t end = engine_.cycles() + cycles;
  if (disturbed_ && cycles) {
    disturbed_ = false;
    settled_ = false;
    look();
    first_pass_ = engine_.passes();
  }
  while (!settled_ && engine_.cycles() < end) {
    if (engine_.cycles() >= next_look_)
      look();
    engine_.step();
    settled_ = engine_.idle() && (!polls_ || engine_.passes() - first_pass_ >= passes_);
  }
}

Pacer::Pacer(Engine &engine, Pace pace, uint64_t clock_hz, long idle_us, const StopSignal &stop)
    : engine_(engine), pace_(pace), clock_hz_(clock_hz), idle_us_(idle_us), stop_(stop),
      settler_(engine, settle_passes) {}

void Pacer::reset() {
  timed_ = false;
  last_ns_ = rest_ = 0;
  settler_.disturb();
}

void Pacer::run(uint64_t cycles) {
  const uint64_t end = engine_.cycles() + cycles;
  settler_.disturb();
  while (engine_.cycles() < end && !settler_.settled()) {
    settler_.run(std::min(stop_interval, end - engine_.cycles()));
    if (stop_.requested())
      throw Stopped();
  }
}

void Pacer::accessed(uint64_t begin) {
  if (timed_) {
    while (engine_.cycles() - begin < access_cycles)
      engine_.step();
  } else if (pace_ == Pace::guest) {
    run(untimed_cycles);
  } else {
    settler_.disturb();
  }
}

void Pacer::guest_time(uint64_t ns) {
  if (!timed_ || ns < last_ns_) {
    timed_ = true;
    rest_ = 0;
  } else {
    const auto scaled = static_cast<unsigned __int128>(ns - last_ns_) * clock_hz_ + rest_;
    rest_ = static_cast<uint64_t>(scaled % ns_per_second);
    const auto cycles = scaled / ns_per_second;
    run(static_cast<uint64_t>(std::min<unsigned __int128>(cycles, UINT64_MAX / 2)));
  }
  last_ns_ = ns;
}

} // namespace hwswap
