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
    return value + field_put(HWSWAP_CAPS_CLUSTERS, field_get(value, HWSWAP_CAPS_CLUSTERS)) +
           field_put(HWSWAP_CAPS_HINT_RING_LOG2, 1);
  }
  return value;
}

uint64_t FaultInjector::register_write(uint32_t address, uint64_t value) {
  if (!active() || fault_ != InjectedFault::astray || address != HWSWAP_REG_STATE_BASE)
    return value;
  ++injected_;
  return value ^ (256u << 20);
}

void FaultInjector::set_hint_rings(uint64_t base, uint64_t bytes) {
  hint_base_ = base;
  hint_bytes_ = bytes;
}

uint64_t FaultInjector::random_hint(uint64_t like) {
  uint64_t hint = random_();
  // Entirely random words are recognised at once by their phase, order or epoch. The dangerous ones look right, so
  // each field that could give it away is kept with an even chance, and offsets are mostly small.
  const uint64_t keep = random_();
  const auto copy = [&](unsigned bit, uint64_t mask) {
    if (keep >> bit & 1)
      hint = (hint & ~mask) | (like & mask);
  };
  copy(0, HWSWAP_HINT_HINT_PHASE);
  copy(1, HWSWAP_HINT_HINT_VALID);
  copy(2, HWSWAP_HINT_HINT_ORDER);
  copy(3, HWSWAP_HINT_HINT_TYPE);
  copy(4, HWSWAP_HINT_HINT_EPOCH);
  if (keep >> 5 & 3) {
    const uint64_t small = field_get(hint, HWSWAP_HINT_HINT_SLOT) & 0x3ffff;
    hint = (hint & ~HWSWAP_HINT_HINT_SLOT) | field_put(HWSWAP_HINT_HINT_SLOT, small);
  }
  return hint;
}

bool FaultInjector::dma_write(BusMemory &memory, uint64_t address, uint64_t data, uint8_t strobes) {
  if (!wants_hint_rings() || !active() || !in_hint_rings(address) || strobes != 0xff)
    return memory.write(address, data, strobes);
  if (fault_ == InjectedFault::device) {
    ++injected_;
    return memory.write(address, data ^ field_put(HWSWAP_HINT_HINT_TYPE, 1), strobes);
  }
  const uint64_t dice = random_();
  if ((dice & 3) != 0) {
    ++injected_;
    data = random_hint(data);
  }
  if ((dice >> 2 & 7) == 0) {
    ++injected_;
    const uint64_t other = hint_base_ + random_() % (hint_bytes_ / HWSWAP_HINT_SIZE) * HWSWAP_HINT_SIZE;
    memory.write(other, random_hint(data), 0xff);
  }
  return memory.write(address, data, strobes);
}

} // namespace hwswap
