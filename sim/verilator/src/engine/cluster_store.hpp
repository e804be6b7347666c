// SPDX-License-Identifier: Apache-2.0
// Where an engine with its clusters in DRAM has them.
#pragma once

#include "engine/command_ring.hpp"
#include "hwswap_map.h"

namespace hwswap {

/// Bytes of a cluster in the store: its bitmap and its record.
constexpr uint64_t store_cluster_bytes = 64 + HWSWAP_STORE_RECORD_SIZE;

/// Bytes of the largest store.
constexpr uint64_t store_bytes = store_cluster_bytes << 20;

/// Its bus address.
constexpr uint64_t store_base = 0x56'7800'0000;

/// Give an engine that has its clusters in DRAM, by its CAPS, memory that holds zeroes; others need none.
inline void give_store(Engine &engine, CommandRing &ring) {
  const uint64_t caps = engine.read_register(HWSWAP_REG_CAPS);
  if (!field_get(caps, HWSWAP_CAPS_DRAM))
    return;
  engine.write_register(HWSWAP_REG_STORE_BASE, store_base);
  ring.permit(1, store_base, field_get(caps, HWSWAP_CAPS_CLUSTERS) * store_cluster_bytes);
}

} // namespace hwswap
