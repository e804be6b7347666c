// SPDX-License-Identifier: Apache-2.0
// Host memory of the replayer: one range of zeroed words at a chosen bus address.
#pragma once

#include "bus/bus_memory.hpp"

#include <cstddef>
#include <vector>

namespace hwswap {

/// Words at bus addresses base() to base() + size() - 1; everything else does not exist.
class FlatMemory final : public BusMemory {
public:
  /// `base` and `bytes` are multiples of 8.
  FlatMemory(uint64_t base, size_t bytes) : base_(base), words_(bytes / 8) {}

  uint64_t base() const { return base_; }
  size_t size() const { return words_.size() * 8; }

  /// The word at byte `offset` (a multiple of 8) from base(), for the host's side.
  uint64_t &word(size_t offset) { return words_.at(offset / 8); }

  bool read(uint64_t address, uint64_t &data) override {
    if (!inside(address))
      return false;
    data = words_[(address - base_) / 8];
    return true;
  }

  bool write(uint64_t address, uint64_t data, uint8_t strobes) override {
    if (!inside(address))
      return false;
    uint64_t &word = words_[(address - base_) / 8];
    word = merge(word, data, strobes);
    return true;
  }

  /// `old` with the bytes that `strobes` names taken from `data`.
  static uint64_t merge(uint64_t old, uint64_t data, uint8_t strobes) {
    for (unsigned byte = 0; byte < 8; ++byte)
      if (strobes >> byte & 1) {
        const uint64_t mask = uint64_t{0xff} << (8 * byte);
        old = (old & ~mask) | (data & mask);
      }
    return old;
  }

private:
  bool inside(uint64_t address) const { return address >= base_ && address - base_ < size(); }

  uint64_t base_;
  std::vector<uint64_t> words_;
};

} // namespace hwswap
