// SPDX-License-Identifier: Apache-2.0
// Exact counts of small numbers, for percentiles.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

namespace hwswap {

/// A multiset of numbers (here: clock cycles).
class Histogram {
public:
  void add(uint64_t value) {
    ++counts_[value];
    ++count_;
  }

  /// The smallest number that at least `percent` per cent of all are not above; 0 when empty.
  uint64_t percentile(unsigned percent) const {
    uint64_t below = 0;
    for (const auto &[value, count] : counts_) {
      below += count;
      if (below * 100 >= count_ * percent)
        return value;
    }
    return 0;
  }

  /// {"count", "p50", "p99", "max", "all"}, the last as [[number, how often], ...] in rising order; count alone when
  /// empty.
  nlohmann::json json() const {
    nlohmann::json out = {{"count", count_}};
    if (count_) {
      out["p50"] = percentile(50);
      out["p99"] = percentile(99);
      out["max"] = counts_.rbegin()->first;
      out["all"] = counts_;
    }
    return out;
  }

private:
  std::map<uint64_t, uint64_t> counts_;
  uint64_t count_ = 0;
};

} // namespace hwswap
