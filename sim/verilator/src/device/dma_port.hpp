// SPDX-License-Identifier: Apache-2.0
// Between the engine's DMA and the guest's memory: the effects of PCI and of the injector.
#pragma once

#include "bus/bus_memory.hpp"
#include "device/fault_injector.hpp"
#include "device/pci_config.hpp"

namespace hwswap {

/// Lets DMA through while the guest has switched bus mastering on; otherwise nothing answers.
class DmaPort final : public BusMemory {
public:
  DmaPort(BusMemory &guest, const PciConfig &config, FaultInjector &injector)
      : guest_(guest), config_(config), injector_(injector) {}

  bool read(uint64_t address, uint64_t &data) override { return config_.bus_master() && guest_.read(address, data); }

  bool write(uint64_t address, uint64_t data, uint8_t strobes) override {
    return config_.bus_master() && injector_.dma_write(guest_, address, data, strobes);
  }

private:
  BusMemory &guest_;
  const PciConfig &config_;
  FaultInjector &injector_;
};

} // namespace hwswap
