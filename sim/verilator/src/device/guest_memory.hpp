// SPDX-License-Identifier: Apache-2.0
// The client's memory, as far as it lets the device reach it.
#pragma once

#include "bus/bus_memory.hpp"
#include "common/file_descriptor.hpp"

#include <cstddef>
#include <vector>

namespace hwswap {

/// DMA address ranges, sorted, each with a mapping of the client's file or with none.
///
/// Ranges without a file (QEMU's ROMs) are known but not reachable: an access fails as if nothing were there.
class GuestMemory final : public BusMemory {
public:
  GuestMemory() = default;
  ~GuestMemory() override;
  GuestMemory(const GuestMemory &) = delete;
  GuestMemory &operator=(const GuestMemory &) = delete;

  /// Add [address, address + size), which lies at `offset` of `fd` (may be empty: not reachable). Returns 0 or an errno
  /// value: EEXIST when it overlaps another range, EINVAL when it is empty or not aligned to pages.
  int map(uint64_t address, uint64_t size, uint64_t offset, bool writable, FileDescriptor fd);

  /// Remove the range that begins at `address` and has `size` bytes; ENOENT when there is no such range.
  int unmap(uint64_t address, uint64_t size);

  /// Remove all ranges.
  void clear();

  size_t ranges() const { return ranges_.size(); }

  bool read(uint64_t address, uint64_t &data) override;
  bool write(uint64_t address, uint64_t data, uint8_t strobes) override;

private:
  struct Range {
    uint64_t address;
    uint64_t size;
    /// Its mapping here; null without a file.
    std::byte *host;
    bool writable;
  };

  /// The reachable range that holds the 8 bytes at `address`, or null.
  const Range *find(uint64_t address);

  std::vector<Range> ranges_;
  /// Index of the range found last: nearly always the next one too.
  size_t last_ = 0;
};

} // namespace hwswap
