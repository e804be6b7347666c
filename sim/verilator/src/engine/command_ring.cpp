// SPDX-License-Identifier: Apache-2.0
#include "engine/command_ring.hpp"

#include "common/errors.hpp"

#include <cassert>

namespace hwswap {

CommandRing::CommandRing(Engine &engine, FlatMemory &memory, unsigned log2, uint64_t patience)
    : engine_(engine), memory_(memory), log2_(log2), patience_(patience) {
  assert(memory.size() >= bytes(log2));
}

void CommandRing::enable() {
  engine_.write_register(HWSWAP_REG_DMA_WINDOW_BASE + HWSWAP_REG_DMA_WINDOW_START,
                         memory_.base() & HWSWAP_DMA_WINDOW_START_ADDR);
  // A window that begins or ends within a page has all of the page.
  const uint64_t behind = memory_.base() + memory_.size() + ~HWSWAP_DMA_WINDOW_LIMIT_ADDR;
  engine_.write_register(HWSWAP_REG_DMA_WINDOW_BASE + HWSWAP_REG_DMA_WINDOW_LIMIT,
                         (behind & HWSWAP_DMA_WINDOW_LIMIT_ADDR) | HWSWAP_DMA_WINDOW_LIMIT_READ |
                             HWSWAP_DMA_WINDOW_LIMIT_WRITE);
  engine_.write_register(HWSWAP_REG_CMD_BASE, memory_.base());
  engine_.write_register(HWSWAP_REG_CPL_BASE, memory_.base() + (uint64_t{HWSWAP_COMMAND_SIZE} << log2_));
  engine_.write_register(HWSWAP_REG_CMD_SIZE, log2_);
  engine_.write_register(HWSWAP_REG_CONTROL, HWSWAP_CONTROL_ENABLE);
}

void CommandRing::push(const Command &command) {
  assert(room());
  const size_t offset = size_t{tail_ & (entries() - 1)} * HWSWAP_COMMAND_SIZE;
  const auto words = command.words();
  for (size_t i = 0; i < words.size(); ++i)
    memory_.word(offset + 8 * i) = words[i];
  ++tail_;
}

void CommandRing::ring_doorbell() { engine_.write_register(HWSWAP_REG_CMD_TAIL, tail_); }

std::optional<Completion> CommandRing::pop() {
  if (!pending())
    return std::nullopt;
  const size_t offset =
      (size_t{HWSWAP_COMMAND_SIZE} << log2_) + size_t{head_ & (entries() - 1)} * HWSWAP_COMPLETION_SIZE;
  const uint64_t info = memory_.word(offset + HWSWAP_COMPLETION_INFO_OFFSET);
  // The phase is 1 on the first lap and changes every lap; the memory begins as zeros.
  const bool phase = (head_ >> log2_ & 1) == 0;
  if (field_get(info, HWSWAP_COMPLETION_INFO_PHASE) != phase)
    return std::nullopt;
  const auto completion = Completion::from_words(memory_.word(offset + HWSWAP_COMPLETION_RESULT_OFFSET), info);
  if (completion.index != (head_ & 0xffff))
    throw EngineError("completion " + std::to_string(head_) + " carries the number " +
                      std::to_string(completion.index) + " (modulo 65536): the engine lost count");
  ++head_;
  return completion;
}

Completion CommandRing::run(const Command &command) {
  push(command);
  ring_doorbell();
  const uint64_t begin = engine_.cycles();
  while (true) {
    if (auto completion = pop())
      return *completion;
    if (engine_.cycles() - begin > patience_)
      throw EngineError("the engine has not completed a command (opcode " + std::to_string(command.opcode) + ") for " +
                        std::to_string(patience_) + " cycles");
    engine_.step();
  }
}

} // namespace hwswap
