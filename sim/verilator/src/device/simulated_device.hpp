// SPDX-License-Identifier: Apache-2.0
// The PCI device: configuration space, three BARs, one interrupt, around a simulated engine.
#pragma once

#include "device/fault_injector.hpp"
#include "device/guest_memory.hpp"
#include "device/msix_vector.hpp"
#include "device/pacing.hpp"
#include "device/pci_config.hpp"
#include "engine/engine.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <span>

namespace hwswap {

class SimulatedDevice {
public:
  /// `config`, `memory` and `injector` are those the engine's DMA passes through (DmaPort).
  SimulatedDevice(Engine &engine, PciConfig &config, GuestMemory &memory, FaultInjector &injector, Pacer &pacer);

  /// Bytes of a region (vfio numbering), 0 for those that do not exist.
  static uint64_t region_bytes(unsigned region);

  /// Access bytes of a region; false when they do not lie inside it.
  bool read(unsigned region, uint64_t offset, std::span<uint8_t> data);
  bool write(unsigned region, uint64_t offset, std::span<const uint8_t> data);

  /// Reset of the whole device, engine included.
  void reset();

  /// The client has gone: its memory and interrupt with it, and the device is reset.
  void client_gone();

  GuestMemory &memory() { return memory_; }
  MsixVector &vector() { return vector_; }
  Pacer &pacer() { return pacer_; }

  /// Free running: let the engine run for a while, at most `cycles`.
  void run_slice(uint64_t cycles);

  /// Counts since the start, for --stats-json.
  nlohmann::json statistics() const;

private:
  uint64_t read_word(unsigned region, uint64_t offset);
  void write_word(unsigned region, uint64_t offset, uint64_t data, uint8_t strobes);
  void write_register(uint32_t offset, uint64_t data, uint8_t strobes);
  void write_control(uint64_t offset, uint64_t data, uint8_t strobes);
  /// The engine's clock has run: pass its interrupt on, count its passes.
  void after_cycles();
  void find_rings();

  Engine &engine_;
  PciConfig &config_;
  GuestMemory &memory_;
  FaultInjector &injector_;
  Pacer &pacer_;
  MsixVector vector_;
  uint64_t guest_time_ = 0;
  /// The guest's writes to BAR 4: QEMU keeps the working MSI-X table itself.
  std::array<uint64_t, 512> msix_table_{};
  uint64_t register_reads_ = 0;
  uint64_t register_writes_ = 0;
  uint64_t resets_ = 0;
  uint64_t passes_ = 0;
  uint32_t last_passes_ = 0;
};

} // namespace hwswap
