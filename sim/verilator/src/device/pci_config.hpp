// SPDX-License-Identifier: Apache-2.0
// PCI configuration space of the simulated device.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace hwswap {

/// 4096 bytes, header type 0: 64-bit memory BARs 0 (registers), 2 (simulation control) and 4 (MSI-X); capabilities
/// MSI-X with one vector and PCI Express (endpoint with function-level reset), extended capability Advanced Error
/// Reporting, which never reports anything.
class PciConfig {
public:
  static constexpr size_t size = 4096;
  static constexpr unsigned bar_registers = 0;
  static constexpr unsigned bar_control = 2;
  static constexpr unsigned bar_msix = 4;
  /// Offset of the pending bits in BAR 4, in bytes; the table begins at 0.
  static constexpr uint32_t pending_offset = 0x800;

  PciConfig() { reset(); }

  /// Back to the state after power-up.
  void reset();

  /// Bytes of BAR `index`, 0 for those that do not exist (upper halves included).
  static uint64_t bar_bytes(unsigned index);

  /// Copy bytes from `offset` on; false when they do not lie inside.
  bool read(uint64_t offset, std::span<uint8_t> data) const;

  /// Write the writable bits of the bytes from `offset` on; false when the bytes do not lie inside.
  bool write(uint64_t offset, std::span<const uint8_t> data);

  /// Whether the host has asked for a function-level reset since the last call.
  bool take_function_reset();

  /// Whether the host lets the device do DMA.
  bool bus_master() const;

private:
  std::array<uint8_t, size> bytes_{};
  /// Bits that the host may write.
  std::array<uint8_t, size> writable_{};
  bool function_reset_ = false;
};

} // namespace hwswap
