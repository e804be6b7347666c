// SPDX-License-Identifier: Apache-2.0
#include "device/simulated_device.hpp"

#include "bus/flat_memory.hpp"
#include "common/bits.hpp"
#include "device/vfio_user_protocol.hpp"
#include "hwswap_map.h"

#include <algorithm>

namespace hwswap {

namespace {

/// ASCII SIMCLOCK, S highest.
constexpr uint64_t simclock_magic = 0x53494d434c4f434b;

} // namespace

SimulatedDevice::SimulatedDevice(Engine &engine, PciConfig &config, GuestMemory &memory, FaultInjector &injector,
                                 Pacer &pacer)
    : engine_(engine), config_(config), memory_(memory), injector_(injector), pacer_(pacer) {}

uint64_t SimulatedDevice::region_bytes(unsigned region) {
  return region == vfio_user::region_config ? PciConfig::size : PciConfig::bar_bytes(region);
}

bool SimulatedDevice::read(unsigned region, uint64_t offset, std::span<uint8_t> data) {
  if (region == vfio_user::region_config)
    return config_.read(offset, data);
  const uint64_t bytes = region_bytes(region);
  if (data.size() > bytes || offset > bytes - data.size())
    return false;
  for (size_t done = 0; done < data.size();) {
    const uint64_t at = offset + done;
    const size_t count = std::min<size_t>(data.size() - done, 8 - at % 8);
    const uint64_t word = read_word(region, at & ~uint64_t{7}) >> (8 * (at % 8));
    for (size_t i = 0; i < count; ++i)
      data[done + i] = static_cast<uint8_t>(word >> (8 * i));
    done += count;
  }
  return true;
}

bool SimulatedDevice::write(unsigned region, uint64_t offset, std::span<const uint8_t> data) {
  if (region == vfio_user::region_config) {
    const bool inside = config_.write(offset, data);
    if (config_.take_function_reset())
      reset();
    return inside;
  }
  const uint64_t bytes = region_bytes(region);
  if (data.size() > bytes || offset > bytes - data.size())
    return false;
  for (size_t done = 0; done < data.size();) {
    const uint64_t at = offset + done;
    const size_t count = std::min<size_t>(data.size() - done, 8 - at % 8);
    uint64_t word = 0;
    uint8_t strobes = 0;
    for (size_t i = 0; i < count; ++i) {
      word |= uint64_t{data[done + i]} << (8 * (at % 8 + i));
      strobes |= static_cast<uint8_t>(1 << (at % 8 + i));
    }
    write_word(region, at & ~uint64_t{7}, word, strobes);
    done += count;
  }
  return true;
}

uint64_t SimulatedDevice::read_word(unsigned region, uint64_t offset) {
  if (region == PciConfig::bar_msix) {
    if (offset == PciConfig::pending_offset)
      return vector_.pending();
    return msix_table_[offset / 8];
  }
  if (region == PciConfig::bar_control) {
    switch (offset) {
    case HWSWAP_SIM_CONTROL_MAGIC_OFFSET:
      return simclock_magic;
    case HWSWAP_SIM_CONTROL_GUEST_TIME_OFFSET:
      return guest_time_;
    case HWSWAP_SIM_CONTROL_CLOCK_OFFSET:
      return pacer_.clock_hz();
    case HWSWAP_SIM_CONTROL_PCI_ID_OFFSET:
      return field_put(HWSWAP_SIM_CONTROL_PCI_ID_VENDOR, HWSWAP_PCI_ID_VENDOR) |
             field_put(HWSWAP_SIM_CONTROL_PCI_ID_DEVICE, HWSWAP_PCI_ID_DEVICE);
    default:
      return 0;
    }
  }
  ++register_reads_;
  const uint64_t begin = engine_.cycles();
  const uint64_t value = engine_.read_register(static_cast<uint32_t>(offset));
  pacer_.accessed(begin);
  after_cycles();
  return injector_.register_read(static_cast<uint32_t>(offset), value);
}

void SimulatedDevice::write_word(unsigned region, uint64_t offset, uint64_t data, uint8_t strobes) {
  if (region == PciConfig::bar_msix)
    msix_table_[offset / 8] = FlatMemory::merge(msix_table_[offset / 8], data, strobes);
  else if (region == PciConfig::bar_control)
    write_control(offset, data, strobes);
  else
    write_register(static_cast<uint32_t>(offset), data, strobes);
}

void SimulatedDevice::write_register(uint32_t offset, uint64_t data, uint8_t strobes) {
  ++register_writes_;
  if (injector_.drops_writes())
    return;
  const uint64_t begin = engine_.cycles();
  // A cycle of rest costs as much to simulate as any other.
  if (offset == HWSWAP_REG_GRANT_CONTROL)
    data &= ~HWSWAP_GRANT_CONTROL_PACE;
  engine_.write_register(offset, injector_.register_write(offset, data), strobes);
  if (offset == HWSWAP_REG_GRANT_RING_BASE && injector_.wants_rings())
    find_rings();
  pacer_.accessed(begin);
  after_cycles();
}

void SimulatedDevice::write_control(uint64_t offset, uint64_t data, uint8_t strobes) {
  if (offset != HWSWAP_SIM_CONTROL_GUEST_TIME_OFFSET)
    return;
  guest_time_ = FlatMemory::merge(guest_time_, data, strobes);
  // As with the engine's registers: the lowest byte makes it count.
  if (strobes & 1) {
    pacer_.guest_time(guest_time_);
    after_cycles();
  }
}

void SimulatedDevice::find_rings() {
  const uint64_t caps = engine_.read_register(HWSWAP_REG_CAPS);
  const uint64_t rings = field_get(caps, HWSWAP_CAPS_CPUS) * field_get(caps, HWSWAP_CAPS_ORDERS);
  const uint64_t log2 = field_get(engine_.read_register(HWSWAP_REG_GRANT_STATE), HWSWAP_GRANT_STATE_RING_LOG2);
  injector_.set_rings(engine_.read_register(HWSWAP_REG_GRANT_RING_BASE), (rings * HWSWAP_GRANT_SIZE) << log2);
}

void SimulatedDevice::after_cycles() {
  if (engine_.take_irq_rise())
    vector_.raise();
  // The engine's own count begins again with CONTROL.RESET.
  const uint32_t passes = engine_.passes();
  passes_ += passes >= last_passes_ ? passes - last_passes_ : passes;
  last_passes_ = passes;
}

void SimulatedDevice::run_slice(uint64_t cycles) {
  pacer_.run_slice(cycles);
  after_cycles();
}

void SimulatedDevice::reset() {
  ++resets_;
  engine_.reset();
  last_passes_ = 0;
  config_.reset();
  vector_.clear();
  pacer_.reset();
  guest_time_ = 0;
  msix_table_ = {};
  injector_.set_rings(0, 0);
}

void SimulatedDevice::client_gone() {
  vector_.connect(FileDescriptor());
  memory_.clear();
  reset();
}

nlohmann::json SimulatedDevice::statistics() const {
  return {{"cycles", engine_.cycles()},
          {"dma_read_beats", engine_.dma_read_beats()},
          {"dma_write_beats", engine_.dma_write_beats()},
          {"dma_errors", engine_.dma_errors()},
          {"passes", passes_},
          {"register_reads", register_reads_},
          {"register_writes", register_writes_},
          {"interrupts", vector_.raised()},
          {"resets", resets_},
          {"injected", injector_.injected()}};
}

} // namespace hwswap
