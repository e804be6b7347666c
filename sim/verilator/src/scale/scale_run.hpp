// SPDX-License-Identifier: Apache-2.0
// Runs a long trace in phases, each with a memory latency of its own, and measures every operation.
#pragma once

#include "bus/sparse_memory.hpp"
#include "engine/command_ring.hpp"
#include "engine/verilated_engine.hpp"
#include "scale/scale_phase.hpp"
#include "trace/trace_commands.hpp"

#include <iosfwd>

namespace hwswap {

/// What was measured of one operation, as it is written to the file of measurements.
struct Measurement {
  /// Cycles the engine's core spent on it.
  uint32_t cycles;
  /// See Completion::waits.
  uint32_t waits;
};

class ScaleRun {
public:
  /// Entries of the command ring, as a power of two.
  static constexpr unsigned ring_log2 = 12;
  /// Most cycles a command may take: a CHECK or SWAPON of the largest store with every access missing.
  static constexpr uint64_t patience = 2'000'000'000;

  /// `rings` is at least CommandRing::bytes(ring_log2).
  ScaleRun(VerilatedEngine &engine, FlatMemory &rings, const Trace &trace);

  /// Run the phases one behind the other, the engine at rest between them; EngineError at the first decision that
  /// differs from the trace's. A Measurement an operation is written to `measurements`.
  void run(const std::vector<ScalePhase> &phases, std::ostream &measurements);

  /// Let the engine check all its devices (CHECK); EngineError when it finds a fault.
  void check();

  /// What each phase took: operations, cycles, the engine's statistics in it.
  const nlohmann::json &report() const { return report_; }

private:
  void run_phase(const ScalePhase &phase, std::ostream &measurements);
  void compare(const Completion &completion) const;

  VerilatedEngine &engine_;
  const Trace &trace_;
  CommandRing ring_;
  TraceCommands commands_;
  size_t pushed_ = 0;
  size_t done_ = 0;
  nlohmann::json report_ = nlohmann::json::array();
};

} // namespace hwswap
