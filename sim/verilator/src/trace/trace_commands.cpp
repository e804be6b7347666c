// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_commands.hpp"

#include "common/errors.hpp"

#include <algorithm>
#include <stdexcept>

namespace hwswap {

uint64_t TraceCommands::claim(unsigned type, uint32_t pages) {
  const uint64_t need = (uint64_t{pages} + 511) / 512;
  // A candidate base is 0 or the end of another extent; the lowest at which nothing overlaps is first fit.
  std::vector<uint64_t> candidates = {0};
  for (const auto &extent : devices_)
    if (extent)
      candidates.push_back(extent->base + extent->clusters);
  std::sort(candidates.begin(), candidates.end());
  for (const uint64_t base : candidates) {
    const bool overlaps = std::any_of(devices_.begin(), devices_.end(), [&](const auto &extent) {
      return extent && base < extent->base + extent->clusters && extent->base < base + need;
    });
    if (overlaps || base + need > clusters_)
      continue;
    devices_[type] = Extent{base, need};
    return base;
  }
  throw UserError("the trace needs " + std::to_string(need) + " clusters in a row for device " + std::to_string(type) +
                  " and the engine's " + std::to_string(clusters_) +
                  " have no such gap: emit the engine with more clusters");
}

Command TraceCommands::next(const TraceRecord &r) {
  // By the record's operation.
  static constexpr uint8_t opcodes[] = {
      HWSWAP_OPCODE_NOP,           HWSWAP_OPCODE_SWAPON_PREPARE, HWSWAP_OPCODE_MARK_BAD, HWSWAP_OPCODE_SWAPON,
      HWSWAP_OPCODE_SWAPOFF_BEGIN, HWSWAP_OPCODE_SWAPOFF,        HWSWAP_OPCODE_ALLOC,    HWSWAP_OPCODE_FREE,
      HWSWAP_OPCODE_DISCARD_TAKE,  HWSWAP_OPCODE_DISCARD_DONE};
  if (writes_register(r.op))
    throw std::logic_error("the write of a register is no command");
  Command c;
  c.opcode = opcodes[static_cast<size_t>(r.op)];
  c.type = r.type;
  switch (r.op) {
  case TraceOp::prepare:
    devices_.at(r.type).reset();
    c.arg0 = r.a | claim(r.type, r.a) << 32;
    c.arg1 = r.b;
    c.arg2 = (r.c & 0xffff) | uint64_t{++epoch_} << 16 | uint64_t{r.cpu} << 24;
    break;
  case TraceOp::swapoff:
    devices_.at(r.type).reset();
    break;
  case TraceOp::alloc:
    c.type = 0;
    c.cpu = r.cpu;
    c.order = r.order;
    break;
  case TraceOp::bad:
  case TraceOp::free:
    c.nr = static_cast<uint16_t>(r.b);
    [[fallthrough]];
  case TraceOp::discard_done:
    c.arg0 = r.a;
    break;
  default:
    break;
  }
  return c;
}

std::string describe(const TraceRecord &r) {
  std::string text = name_of(r.op);
  switch (r.op) {
  case TraceOp::alloc:
    return text + ", CPU " + std::to_string(r.cpu) + ", order " + std::to_string(r.order);
  case TraceOp::bad:
  case TraceOp::free:
    return text + ", device " + std::to_string(r.type) + ", slots " + std::to_string(r.a) + " to " +
           std::to_string(uint64_t{r.a} + r.b - 1);
  case TraceOp::prepare:
    return text + ", device " + std::to_string(r.type) + ", " + std::to_string(r.a) + " slots";
  case TraceOp::discard_done:
    return text + ", device " + std::to_string(r.type) + ", slot " + std::to_string(r.a);
  case TraceOp::policy:
    return text + " " + std::to_string(r.a) + ", seed " + std::to_string(r.b);
  case TraceOp::node:
    return text + " " + std::to_string(r.a) + " of CPU " + std::to_string(r.cpu);
  default:
    return text + ", device " + std::to_string(r.type);
  }
}

} // namespace hwswap
