// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics.hpp"

#include "hwswap_map.h"

#include <utility>

namespace hwswap {

nlohmann::json read_statistics(Engine &engine) {
  static constexpr std::pair<const char *, uint32_t> registers[] = {
      {"cycles", HWSWAP_REG_STAT_CYCLES},
      {"busy_cycles", HWSWAP_REG_STAT_BUSY_CYCLES},
      {"commands", HWSWAP_REG_STAT_COMMANDS},
      {"command_errors", HWSWAP_REG_STAT_COMMAND_ERRORS},
      {"alloc_fast", HWSWAP_REG_STAT_ALLOC_FAST},
      {"alloc_nonfull", HWSWAP_REG_STAT_ALLOC_NONFULL},
      {"alloc_free", HWSWAP_REG_STAT_ALLOC_FREE},
      {"alloc_frag", HWSWAP_REG_STAT_ALLOC_FRAG},
      {"alloc_steal", HWSWAP_REG_STAT_ALLOC_STEAL},
      {"alloc_fail", HWSWAP_REG_STAT_ALLOC_FAIL},
      {"frees", HWSWAP_REG_STAT_FREES},
      {"scans", HWSWAP_REG_STAT_SCANS},
      {"list_moves", HWSWAP_REG_STAT_LIST_MOVES},
      {"dma_read_beats", HWSWAP_REG_STAT_DMA_READ_BEATS},
      {"dma_write_beats", HWSWAP_REG_STAT_DMA_WRITE_BEATS}};
  nlohmann::json out;
  for (const auto &[name, offset] : registers)
    out[name] = engine.read_register(offset);
  return out;
}

} // namespace hwswap
