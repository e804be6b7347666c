// SPDX-License-Identifier: Apache-2.0
#include "replay/replayer.hpp"

#include "common/errors.hpp"
#include "engine/statistics.hpp"

#include <algorithm>

namespace hwswap {

namespace {

std::string outcome(bool failed, unsigned type, uint64_t slot) {
  return failed ? "a failure (NO_SPACE)" : "device " + std::to_string(type) + " slot " + std::to_string(slot);
}

} // namespace

Replayer::Replayer(Engine &engine, FlatMemory &memory, const Trace &trace, uint64_t patience)
    : engine_(engine), trace_(trace), ring_(engine, memory, ring_log2, patience),
      commands_(field_get(engine.read_register(HWSWAP_REG_CAPS), HWSWAP_CAPS_CLUSTERS)) {
  check_capacity();
}

void Replayer::check_capacity() {
  const uint64_t caps = engine_.read_register(HWSWAP_REG_CAPS);
  const auto need = [&](const char *what, uint64_t trace, uint64_t mask) {
    if (const uint64_t engine = field_get(caps, mask); trace > engine)
      throw UserError("the trace needs " + std::to_string(trace) + " " + what + " and this engine was built for " +
                      std::to_string(engine) + ": emit it with more");
  };
  need("CPUs", trace_.cpus, HWSWAP_CAPS_CPUS);
  need("devices", trace_.devices, HWSWAP_CAPS_DEVICES);
  need("clusters", trace_.clusters, HWSWAP_CAPS_CLUSTERS);
  if (!(caps & HWSWAP_CAPS_CHECK))
    throw UserError("a replay ends with CHECK and this engine was built without: emit it without --no-core");
}

void Replayer::clear_engine() {
  engine_.write_register(HWSWAP_REG_CONTROL, HWSWAP_CONTROL_RESET);
  const uint64_t begin = engine_.cycles();
  while (engine_.read_register(HWSWAP_REG_CONTROL) & HWSWAP_CONTROL_RESET)
    if (engine_.cycles() - begin > ring_.patience())
      throw EngineError("CONTROL.RESET does not go back to 0: the engine hangs in its reset");
}

std::optional<std::string> Replayer::run(bool registers) {
  registers_ = registers;
  clear_engine();
  ring_.enable();
  begin_cycle_ = engine_.cycles();
  const auto difference = registers_ ? run_registers() : run_ring();
  end_cycle_ = engine_.cycles();
  statistics_ = read_statistics(engine_);
  return difference ? difference : self_test();
}

std::optional<std::string> Replayer::run_ring() {
  const size_t end = trace_.records.size();
  size_t pushed = 0;
  uint64_t last_completion = engine_.cycles();
  while (done_ < end) {
    // Refill at half: a doorbell costs a register write, and the engine must never find the ring empty.
    if (pushed < end && ring_.room() >= ring_.entries() / 2) {
      while (pushed < end && ring_.room() && !writes_register(trace_.records[pushed].op))
        ring_.push(commands_.next(trace_.records[pushed++]));
      ring_.ring_doorbell();
    }
    if (pushed < end && pushed == done_ && writes_register(trace_.records[pushed].op)) {
      write_policy(trace_.records[pushed++]);
      last_completion = engine_.cycles();
      continue;
    }
    while (auto completion = ring_.pop()) {
      if (auto difference = compare(*completion))
        return difference;
      last_completion = engine_.cycles();
    }
    if (engine_.cycles() - last_completion > ring_.patience())
      throw EngineError("the engine has not completed operation " + std::to_string(done_) + " (" +
                        describe(trace_.records[done_]) + ") for " + std::to_string(ring_.patience()) + " cycles");
    engine_.step();
  }
  return std::nullopt;
}

std::optional<std::string> Replayer::run_registers() {
  for (unsigned cpu = 0; cpu < std::min<size_t>(trace_.cpus, sequence_.size()); ++cpu) {
    const uint32_t page = HWSWAP_REG_CPU_PAGE_BASE + cpu * HWSWAP_REG_CPU_PAGE_STRIDE;
    sequence_.at(cpu) = static_cast<uint16_t>(
        field_get(engine_.read_register(page + HWSWAP_REG_CPU_PAGE_RESPONSE), HWSWAP_CPU_PAGE_RESPONSE_SEQ));
  }
  while (done_ < trace_.records.size()) {
    const TraceRecord &record = trace_.records[done_];
    if (writes_register(record.op)) {
      write_policy(record);
      continue;
    }
    const Command command = commands_.next(record);
    // A CPU beyond the pages goes through the ring; a free may use any page.
    const bool has_page = record.cpu < sequence_.size();
    const bool by_register = record.op == TraceOp::free || (record.op == TraceOp::alloc && has_page);
    if (auto difference = compare(by_register ? request(record, command) : ring_.run(command)))
      return difference;
  }
  return std::nullopt;
}

/// One ALLOC or FREE through a CPU page; `cycles` of the result is the host's wait, bus included.
Completion Replayer::request(const TraceRecord &record, const Command &command) {
  // The trace names the CPU of a free only where the recorder knew it; any page does.
  const unsigned cpu = record.cpu < std::min<size_t>(trace_.cpus, sequence_.size()) ? record.cpu : 0;
  const uint32_t page = HWSWAP_REG_CPU_PAGE_BASE + cpu * HWSWAP_REG_CPU_PAGE_STRIDE;
  const uint16_t sequence = ++sequence_.at(cpu);
  const uint64_t begin = engine_.cycles();
  if (record.op == TraceOp::free)
    engine_.write_register(page + HWSWAP_REG_CPU_PAGE_ARG, field_put(HWSWAP_CPU_PAGE_ARG_SLOT, command.arg0));
  engine_.write_register(page + HWSWAP_REG_CPU_PAGE_REQUEST,
                         field_put(HWSWAP_CPU_PAGE_REQUEST_OPCODE, command.opcode) |
                             field_put(HWSWAP_CPU_PAGE_REQUEST_ORDER, command.order) |
                             field_put(HWSWAP_CPU_PAGE_REQUEST_TYPE, command.type) |
                             field_put(HWSWAP_CPU_PAGE_REQUEST_NR, command.nr) |
                             field_put(HWSWAP_CPU_PAGE_REQUEST_SEQ, sequence));
  while (true) {
    const uint64_t response = engine_.read_register(page + HWSWAP_REG_CPU_PAGE_RESPONSE);
    if (field_get(response, HWSWAP_CPU_PAGE_RESPONSE_SEQ) == sequence &&
        !field_get(response, HWSWAP_CPU_PAGE_RESPONSE_BUSY)) {
      Completion completion;
      completion.status = static_cast<uint8_t>(field_get(response, HWSWAP_CPU_PAGE_RESPONSE_STATUS));
      completion.opcode = command.opcode;
      completion.type = static_cast<uint8_t>(field_get(response, HWSWAP_CPU_PAGE_RESPONSE_TYPE));
      completion.slot = field_get(response, HWSWAP_CPU_PAGE_RESPONSE_SLOT);
      completion.cycles = static_cast<uint32_t>(engine_.cycles() - begin);
      return completion;
    }
    if (engine_.cycles() - begin > ring_.patience())
      throw EngineError("the engine has not answered operation " + std::to_string(done_) + " (" + describe(record) +
                        ") on the page of CPU " + std::to_string(cpu));
  }
}

/// Write the register that a policy or node record stands for. Nothing is under way: it counts from the next command
/// on.
void Replayer::write_policy(const TraceRecord &record) {
  if (record.op == TraceOp::node) {
    const uint32_t address = HWSWAP_REG_CPU_NODE_BASE + record.cpu / 16 * HWSWAP_REG_CPU_NODE_STRIDE;
    const unsigned shift = 4 * (record.cpu % 16);
    const uint64_t others = engine_.read_register(address) & ~(uint64_t{15} << shift);
    engine_.write_register(address, others | uint64_t{record.a} << shift);
  } else {
    engine_.write_register(HWSWAP_REG_POLICY, record.a | uint64_t{record.b} << 32);
    // The choices are below the seed; one that the engine does not have reads back as 0.
    if (static_cast<uint32_t>(engine_.read_register(HWSWAP_REG_POLICY)) != record.a)
      throw UserError("this engine does not have the policy of operation " + std::to_string(done_) + " (" +
                      describe(record) + "): make the stream without it");
  }
  ++done_;
}

/// Compare the outcome of operation done_ with the trace and count it.
std::optional<std::string> Replayer::compare(const Completion &c) {
  const TraceRecord &r = trace_.records[done_];
  const auto differs = [&](const std::string &expected, const std::string &got) {
    return "operation " + std::to_string(done_) + " (" + describe(r) + "): expected " + expected + ", got " + got;
  };
  const bool alloc = r.op == TraceOp::alloc;
  const bool take = r.op == TraceOp::discard_take;
  const bool no_space = (alloc || take) && c.status == HWSWAP_STATUS_NO_SPACE;
  if (c.status != HWSWAP_STATUS_OK && !no_space)
    return differs(alloc ? outcome(r.type == trace_failed, r.type, r.a) : "OK", status_name(c.status));
  // Slot 0 is the header's, so its cluster is never empty: 0 stands for none.
  if (take && (no_space ? 0 : c.slot) != r.a)
    return differs(outcome(!r.a, r.type, r.a), outcome(no_space, r.type, c.slot));
  if (alloc) {
    const bool failed = r.type == trace_failed;
    if (failed != no_space || (!failed && (c.type != r.type || c.slot != r.a)))
      return differs(outcome(failed, r.type, r.a), outcome(no_space, c.type, c.slot));
    alloc_by_order_[r.order].add(c.cycles);
  }
  by_kind_[name_of(r.op) + std::string(no_space ? "_failed" : "")].add(c.cycles);
  ++done_;
  return std::nullopt;
}

std::optional<std::string> Replayer::self_test() {
  for (unsigned type = 0; type < trace_.devices; ++type) {
    if (!commands_.claimed(type))
      continue;
    Command command;
    command.opcode = HWSWAP_OPCODE_CHECK;
    command.type = static_cast<uint8_t>(type);
    const Completion completion = ring_.run(command);
    if (completion.status != HWSWAP_STATUS_OK || completion.slot != 0)
      return "the self-test (CHECK) of device " + std::to_string(type) +
             " after the last operation: expected OK with 0 faults, got " + status_name(completion.status) + " with " +
             std::to_string(completion.slot);
  }
  return std::nullopt;
}

nlohmann::json Replayer::report() const {
  const uint64_t cycles = end_cycle_ - begin_cycle_;
  nlohmann::json kinds = nlohmann::json::object();
  for (const auto &[kind, histogram] : by_kind_)
    kinds[kind] = histogram.json();
  nlohmann::json orders = nlohmann::json::object();
  for (const auto &[order, histogram] : alloc_by_order_)
    orders[std::to_string(order)] = histogram.json();
  return {{"ops", done_},
          {"cycles", cycles},
          {"cycles_per_op", done_ ? static_cast<double>(cycles) / static_cast<double>(done_) : 0.0},
          {"path", registers_ ? "registers" : "ring"},
          {"cycles_by_kind", kinds},
          {"alloc_cycles_by_order", orders},
          {"statistics", statistics_}};
}

} // namespace hwswap
