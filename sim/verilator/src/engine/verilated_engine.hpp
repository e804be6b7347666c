// SPDX-License-Identifier: Apache-2.0
// The Verilated RTL with its two buses attached.
#pragma once

#include "bus/axi_memory.hpp"
#include "bus/axil_master.hpp"
#include "engine/engine.hpp"

#include <memory>
#include <string>

class VHwSwap;
class VerilatedContext;
class VerilatedFstC;

namespace hwswap {

/// Options of the simulation itself.
struct SimulationOptions {
  AxiTiming timing;
  /// Seed of the registers' values before reset.
  uint32_t seed = 1;
  /// Wave file to write (FST), or empty. Only in a build with waves.
  std::string waves;
  /// File for line and toggle coverage, written when the engine goes, or empty. Only in a build with coverage.
  std::string coverage;
  /// The active fault, 0 for none. Only in a build of a model with faults.
  uint32_t fault = 0;
  /// A register transaction that takes longer (cycles) counts as hanging; a clear of the largest store fits well in.
  uint64_t patience = 1'000'000;
  /// A simulation that takes more cycles counts as hanging, 0: it may take any number.
  uint64_t max_cycles = 0;
};

/// Engine made of the Verilated module HwSwap. Assertions of the RTL and missing answers throw EngineError.
class VerilatedEngine final : public Engine {
public:
  VerilatedEngine(BusMemory &memory, const SimulationOptions &options);
  ~VerilatedEngine() override;

  void reset() override;
  void step() override;
  uint64_t read_register(uint32_t address) override;
  void write_register(uint32_t address, uint64_t data, uint8_t strobes = 0xff) override;
  std::vector<uint64_t> access_registers(const std::vector<RegisterAccess> &accesses) override;
  bool irq() const override { return irq_; }
  bool idle() const override { return idle_; }
  uint32_t passes() const override { return passes_; }
  uint64_t cycles() const override { return cycles_; }
  uint64_t dma_read_beats() const override { return memory_.read_beats(); }
  uint64_t dma_write_beats() const override { return memory_.write_beats(); }
  uint64_t dma_errors() const override { return memory_.errors(); }

  void hold_memory(bool hold) override { memory_.hold(hold); }
  bool take_irq_rise() override;

private:
  void drive();
  std::vector<uint64_t> finish_transactions(const std::string &what);
  void dump_waves();

  std::unique_ptr<VerilatedContext> context_;
  std::string coverage_;
  std::unique_ptr<VHwSwap> model_;
#ifdef HWSWAP_WAVES
  std::unique_ptr<VerilatedFstC> waves_;
#endif
  const uint64_t patience_;
  const uint64_t max_cycles_;
  AxiMemory memory_;
  AxilMaster registers_;
  uint64_t cycles_ = 0;
  bool irq_ = false;
  bool irq_rose_ = false;
  bool idle_ = false;
  uint32_t passes_ = 0;
};

} // namespace hwswap
