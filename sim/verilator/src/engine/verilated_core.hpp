// SPDX-License-Identifier: Apache-2.0
// The Verilated core alone, without rings and registers around it.
#pragma once

#include "engine/command.hpp"

#include <cstdint>
#include <memory>
#include <optional>

class VCore;
class VerilatedContext;

namespace hwswap {

/// The core's actions in one cycle, as its output `events` tells.
struct CoreEvents {
  bool fast, nonfull, free, frag, steal, fail;
  bool freed, scan, list_move;
};

/// An answer of the core.
struct CoreAnswer {
  uint8_t status;
  uint8_t device;
  uint32_t offset;
};

/// The visible signals of one cycle.
struct CoreCycle {
  /// The request that was offered has been taken.
  bool accepted;
  std::optional<CoreAnswer> answer;
  CoreEvents events;
};

/// The core of the engine; its answers are always taken at once.
class VerilatedCore {
public:
  /// `seed` draws the registers' values before reset.
  explicit VerilatedCore(uint32_t seed);
  ~VerilatedCore();

  /// Clear everything; takes effect after some cycles in which the core takes nothing.
  void clear();

  /// Offer the command, or nothing if it is null, for one cycle.
  CoreCycle step(const Command *command);

  /// Set the policy; `value` as in the register POLICY.
  void set_policy(uint64_t value);

private:
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<VCore> model_;
};

} // namespace hwswap
