// SPDX-License-Identifier: Apache-2.0
// Host side of the command and completion rings.
#pragma once

#include "bus/flat_memory.hpp"
#include "engine/command.hpp"
#include "engine/engine.hpp"

#include <optional>

namespace hwswap {

/// Both rings in a FlatMemory, completions after commands, from the memory's base on.
class CommandRing {
public:
  /// Bytes both rings need with 2^`log2` entries.
  static constexpr size_t bytes(unsigned log2) {
    return (size_t{HWSWAP_COMMAND_SIZE} + HWSWAP_COMPLETION_SIZE) << log2;
  }

  /// Cycles to wait for a completion before the engine counts as hanging, unless told otherwise.
  static constexpr uint64_t default_patience = 20'000'000;

  CommandRing(Engine &engine, FlatMemory &memory, unsigned log2, uint64_t patience = default_patience);

  /// Tell the engine where the rings are, permit it their memory by DMA window 0, and let it fetch commands.
  void enable();

  unsigned entries() const { return 1u << log2_; }
  /// Commands written and not yet taken back as completions.
  unsigned pending() const { return tail_ - head_; }
  unsigned room() const { return entries() - pending(); }

  /// Put a command into the ring; there must be room. The engine sees it after ring_doorbell().
  void push(const Command &command);

  /// Write CMD_TAIL; takes the cycles of a register write.
  void ring_doorbell();

  /// Take the next completion if the engine has written it. EngineError when its number is not the expected one.
  std::optional<Completion> pop();

  /// Push one command, wait for it and return its completion. The ring must be empty.
  Completion run(const Command &command);

  /// Cycles to wait for a completion before the engine counts as hanging.
  uint64_t patience() const { return patience_; }

private:
  Engine &engine_;
  FlatMemory &memory_;
  unsigned log2_;
  uint64_t patience_;
  uint32_t tail_ = 0;
  uint32_t head_ = 0;
};

} // namespace hwswap
