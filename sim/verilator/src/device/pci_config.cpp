// SPDX-License-Identifier: Apache-2.0
#include "device/pci_config.hpp"

#include "hwswap_map.h"

#include <algorithm>
#include <utility>

namespace hwswap {

namespace {

// Offsets and bits as the PCI Local Bus specification, revision 3.0, and the PCI Express Base specification, revision
// 2.0, give them.
constexpr size_t vendor_id = 0x00;
constexpr size_t device_id = 0x02;
constexpr size_t command = 0x04;
constexpr size_t status = 0x06;
constexpr size_t revision = 0x08;
constexpr size_t class_code = 0x09;
constexpr size_t cache_line = 0x0c;
constexpr size_t bar0 = 0x10;
constexpr size_t subsystem_vendor = 0x2c;
constexpr size_t subsystem = 0x2e;
constexpr size_t capabilities = 0x34;
constexpr size_t interrupt_line = 0x3c;
constexpr size_t msix = 0x40;
constexpr size_t express = 0x50;
constexpr size_t error_reporting = 0x100;

constexpr uint16_t command_memory = 1 << 1;
constexpr uint16_t command_master = 1 << 2;
constexpr uint16_t command_intx_disable = 1 << 10;
constexpr uint16_t status_capabilities = 1 << 4;
constexpr uint32_t bar_memory_64 = 1 << 2;
constexpr uint8_t capability_msix = 0x11;
constexpr uint16_t msix_enable_and_mask = 0xc000;
constexpr uint8_t capability_express = 0x10;
/// Version 2; device type 0, an endpoint.
constexpr uint16_t express_flags = 0x0002;
constexpr uint32_t express_function_reset_capable = 1u << 28;
/// Errors are reported, Relaxed Ordering and No Snoop may be used: as the specification has it after a reset, but for
/// the first, for which a host would have to ask.
constexpr uint16_t express_control_reset = 0x2810;
constexpr uint16_t express_control_writable = 0x7fff;
constexpr uint16_t express_control_function_reset = 1 << 15;
/// 2.5 GT/s, one lane.
constexpr uint32_t express_link = 0x11;
/// Extended capability 1, version 2, the last one.
constexpr uint32_t extended_error_reporting = 0x00020001;
constexpr uint32_t error_severity_reset = 0x00062030;
constexpr uint32_t error_correctable_mask_reset = 0x00002000;
/// Base system peripheral, other.
constexpr uint32_t class_other_peripheral = 0x088000;

void put(std::array<uint8_t, PciConfig::size> &bytes, size_t offset, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i)
    bytes[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}

bool inside(uint64_t offset, size_t count) { return offset <= PciConfig::size && count <= PciConfig::size - offset; }

} // namespace

uint64_t PciConfig::bar_bytes(unsigned index) {
  switch (index) {
  case bar_registers:
    return HWSWAP_BAR_SIZE;
  case bar_control:
  case bar_msix:
    return 4096;
  default:
    return 0;
  }
}

void PciConfig::reset() {
  bytes_ = {};
  writable_ = {};
  put(bytes_, vendor_id, HWSWAP_PCI_ID_VENDOR, 2);
  put(bytes_, device_id, HWSWAP_PCI_ID_DEVICE, 2);
  put(writable_, command, command_memory | command_master | command_intx_disable, 2);
  put(bytes_, status, status_capabilities, 2);
  put(bytes_, revision, 1, 1);
  put(bytes_, class_code, class_other_peripheral, 3);
  put(writable_, cache_line, 0xff, 1);
  put(bytes_, subsystem_vendor, HWSWAP_PCI_ID_VENDOR, 2);
  put(bytes_, subsystem, HWSWAP_PCI_ID_DEVICE, 2);
  put(bytes_, capabilities, msix, 1);
  put(writable_, interrupt_line, 0xff, 1);
  for (unsigned bar = 0; bar < 6; bar += 2) {
    put(bytes_, bar0 + 4 * bar, bar_memory_64, 4);
    put(writable_, bar0 + 4 * bar, ~(bar_bytes(bar) - 1), 8);
  }
  put(bytes_, msix, capability_msix, 1);
  // Message control: the table's size minus one (0) in the low bits; then table and pending bits, each offset | BAR.
  put(writable_, msix + 2, msix_enable_and_mask, 2);
  put(bytes_, msix + 4, bar_msix, 4);
  put(bytes_, msix + 8, pending_offset | bar_msix, 4);
  put(bytes_, msix + 1, express, 1);

  put(bytes_, express, capability_express, 1);
  put(bytes_, express + 2, express_flags, 2);
  put(bytes_, express + 4, express_function_reset_capable, 4);
  put(bytes_, express + 8, express_control_reset, 2);
  put(writable_, express + 8, express_control_writable, 2);
  put(bytes_, express + 12, express_link, 4);
  put(bytes_, express + 18, express_link, 2);

  put(bytes_, error_reporting, extended_error_reporting, 4);
  put(writable_, error_reporting + 8, 0xffffffff, 4);
  put(bytes_, error_reporting + 12, error_severity_reset, 4);
  put(writable_, error_reporting + 12, 0xffffffff, 4);
  put(bytes_, error_reporting + 20, error_correctable_mask_reset, 4);
  put(writable_, error_reporting + 20, 0xffffffff, 4);
}

bool PciConfig::read(uint64_t offset, std::span<uint8_t> data) const {
  if (!inside(offset, data.size()))
    return false;
  std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), data.size(), data.begin());
  return true;
}

bool PciConfig::write(uint64_t offset, std::span<const uint8_t> data) {
  if (!inside(offset, data.size()))
    return false;
  for (size_t i = 0; i < data.size(); ++i) {
    const uint8_t mask = writable_[offset + i];
    bytes_[offset + i] = static_cast<uint8_t>((bytes_[offset + i] & ~mask) | (data[i] & mask));
    // A bit that starts something, and reads 0.
    function_reset_ |= offset + i == express + 9 && data[i] & express_control_function_reset >> 8;
  }
  return true;
}

bool PciConfig::take_function_reset() { return std::exchange(function_reset_, false); }

bool PciConfig::bus_master() const { return bytes_[command] & command_master; }

} // namespace hwswap
