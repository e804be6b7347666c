// SPDX-License-Identifier: Apache-2.0
#include "replay/cycle_tally.hpp"

#include <algorithm>

namespace hwswap {

void CycleTally::add(const TimedOperation &o) {
  ++operations_;
  const uint64_t refill = empties_ && !empties(o) && o.cycles > ideal ? o.cycles - ideal : 0;
  if (empties_)
    empties_->cycles += refill;
  flush();
  stall(o, refill);
  TimedOperation own = o;
  own.cycles -= refill;
  if (empties(o))
    empties_ = own;
  else
    put(own);
}

bool CycleTally::empties(const TimedOperation &o) {
  return o.path == "unit" || (o.kind != "free" && !(o.kind == "alloc" && o.path == "hint"));
}

void CycleTally::put(const TimedOperation &o) {
  Group &group = groups_[{o.kind, o.order, o.path, o.list_moves != 0}];
  group.cycles.add(o.cycles);
  group.latency.add(o.latency);
  if (o.scans)
    by_scans_[{o.path, o.order, o.scans}].add(o.cycles);
}

void CycleTally::flush() {
  if (empties_)
    put(*empties_);
  empties_.reset();
}

void CycleTally::stall(const TimedOperation &o, uint64_t refill) {
  const bool unit = o.path == "unit";
  moves_ago_ = o.list_moves ? 0 : moves_ago_ + 1;
  if (o.cycles > ideal) {
    uint64_t beyond = o.cycles - ideal;
    if (unit) {
      stalls_["unit"] += beyond;
    } else if (empties(o)) {
      const uint64_t scanning = std::min<uint64_t>(beyond, scan * o.scans);
      stalls_["slow path: scanned clusters"] += scanning;
      stalls_["slow path: devices and lists"] += beyond - scanning;
    } else if (refill) {
      stalls_["pipeline filled anew"] += refill;
    } else if (moves_ago_ <= 2) {
      stalls_["list move"] += beyond;
    } else {
      stalls_["other"] += beyond;
    }
  }
}

nlohmann::json CycleTally::json() {
  flush();
  nlohmann::json groups = nlohmann::json::array();
  for (const auto &[key, group] : groups_) {
    const auto &[kind, order, path, list_move] = key;
    groups.push_back({{"kind", kind},
                      {"order", order},
                      {"path", path},
                      {"list_move", list_move},
                      {"cycles", group.cycles.all()},
                      {"latency", group.latency.all()}});
  }
  nlohmann::json by_scans = nlohmann::json::array();
  for (const auto &[key, histogram] : by_scans_) {
    const auto &[path, order, scans] = key;
    by_scans.push_back({{"path", path}, {"order", order}, {"scans", scans}, {"cycles", histogram.all()}});
  }
  nlohmann::json stalls = nlohmann::json::object();
  for (const auto &[cause, cycles] : stalls_)
    stalls[cause] = cycles;
  return {{"operations", operations_}, {"groups", groups}, {"by_scans", by_scans}, {"stalls", stalls}};
}

} // namespace hwswap
