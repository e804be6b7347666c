// SPDX-License-Identifier: Apache-2.0
// Between the engine's DMA and the guest's memory: what PCI and the liar have to say.
#pragma once

#include "bus_memory.hpp"
#include "liar.hpp"
#include "pci_config.hpp"

namespace hwswap {

/// Lets DMA through while the guest has switched bus mastering on; otherwise nothing answers.
class DmaPort final : public BusMemory {
public:
  DmaPort(BusMemory &guest, const PciConfig &config, Liar &liar) : guest_(guest), config_(config), liar_(liar) {}

  bool read(uint64_t address, uint64_t &data) override { return config_.bus_master() && guest_.read(address, data); }

  bool write(uint64_t address, uint64_t data, uint8_t strobes) override {
    return config_.bus_master() && liar_.dma_write(guest_, address, data, strobes);
  }

private:
  BusMemory &guest_;
  const PciConfig &config_;
  Liar &liar_;
};

} // namespace hwswap
