// SPDX-License-Identifier: Apache-2.0
#include "bus/axi_memory.hpp"

#include "common/errors.hpp"

#include <algorithm>
#include <sstream>

namespace hwswap {

namespace {

constexpr size_t max_bursts = 8;
// Data of all bursts that wait for their response: else a master that writes ahead would be held up by that alone.
constexpr size_t max_beats = 16 * max_bursts;
constexpr uint8_t burst_incr = 1;
constexpr uint8_t size_8_bytes = 3;

[[noreturn]] void broken(const char *channel, const char *rule, uint64_t address) {
  std::ostringstream text;
  text << "the engine broke the AXI4 protocol on " << channel << " at address 0x" << std::hex << address << ": "
       << rule;
  throw EngineError(text.str());
}

/// `last`: the request before, which was not accepted and must not have changed; or null.
void check_address(const char *channel, const AxiAddress &now, const AxiAddress *last) {
  if (last && now != *last)
    broken(channel, "the request changed before it was accepted", last->address);
  if (!now.valid)
    return;
  if (now.burst != burst_incr)
    broken(channel, "the burst is not INCR", now.address);
  if (now.size != size_8_bytes)
    broken(channel, "the beats are not 8 bytes wide", now.address);
  if (now.len > 15)
    broken(channel, "the burst is longer than 16 beats", now.address);
  const uint64_t first = now.address & ~uint64_t{7};
  if (first >> 12 != (first + 8 * uint64_t{now.len}) >> 12)
    broken(channel, "the burst crosses a 4 KiB boundary", now.address);
}

} // namespace

AxiMemory::AxiMemory(BusMemory &memory, AxiTiming timing)
    : memory_(memory), timing_(timing), random_(static_cast<std::minstd_rand::result_type>(timing.seed)) {
  timing_.latency = std::max(1u, timing_.latency);
  reset();
}

void AxiMemory::reset() {
  last_ = {};
  out_ = {};
  out_.awready = out_.wready = out_.arready = true;
  reads_.clear();
  writes_.clear();
  beats_.clear();
  waiting_beats_ = 0;
  held_aw_ = held_w_ = held_ar_ = false;
}

bool AxiMemory::stall() { return timing_.stall_percent && random_() % 100 < timing_.stall_percent; }

void AxiMemory::clock(const AxiRequest &in) {
  const bool held = held_aw_ || held_w_ || held_ar_;
  // Nearly all cycles carry nothing: leave at once, the simulation's speed hangs on it.
  if (in.aw.valid || in.wvalid || in.ar.valid || held || busy() || timing_.stall_percent || !out_.arready) {
    check(in);
    accept(in);
    assign_beats();
    present_read();
    present_write();
    out_.awready = !held_ && writes_.size() < max_bursts && !stall();
    out_.wready = !held_ && waiting_beats_ < max_beats && next_write_ <= now_ + 1 && !stall();
    out_.arready = !held_ && reads_.size() < max_bursts && !stall();
    last_ = in;
  }
  ++now_;
}

void AxiMemory::check(const AxiRequest &in) const {
  check_address("AW", in.aw, held_aw_ ? &last_.aw : nullptr);
  check_address("AR", in.ar, held_ar_ ? &last_.ar : nullptr);
  if (held_w_ && !(in.wvalid && in.wdata == last_.wdata && in.wstrb == last_.wstrb && in.wlast == last_.wlast))
    broken("W", "the data changed before it was accepted", writes_.empty() ? 0 : writes_.back().address);
}

void AxiMemory::accept(const AxiRequest &in) {
  held_aw_ = in.aw.valid && !out_.awready;
  held_w_ = in.wvalid && !out_.wready;
  held_ar_ = in.ar.valid && !out_.arready;
  if (in.aw.valid && out_.awready)
    writes_.push_back({in.aw.id, in.aw.address & ~uint64_t{7}, in.aw.len + 1u});
  if (in.wvalid && out_.wready) {
    beats_.push_back({in.wdata, in.wstrb, in.wlast});
    ++waiting_beats_;
    next_write_ = now_ + 1;
  }
  if (in.ar.valid && out_.arready)
    reads_.push_back({in.ar.id, in.ar.address & ~uint64_t{7}, in.ar.len + 1u, 0, now_ + timing_.latency});
  if (out_.rvalid && in.rready) {
    out_.rvalid = false;
    if (out_.rlast)
      reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(reading_));
  }
  if (out_.bvalid && in.bready) {
    out_.bvalid = false;
    writes_.erase(writes_.begin() + static_cast<std::ptrdiff_t>(answering_));
  }
}

void AxiMemory::assign_beats() {
  for (Burst &burst : writes_) {
    while (!beats_.empty() && burst.done < burst.beats) {
      const WriteBeat beat = beats_.front();
      beats_.pop_front();
      burst.data.push_back(beat);
      ++burst.done;
      if (beat.last != (burst.done == burst.beats))
        broken("W", "WLAST does not fit the burst's length", burst.address);
      if (beat.last)
        burst.due = now_ + timing_.latency;
    }
    if (beats_.empty())
      break;
  }
}

/// The burst to be answered next, of those that are ready: the first, or any that no other of its identifier precedes.
template <typename Ready> std::optional<size_t> AxiMemory::choose(const std::deque<Burst> &bursts, Ready ready) {
  if (bursts.empty())
    return std::nullopt;
  if (!timing_.reorder)
    return ready(bursts.front()) ? std::optional<size_t>(0) : std::nullopt;
  std::vector<size_t> possible;
  unsigned seen = 0;
  for (size_t i = 0; i < bursts.size(); ++i) {
    const unsigned id = 1u << bursts[i].id;
    if (!(seen & id) && ready(bursts[i]))
      possible.push_back(i);
    seen |= id;
  }
  return possible.empty() ? std::nullopt : std::optional<size_t>(possible[random_() % possible.size()]);
}

void AxiMemory::present_read() {
  if (held_ || out_.rvalid || next_read_ > now_ + 1)
    return;
  const auto chosen = choose(reads_, [&](const Burst &burst) { return burst.due <= now_ + 1; });
  if (!chosen || stall())
    return;
  reading_ = *chosen;
  Burst &burst = reads_[reading_];
  const bool good = memory_.read(burst.address + 8 * uint64_t{burst.done}, out_.rdata);
  if (!good)
    out_.rdata = ~uint64_t{0};
  errors_ += !good;
  ++read_beats_;
  ++burst.done;
  out_.rresp = good ? axi_okay : axi_slverr;
  out_.rid = burst.id;
  out_.rlast = burst.done == burst.beats;
  out_.rvalid = true;
  next_read_ = now_ + 2;
}

void AxiMemory::present_write() {
  if (held_ || out_.bvalid)
    return;
  const auto chosen =
      choose(writes_, [&](const Burst &burst) { return burst.done == burst.beats && burst.due <= now_ + 1; });
  if (!chosen || stall())
    return;
  answering_ = *chosen;
  const Burst &burst = writes_[answering_];
  bool good = true;
  for (unsigned i = 0; i < burst.beats; ++i)
    good &= memory_.write(burst.address + 8 * uint64_t{i}, burst.data[i].data, burst.data[i].strobes);
  waiting_beats_ -= burst.beats;
  write_beats_ += burst.beats;
  errors_ += !good;
  out_.bresp = good ? axi_okay : axi_slverr;
  out_.bid = burst.id;
  out_.bvalid = true;
}

} // namespace hwswap
