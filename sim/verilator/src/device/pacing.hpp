// SPDX-License-Identifier: Apache-2.0
// When the simulated engine's clock runs.
#pragma once

#include "common/stop_signal.hpp"
#include "engine/engine.hpp"

namespace hwswap {

/// Runs the engine until it has nothing left to do but to read clusters in turn, which it does meanwhile.
class Settler {
public:
  /// `passes`: passes over the rings that an engine which makes grants must have finished since the last disturb().
  Settler(Engine &engine, uint32_t passes) : engine_(engine), passes_(passes) {}

  /// Something outside the engine has changed: there may be work again.
  void disturb() { disturbed_ = true; }

  bool settled() const { return !disturbed_ && settled_; }

  /// Whether the engine looks at memory by itself (enabled, and makes grants), as of the last run().
  bool polls() const { return polls_; }

  /// Clock the engine until it has settled, but at most `cycles` cycles (a register read may go beyond by a few).
  void run(uint64_t cycles);

private:
  void look();

  Engine &engine_;
  uint32_t passes_;
  bool disturbed_ = true;
  bool settled_ = false;
  bool polls_ = false;
  uint32_t first_pass_ = 0;
  uint64_t next_look_ = 0;
};

/// The time that the engine's clock follows.
enum class Pace {
  free, ///< the host's time: it runs whenever there is something to do
  guest ///< the guest: it runs only inside register accesses, so that a run can be the same every time
};

/// Decides how far the clock runs at each event. Writing GUEST_TIME starts guest pacing whatever the choice was.
class Pacer {
public:
  /// Cycles a register access takes at least once the guest's time is known.
  static constexpr uint64_t access_cycles = 16;

  /// `clock_hz`: the modelled clock. `idle_us`: microseconds between two looks at memory in free running.
  Pacer(Engine &engine, Pace pace, uint64_t clock_hz, long idle_us, const StopSignal &stop);

  /// The device was reset: begin again as after the start.
  void reset();

  /// A register access has been made that began at cycle `begin`.
  void accessed(uint64_t begin);

  /// The guest says that its time is `ns` nanoseconds. The first time counts from here on; a time that goes back too.
  void guest_time(uint64_t ns);

  /// Whether run_slice() has something to do.
  bool wants_to_run() const { return free_running() && !settler_.settled(); }

  /// Free running: clock the engine by at most `cycles`.
  void run_slice(uint64_t cycles) { settler_.run(cycles); }

  /// Free running and settled: microseconds until woke() shall be called; negative when only an access brings work.
  long sleep_us() const { return free_running() && settler_.polls() ? idle_us_ : -1; }

  /// The sleep is over: memory may have changed.
  void woke() { settler_.disturb(); }

  uint64_t clock_hz() const { return clock_hz_; }

private:
  bool free_running() const { return pace_ == Pace::free && !timed_; }
  void run(uint64_t cycles);

  Engine &engine_;
  Pace pace_;
  uint64_t clock_hz_;
  long idle_us_;
  const StopSignal &stop_;
  Settler settler_;
  /// The guest has told its time, last_ns_.
  bool timed_ = false;
  uint64_t last_ns_ = 0;
  /// Part of a cycle left over, in cycles times 10^9.
  uint64_t rest_ = 0;
};

} // namespace hwswap
