// SPDX-License-Identifier: Apache-2.0
#include "engine/command.hpp"

#include <utility>

namespace hwswap {

std::string status_name(uint8_t status) {
  static constexpr std::pair<uint8_t, const char *> names[] = {{HWSWAP_STATUS_OK, "OK"},
                                                               {HWSWAP_STATUS_NO_SPACE, "NO_SPACE"},
                                                               {HWSWAP_STATUS_BAD_OPCODE, "BAD_OPCODE"},
                                                               {HWSWAP_STATUS_BAD_DEVICE, "BAD_DEVICE"},
                                                               {HWSWAP_STATUS_BAD_RANGE, "BAD_RANGE"},
                                                               {HWSWAP_STATUS_BAD_CPU, "BAD_CPU"},
                                                               {HWSWAP_STATUS_UNSUPPORTED, "UNSUPPORTED"},
                                                               {HWSWAP_STATUS_BUS_ERROR, "BUS_ERROR"}};
  for (const auto &[value, name] : names)
    if (value == status)
      return name;
  return "status " + std::to_string(status);
}

} // namespace hwswap
