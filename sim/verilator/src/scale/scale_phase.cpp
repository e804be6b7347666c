// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_phase.hpp"

#include "common/errors.hpp"

#include <charconv>

namespace hwswap {

namespace {

template <typename Number> bool read_number(const std::string &text, Number &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

ScalePhase read_phase(const std::string &text) {
  const size_t first = text.find(':');
  const size_t second = text.find(':', first == std::string::npos ? first : first + 1);
  ScalePhase phase;
  if (second == std::string::npos || first == 0 ||
      !read_number(text.substr(first + 1, second - first - 1), phase.operations) ||
      !read_number(text.substr(second + 1), phase.latency) || phase.latency == 0)
    throw UserError("'" + text + "' is no phase: give NAME:OPERATIONS:LATENCY");
  phase.name = text.substr(0, first);
  return phase;
}

} // namespace hwswap
