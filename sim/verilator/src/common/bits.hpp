// SPDX-License-Identifier: Apache-2.0
// Fields of 64-bit words, by the masks of the generated map.
#pragma once

#include <bit>
#include <cstdint>

namespace hwswap {

/// The field of `word` under the contiguous `mask`.
constexpr uint64_t field_get(uint64_t word, uint64_t mask) { return (word & mask) >> std::countr_zero(mask); }

/// A word with `value` in the field under `mask`, all else 0; bits of `value` that do not fit are dropped.
constexpr uint64_t field_put(uint64_t mask, uint64_t value) { return (value << std::countr_zero(mask)) & mask; }

/// Whether `value` fits into the field under `mask`.
constexpr bool field_fits(uint64_t mask, uint64_t value) { return field_get(field_put(mask, value), mask) == value; }

} // namespace hwswap
