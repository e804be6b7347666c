// SPDX-License-Identifier: Apache-2.0
#include "device/guest_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <sys/mman.h>

namespace hwswap {

namespace {

constexpr uint64_t page_mask = 4095;

} // namespace

GuestMemory::~GuestMemory() { clear(); }

int GuestMemory::map(uint64_t address, uint64_t size, uint64_t offset, bool writable, FileDescriptor fd) {
  if (size == 0 || (address | size | offset) & page_mask || address + size - 1 < address)
    return EINVAL;
  const auto next = std::lower_bound(ranges_.begin(), ranges_.end(), address,
                                     [](const Range &range, uint64_t value) { return range.address < value; });
  if (next != ranges_.end() && next->address - address < size)
    return EEXIST;
  if (next != ranges_.begin() && address - std::prev(next)->address < std::prev(next)->size)
    return EEXIST;
  void *host = nullptr;
  if (fd) {
    host = mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd.get(),
                static_cast<off_t>(offset));
    if (host == MAP_FAILED)
      return errno;
  }
  ranges_.insert(next, {address, size, static_cast<std::byte *>(host), writable});
  last_ = 0;
  return 0;
}

int GuestMemory::unmap(uint64_t address, uint64_t size) {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                  [&](const Range &range) { return range.address == address && range.size == size; });
  if (found == ranges_.end())
    return ENOENT;
  if (found->host)
    munmap(found->host, found->size);
  ranges_.erase(found);
  last_ = 0;
  return 0;
}

void GuestMemory::clear() {
  for (const Range &range : ranges_)
    if (range.host)
      munmap(range.host, range.size);
  ranges_.clear();
  last_ = 0;
}

const GuestMemory::Range *GuestMemory::find(uint64_t address) {
  const auto holds = [address](const Range &range) { return address - range.address < range.size; };
  if (last_ >= ranges_.size() || !holds(ranges_[last_])) {
    const auto next = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                       [](uint64_t value, const Range &range) { return value < range.address; });
    if (next == ranges_.begin() || !holds(*std::prev(next)))
      return nullptr;
    last_ = static_cast<size_t>(std::prev(next) - ranges_.begin());
  }
  return ranges_[last_].host ? &ranges_[last_] : nullptr;
}

// The guest's CPUs look at the same memory at the same time: every word is one atomic access, and accesses keep their
// order, as on a real bus. Once a write was answered, CPUs see it, and later reads return newer data: on this machine
// only a full barrier keeps a load after a store.

bool GuestMemory::read(uint64_t address, uint64_t &data) {
  const Range *range = find(address);
  if (!range)
    return false;
  auto *word = reinterpret_cast<uint64_t *>(range->host + (address - range->address));
  data = std::atomic_ref<uint64_t>(*word).load(std::memory_order_acquire);
  return true;
}

bool GuestMemory::write(uint64_t address, uint64_t data, uint8_t strobes) {
  const Range *range = find(address);
  if (!range || !range->writable)
    return false;
  std::byte *host = range->host + (address - range->address);
  if (strobes == 0xff) {
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t *>(host)).store(data, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return true;
  }
  for (unsigned i = 0; i < 8; ++i)
    if (strobes >> i & 1)
      std::atomic_ref<uint8_t>(reinterpret_cast<uint8_t *>(host)[i])
          .store(static_cast<uint8_t>(data >> (8 * i)), std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

} // namespace hwswap
