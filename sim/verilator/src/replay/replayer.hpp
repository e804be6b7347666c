// SPDX-License-Identifier: Apache-2.0
// Replays a trace on an engine and compares every decision.
#pragma once

#include "common/histogram.hpp"
#include "engine/command_ring.hpp"
#include "trace/trace_commands.hpp"

#include <array>
#include <map>

namespace hwswap {

/// Replays one trace. Make one, run() it, ask for report().
class Replayer {
public:
  /// Entries of the command ring, as a power of two: the largest the engine knows.
  static constexpr unsigned ring_log2 = 12;

  /// The engine reaches `memory`, at least CommandRing::bytes(ring_log2). An operation that takes more than
  /// `patience` cycles counts as hanging.
  Replayer(Engine &engine, FlatMemory &memory, const Trace &trace, uint64_t patience = CommandRing::default_patience);

  /// Replay. `registers`: ALLOC and FREE go through the CPU pages, one at a time, instead of the command ring. Every
  /// device still in use at the end is checked by the engine's self-test. Returns the first difference in words, or
  /// nothing.
  std::optional<std::string> run(bool registers);

  /// Operations, cycles, cycles by kind of operation, the engine's statistics.
  nlohmann::json report() const;

private:
  void check_capacity();
  void clear_engine();
  std::optional<std::string> run_ring();
  std::optional<std::string> run_registers();
  Completion request(const TraceRecord &record, const Command &command);
  void write_policy(const TraceRecord &record);
  std::optional<std::string> compare(const Completion &completion);
  std::optional<std::string> self_test();

  Engine &engine_;
  const Trace &trace_;
  CommandRing ring_;
  TraceCommands commands_;
  std::array<uint16_t, HWSWAP_REG_CPU_PAGE_COUNT> sequence_{};
  bool registers_ = false;
  size_t done_ = 0;
  uint64_t begin_cycle_ = 0;
  uint64_t end_cycle_ = 0;
  std::map<std::string, Histogram> by_kind_;
  std::map<unsigned, Histogram> alloc_by_order_;
  nlohmann::json statistics_;
};

} // namespace hwswap
