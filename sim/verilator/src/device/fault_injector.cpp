// SPDX-License-Identifier: Apache-2.0
#include "device/fault_injector.hpp"

#include "common/bits.hpp"
#include "hwswap_map.h"

namespace hwswap {

uint64_t FaultInjector::register_read(uint32_t address, uint64_t value) {
  const bool lying = active();
  ++reads_;
  if (lying && fault_ == InjectedFault::ones) {
    ++injected_;
    return ~uint64_t{0};
  }
  if (lying && fault_ == InjectedFault::version && address == HWSWAP_REG_VERSION) {
    ++injected_;
    return value + field_put(HWSWAP_VERSION_MAJOR, 1);
  }
  if (lying && fault_ == InjectedFault::build && address == HWSWAP_REG_BUILD) {
    ++injected_;
    return ~value;
  }
  if (lying && fault_ == InjectedFault::larger && address == HWSWAP_REG_CAPS) {
    ++injected_;
    return value + field_put(HWSWAP_CAPS_CLUSTERS, field_get(value, HWSWAP_CAPS_CLUSTERS));
  }
  return value;
}

uint64_t FaultInjector::register_write(uint32_t address, uint64_t value) {
  if (address == HWSWAP_REG_GRANT_DEVICE)
    epochs_[field_get(value, HWSWAP_GRANT_DEVICE_TYPE)] = field_get(value, HWSWAP_GRANT_DEVICE_EPOCH);
  if (!active() || fault_ != InjectedFault::astray || address != HWSWAP_REG_GRANT_WORD_BASE)
    return value;
  ++injected_;
  return value ^ (256u << 20);
}

void FaultInjector::set_rings(uint64_t base, uint64_t bytes) {
  ring_base_ = base;
  ring_bytes_ = bytes;
}

uint64_t FaultInjector::other_device(uint64_t place) const {
  const uint64_t type = field_get(place, HWSWAP_GRANT_PLACE_TYPE) ^ 1;
  return (place & ~(HWSWAP_GRANT_PLACE_TYPE | HWSWAP_GRANT_PLACE_EPOCH)) | field_put(HWSWAP_GRANT_PLACE_TYPE, type) |
         field_put(HWSWAP_GRANT_PLACE_EPOCH, epochs_[type]);
}

uint64_t FaultInjector::random_place(uint64_t like) {
  uint64_t place = random_();
  // Entirely random words are recognised at once by their phase, order or epoch. The dangerous ones look right, so
  // each field that could give it away is kept with an even chance, and clusters are mostly of small numbers.
  const uint64_t keep = random_();
  const auto copy = [&](unsigned bit, uint64_t mask) {
    if (keep >> bit & 1)
      place = (place & ~mask) | (like & mask);
  };
  copy(0, HWSWAP_GRANT_PLACE_PHASE);
  copy(1, HWSWAP_GRANT_PLACE_VALID);
  copy(2, HWSWAP_GRANT_PLACE_ORDER);
  copy(3, HWSWAP_GRANT_PLACE_TYPE);
  copy(4, HWSWAP_GRANT_PLACE_EPOCH);
  if (keep >> 5 & 3) {
    const uint64_t small = field_get(place, HWSWAP_GRANT_PLACE_CLUSTER) & 0x1ff;
    place = (place & ~HWSWAP_GRANT_PLACE_CLUSTER) | field_put(HWSWAP_GRANT_PLACE_CLUSTER, small);
  }
  return place;
}

bool FaultInjector::dma_write(BusMemory &memory, uint64_t address, uint64_t data, uint8_t strobes) {
  if (!wants_rings() || !active() || !in_rings(address) || strobes != 0xff)
    return memory.write(address, data, strobes);
  if (fault_ == InjectedFault::device) {
    ++injected_;
    return memory.write(address, other_device(data), strobes);
  }
  const uint64_t dice = random_();
  if ((dice & 3) != 0) {
    ++injected_;
    data = random_place(data);
  }
  if ((dice >> 2 & 7) == 0) {
    ++injected_;
    const uint64_t other = ring_base_ + random_() % (ring_bytes_ / HWSWAP_GRANT_SIZE) * HWSWAP_GRANT_SIZE;
    memory.write(other, random_place(data), 0xff);
  }
  return memory.write(address, data, strobes);
}

} // namespace hwswap
