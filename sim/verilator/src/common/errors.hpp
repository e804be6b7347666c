// SPDX-License-Identifier: Apache-2.0
// Errors, by who has to act.
#pragma once

#include <stdexcept>

namespace hwswap {

/// Something the person at the keyboard can put right; what() is one sentence that says what to do.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The simulated engine broke a rule: an assertion, the AXI protocol, or no answer at all.
struct EngineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace hwswap
