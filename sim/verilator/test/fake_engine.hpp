// SPDX-License-Identifier: Apache-2.0
// A small engine for tests of the code around it.
#pragma once

#include "bus/bus_memory.hpp"
#include "bus/flat_memory.hpp"
#include "engine/engine.hpp"
#include "hwswap_map.h"

#include <map>

namespace hwswap::test {

/// Registers are plain words; time passes as told. Writing CMD_TAIL copies the word at CMD_BASE to CPL_BASE by DMA and
/// raises the interrupt; writing IRQ_STATUS lowers it.
class FakeEngine final : public Engine {
public:
  /// Cycles a register access takes.
  static constexpr uint64_t access = 3;
  /// Cycles of one pass.
  static constexpr uint64_t pass_cycles = 10;

  explicit FakeEngine(BusMemory &memory) : memory_(memory) { reset(); }

  void reset() override {
    ++resets;
    registers = {{HWSWAP_REG_ID, HWSWAP_ID_MAGIC_RESET},
                 {HWSWAP_REG_VERSION, field(HWSWAP_VERSION_MAJOR_SHIFT, 1)},
                 {HWSWAP_REG_CAPS, field(HWSWAP_CAPS_CPUS_SHIFT, 2) | field(HWSWAP_CAPS_ORDERS_SHIFT, 10)},
                 {HWSWAP_REG_GRANT_STATE, field(HWSWAP_GRANT_STATE_RING_LOG2_SHIFT, 2)}};
    irq_ = rose_ = false;
    busy_until = 0;
  }

  void step() override {
    ++cycles_;
    if (grants() && cycles_ % pass_cycles == 0)
      ++passes_;
  }

  uint64_t read_register(uint32_t address) override {
    pass(access);
    return registers[address];
  }

  void write_register(uint32_t address, uint64_t data, uint8_t strobes) override {
    pass(access);
    registers[address] = FlatMemory::merge(registers[address], data, strobes);
    if (address == HWSWAP_REG_CMD_TAIL) {
      uint64_t word = 0;
      dma_failed = !memory_.read(registers[HWSWAP_REG_CMD_BASE], word) ||
                   !memory_.write(registers[HWSWAP_REG_CPL_BASE], word, 0xff);
      rose_ |= !irq_;
      irq_ = true;
    }
    if (address == HWSWAP_REG_IRQ_STATUS)
      irq_ = false;
  }

  void hold_memory(bool hold) override { held = hold; }
  bool irq() const override { return irq_; }
  bool idle() const override { return cycles_ >= busy_until; }
  uint32_t passes() const override { return passes_; }
  uint64_t cycles() const override { return cycles_; }
  uint64_t dma_read_beats() const override { return 0; }
  uint64_t dma_write_beats() const override { return 0; }
  uint64_t dma_errors() const override { return 0; }
  bool take_irq_rise() override {
    const bool rose = rose_;
    rose_ = false;
    return rose;
  }

  /// Clear the count of passes, as CONTROL.RESET does.
  void clear_passes() { passes_ = 0; }

  /// Let `count` cycles pass.
  void pass(uint64_t count) {
    while (count--)
      step();
  }

  std::map<uint32_t, uint64_t> registers;
  /// Not idle before this cycle.
  uint64_t busy_until = 0;
  bool dma_failed = false;
  bool held = false;
  unsigned resets = 0;

private:
  static uint64_t field(unsigned shift, uint64_t value) { return value << shift; }
  bool has(uint32_t address, uint64_t bits) const {
    const auto found = registers.find(address);
    return found != registers.end() && (found->second & bits) == bits;
  }
  bool grants() const {
    return has(HWSWAP_REG_CONTROL, HWSWAP_CONTROL_ENABLE) &&
           has(HWSWAP_REG_GRANT_CONTROL, HWSWAP_GRANT_CONTROL_READ | HWSWAP_GRANT_CONTROL_GRANT);
  }

  BusMemory &memory_;
  uint64_t cycles_ = 0;
  uint32_t passes_ = 0;
  bool irq_ = false;
  bool rose_ = false;
};

} // namespace hwswap::test
