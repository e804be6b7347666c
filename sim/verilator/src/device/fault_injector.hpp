// SPDX-License-Identifier: Apache-2.0
// Faults of a device, injected for tests of the driver between the RTL and the host; the RTL itself stays as it is.
#pragma once

#include "bus/bus_memory.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace hwswap {

/// Wrong answers of the device.
enum class InjectedFault {
  none,
  version, ///< VERSION.MAJOR is one too high
  ones,    ///< registers read as all ones and ignore writes: a device that is gone
  garbage, ///< random grants
  build,   ///< BUILD is that of another engine
  larger,  ///< CAPS has twice the clusters
  device,  ///< grants of swap device 0 name device 1, with its epoch, and the other way round
  astray,  ///< words of clusters are read 256 MB away from where the host has them
};

class FaultInjector {
public:
  /// The fault begins after `after` register reads.
  FaultInjector(InjectedFault fault, uint64_t after, uint64_t seed) : fault_(fault), after_(after), random_(seed) {}

  /// Return the value the host gets for `value` read from the register at `address` (a multiple of 8).
  uint64_t register_read(uint32_t address, uint64_t value);

  /// Return the value the engine gets for `value` written to the register at `address` (a multiple of 8).
  uint64_t register_write(uint32_t address, uint64_t value);

  /// Whether register writes get lost.
  bool drops_writes() const { return active() && fault_ == InjectedFault::ones; }

  /// Whether the device has to say where its rings of grants lie.
  bool wants_rings() const { return fault_ == InjectedFault::garbage || fault_ == InjectedFault::device; }

  /// The rings of grants are `bytes` bytes from bus address `base` on.
  void set_rings(uint64_t base, uint64_t bytes);

  /// Write a word for the engine's DMA: in a ring of grants, where each is a grant, with `garbage` most become
  /// something else, and now and then another one is overwritten too; with `device` the swap device is another one. The
  /// rings are written only while the engine itself writes them, so that memory which the host has taken back stays
  /// untouched.
  bool dma_write(BusMemory &memory, uint64_t address, uint64_t data, uint8_t strobes);

  /// Words spoiled or values replaced so far.
  uint64_t injected() const { return injected_; }

private:
  bool active() const { return fault_ != InjectedFault::none && reads_ >= after_; }
  bool in_rings(uint64_t address) const { return address - ring_base_ < ring_bytes_; }
  /// `place` as the other one of devices 0 and 1 has it (2 and 3, and so on).
  uint64_t other_device(uint64_t place) const;
  /// A random grant; each field of `like` half of the time.
  uint64_t random_place(uint64_t like);

  InjectedFault fault_;
  uint64_t after_;
  std::mt19937_64 random_;
  uint64_t reads_ = 0;
  uint64_t injected_ = 0;
  uint64_t ring_base_ = 0;
  uint64_t ring_bytes_ = 0;
  /// The last epoch that the host gave each swap device.
  std::array<uint64_t, 32> epochs_ = {};
};

} // namespace hwswap
