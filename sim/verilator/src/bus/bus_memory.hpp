// SPDX-License-Identifier: Apache-2.0
// Memory that the engine's DMA reaches.
#pragma once

#include <cstdint>

namespace hwswap {

/// Memory at the engine's AXI4 master, in aligned words of 8 bytes.
class BusMemory {
public:
  virtual ~BusMemory() = default;

  /// Read the word at `address` (a multiple of 8) in one access; false where there is no memory.
  virtual bool read(uint64_t address, uint64_t &data) = 0;

  /// Write the bytes of `data` that `strobes` names (bit i: byte i), all eight in one access; false where nothing can
  /// be written.
  virtual bool write(uint64_t address, uint64_t data, uint8_t strobes) = 0;
};

} // namespace hwswap
