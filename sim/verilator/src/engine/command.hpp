// SPDX-License-Identifier: Apache-2.0
// Commands and completions of the generated map as structures.
#pragma once

#include "common/bits.hpp"
#include "hwswap_map.h"

#include <array>
#include <cstdint>
#include <string>

namespace hwswap {

/// One command; fields an opcode does not name are 0.
struct Command {
  uint8_t opcode = HWSWAP_OPCODE_NOP;
  uint8_t cpu = 0;
  uint8_t order = 0;
  uint8_t type = 0;
  uint16_t nr = 0;
  uint64_t arg0 = 0;
  uint64_t arg1 = 0;
  uint64_t arg2 = 0;

  /// The four words as they lie in the ring.
  std::array<uint64_t, 4> words() const {
    return {field_put(HWSWAP_COMMAND_HEAD_OPCODE, opcode) | field_put(HWSWAP_COMMAND_HEAD_CPU, cpu) |
                field_put(HWSWAP_COMMAND_HEAD_ORDER, order) | field_put(HWSWAP_COMMAND_HEAD_TYPE, type) |
                field_put(HWSWAP_COMMAND_HEAD_NR, nr),
            arg0, arg1, arg2};
  }
};

/// The engine's answer to a command.
struct Completion {
  uint8_t status = 0;
  uint8_t opcode = 0;
  uint16_t index = 0;
  uint32_t cycles = 0;
  uint8_t type = 0;
  uint64_t slot = 0;

  static Completion from_words(uint64_t result, uint64_t info) {
    return {static_cast<uint8_t>(field_get(info, HWSWAP_COMPLETION_INFO_STATUS)),
            static_cast<uint8_t>(field_get(info, HWSWAP_COMPLETION_INFO_OPCODE)),
            static_cast<uint16_t>(field_get(info, HWSWAP_COMPLETION_INFO_INDEX)),
            static_cast<uint32_t>(field_get(info, HWSWAP_COMPLETION_INFO_CYCLES)),
            static_cast<uint8_t>(field_get(result, HWSWAP_COMPLETION_RESULT_TYPE)),
            field_get(result, HWSWAP_COMPLETION_RESULT_SLOT)};
  }
};

/// Name of a status code, or its number.
std::string status_name(uint8_t status);

} // namespace hwswap
