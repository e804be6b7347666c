// SPDX-License-Identifier: Apache-2.0
// The phases of a long trace, as the command line gives them.
#pragma once

#include <cstddef>
#include <string>

namespace hwswap {

/// Consecutive operations of a trace.
struct ScalePhase {
  std::string name;
  size_t operations = 0;
  unsigned latency = 1;
};

/// "NAME:OPERATIONS:LATENCY" as a phase; UserError says what is wrong.
ScalePhase read_phase(const std::string &text);

} // namespace hwswap
