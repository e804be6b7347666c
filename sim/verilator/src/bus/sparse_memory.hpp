// SPDX-License-Identifier: Apache-2.0
// A large range of memory of which only the pages that were written to take room.
#pragma once

#include "bus/bus_memory.hpp"
#include "bus/flat_memory.hpp"

#include <array>
#include <memory>
#include <unordered_map>

namespace hwswap {

/// Words at bus addresses base to base + bytes - 1; 0 where nothing was written; everything else does not exist.
class SparseMemory final : public BusMemory {
public:
  static constexpr uint64_t page_bytes = 4096;

  SparseMemory(uint64_t base, uint64_t bytes) : base_(base), bytes_(bytes) {}

  uint64_t base() const { return base_; }
  /// Pages that were written to.
  size_t pages() const { return pages_.size(); }

  bool read(uint64_t address, uint64_t &data) override {
    if (!inside(address))
      return false;
    const auto page = pages_.find(address / page_bytes);
    data = page == pages_.end() ? 0 : (*page->second)[address % page_bytes / 8];
    return true;
  }

  bool write(uint64_t address, uint64_t data, uint8_t strobes) override {
    if (!inside(address))
      return false;
    auto &page = pages_[address / page_bytes];
    if (!page)
      page = std::make_unique<Page>();
    uint64_t &word = (*page)[address % page_bytes / 8];
    word = FlatMemory::merge(word, data, strobes);
    return true;
  }

private:
  using Page = std::array<uint64_t, page_bytes / 8>;

  bool inside(uint64_t address) const { return address >= base_ && address - base_ < bytes_; }

  uint64_t base_;
  uint64_t bytes_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

/// Two memories on one bus; where the first has nothing, the second is asked.
class JoinedMemory final : public BusMemory {
public:
  JoinedMemory(BusMemory &first, BusMemory &second) : first_(first), second_(second) {}

  bool read(uint64_t address, uint64_t &data) override {
    return first_.read(address, data) || second_.read(address, data);
  }

  bool write(uint64_t address, uint64_t data, uint8_t strobes) override {
    return first_.write(address, data, strobes) || second_.write(address, data, strobes);
  }

private:
  BusMemory &first_;
  BusMemory &second_;
};

} // namespace hwswap
