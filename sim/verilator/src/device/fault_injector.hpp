// SPDX-License-Identifier: Apache-2.0
// Faults of a device, injected for tests of the driver between the RTL and the host; the RTL itself stays as it is.
#pragma once

#include "bus/bus_memory.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace hwswap {

/// What the device answers wrongly.
enum class InjectedFault {
  none,
  version, ///< VERSION.MAJOR is one too high
  ones,    ///< registers read as all ones and ignore writes: a device that is gone
  garbage, ///< random hints
  build,   ///< BUILD is that of another engine
  larger,  ///< CAPS has twice the clusters and hint rings twice the size
  device,  ///< hints of swap device 0 name device 1, and the other way round
  astray,  ///< the cluster-state array is looked for 256 MB away from where the host has it
};

class FaultInjector {
public:
  /// The fault begins after `after` register reads.
  FaultInjector(InjectedFault fault, uint64_t after, uint64_t seed) : fault_(fault), after_(after), random_(seed) {}

  /// What the host gets for `value` read from the register at `address` (a multiple of 8).
  uint64_t register_read(uint32_t address, uint64_t value);

  /// What the engine gets for `value` written to the register at `address` (a multiple of 8).
  uint64_t register_write(uint32_t address, uint64_t value);

  /// Whether register writes get lost.
  bool drops_writes() const { return active() && fault_ == InjectedFault::ones; }

  /// Whether the device has to say where its hint rings lie.
  bool wants_hint_rings() const { return fault_ == InjectedFault::garbage || fault_ == InjectedFault::device; }

  /// The hint rings are `bytes` bytes from bus address `base` on.
  void set_hint_rings(uint64_t base, uint64_t bytes);

  /// Write a word for the engine's DMA: into a hint ring, with `garbage`, most words become something else, and now and
  /// then another entry of the rings is overwritten too; with `device` the swap device is another one. The rings are
  /// written only while the engine itself writes them, so that memory which the host has taken back stays untouched.
  bool dma_write(BusMemory &memory, uint64_t address, uint64_t data, uint8_t strobes);

  /// Words spoiled or values replaced so far.
  uint64_t injected() const { return injected_; }

private:
  bool active() const { return fault_ != InjectedFault::none && reads_ >= after_; }
  bool in_hint_rings(uint64_t address) const { return address - hint_base_ < hint_bytes_; }
  /// A random hint; the phase bit of `like` half of the time.
  uint64_t random_hint(uint64_t like);

  InjectedFault fault_;
  uint64_t after_;
  std::mt19937_64 random_;
  uint64_t reads_ = 0;
  uint64_t injected_ = 0;
  uint64_t hint_base_ = 0;
  uint64_t hint_bytes_ = 0;
};

} // namespace hwswap
