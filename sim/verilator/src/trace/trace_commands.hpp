// SPDX-License-Identifier: Apache-2.0
// Turns trace records into engine commands.
#pragma once

#include "engine/command.hpp"
#include "trace/trace_reader.hpp"

#include <array>
#include <optional>
#include <string>

namespace hwswap {

/// Follows which engine clusters the devices claim (first fit in rising order, as docs/traces.md says).
class TraceCommands {
public:
  /// `clusters`: size of the engine's store.
  explicit TraceCommands(uint64_t clusters) : clusters_(clusters) {}

  /// The command of the next record; UserError when the store cannot hold the device.
  Command next(const TraceRecord &record);

  /// Whether the device holds clusters after the records so far.
  bool claimed(unsigned type) const { return devices_.at(type).has_value(); }

private:
  struct Extent {
    uint64_t base;
    uint64_t clusters;
  };

  uint64_t claim(unsigned type, uint32_t pages);

  uint64_t clusters_;
  uint8_t epoch_ = 0;
  std::array<std::optional<Extent>, 32> devices_;
};

/// The record in words, e.g. "alloc, CPU 0, order 4".
std::string describe(const TraceRecord &record);

} // namespace hwswap
