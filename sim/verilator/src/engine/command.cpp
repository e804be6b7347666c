// SPDX-License-Identifier: Apache-2.0
#include "engine/command.hpp"

namespace hwswap {

std::string status_name(uint8_t status) {
  switch (status) {
  case HWSWAP_STATUS_OK:
    return "OK";
  case HWSWAP_STATUS_NO_SPACE:
    return "NO_SPACE";
  case HWSWAP_STATUS_BAD_OPCODE:
    return "BAD_OPCODE";
  case HWSWAP_STATUS_BAD_DEVICE:
    return "BAD_DEVICE";
  case HWSWAP_STATUS_BAD_RANGE:
    return "BAD_RANGE";
  case HWSWAP_STATUS_BAD_CPU:
    return "BAD_CPU";
  case HWSWAP_STATUS_UNSUPPORTED:
    return "UNSUPPORTED";
  case HWSWAP_STATUS_BUS_ERROR:
    return "BUS_ERROR";
  default:
    return "status " + std::to_string(status);
  }
}

} // namespace hwswap
