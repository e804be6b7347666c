// SPDX-License-Identifier: Apache-2.0
// The engine's statistics registers by name.
#pragma once

#include "engine/engine.hpp"

#include <nlohmann/json.hpp>

namespace hwswap {

/// All STAT_ registers, names in lower case without the prefix.
nlohmann::json read_statistics(Engine &engine);

} // namespace hwswap
