// SPDX-License-Identifier: Apache-2.0
// Cycles per operation in a core whose input is kept full.
#pragma once

#include "common/histogram.hpp"

#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace hwswap {

/// One operation that was answered, with its timing.
struct TimedOperation {
  /// As in the header's counts, e.g. "alloc".
  std::string kind;
  /// Of an allocation; 0 for others.
  unsigned order = 0;
  /// An allocation's path to its slots: hint (a CPU's), shared hint (a rotating device's), nonfull, free, frag, steal
  /// or fail, or that it asked: question; "free" for a free, else "unit".
  std::string path;
  unsigned scans = 0;
  unsigned list_moves = 0;
  /// Cycles from the previous answer, and from its own acceptance, to the answer.
  uint64_t cycles = 0;
  uint64_t latency = 0;
};

/// Figures of many operations, told in the order of their answers.
///
/// An operation should take two cycles. Each cycle beyond these is a *stall*, and is put down to a cause that can be
/// seen from outside of the core: a unit was at work; a slow path, of which so much for scanned clusters and the rest
/// for turning to devices and lists; a list move, its own or that of one of the two operations before it, for which it
/// had to wait; the pipeline filled anew after a unit or slow path; or something else (two lines of the store were
/// exchanged). The cycles in which the pipeline is filled anew count as those of the unit or slow path.
class CycleTally {
public:
  /// Cycles of an operation that nothing holds up, and of one more scanned cluster.
  static constexpr uint64_t ideal = 2, scan = 3;

  void add(const TimedOperation &operation);

  /// Operations so far.
  uint64_t operations() const { return operations_; }

  /// {"operations", "groups": [{"kind", "order", "path", "list_move", "cycles", "latency"}],
  /// "by_scans": [{"path", "order", "scans", "cycles"}], "stalls": {cause: cycles}}; cycles and latency are
  /// [[number, how often], ...].
  nlohmann::json json();

private:
  struct Group {
    Histogram cycles, latency;
  };

  /// A unit, a slow path, or the host was asked: nothing follows it in the pipeline.
  static bool empties(const TimedOperation &operation);
  void put(const TimedOperation &operation);
  void flush();
  void stall(const TimedOperation &operation, uint64_t refill);

  uint64_t operations_ = 0;
  std::map<std::tuple<std::string, unsigned, std::string, bool>, Group> groups_;
  std::map<std::tuple<std::string, unsigned, unsigned>, Histogram> by_scans_;
  std::map<std::string, uint64_t> stalls_;
  unsigned moves_ago_ = 3;
  /// The last operation, if it emptied the pipeline: it is put when the cost of filling is known.
  std::optional<TimedOperation> empties_;
};

} // namespace hwswap
