// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_run.hpp"

#include "common/errors.hpp"
#include "common/progress.hpp"
#include "engine/cluster_store.hpp"
#include "engine/statistics.hpp"

#include <ostream>

namespace hwswap {

ScaleRun::ScaleRun(VerilatedEngine &engine, FlatMemory &rings, const Trace &trace)
    : engine_(engine), trace_(trace), ring_(engine, rings, ring_log2),
      commands_(field_get(engine.read_register(HWSWAP_REG_CAPS), HWSWAP_CAPS_CLUSTERS)) {
  const uint64_t caps = engine.read_register(HWSWAP_REG_CAPS);
  if (field_get(caps, HWSWAP_CAPS_CLUSTERS) < trace.clusters)
    throw UserError("the trace needs " + std::to_string(trace.clusters) + " clusters and this engine has " +
                    std::to_string(field_get(caps, HWSWAP_CAPS_CLUSTERS)) + ": emit it with more");
  engine.write_register(HWSWAP_REG_CONTROL, HWSWAP_CONTROL_RESET);
  while (engine.read_register(HWSWAP_REG_CONTROL) & HWSWAP_CONTROL_RESET)
    ;
  give_store(engine, ring_);
  ring_.enable();
}

void ScaleRun::run(const std::vector<ScalePhase> &phases, std::ostream &measurements) {
  size_t total = 0;
  for (const ScalePhase &phase : phases)
    total += phase.operations;
  if (total != trace_.records.size())
    throw UserError("the phases have " + std::to_string(total) + " operations and the trace has " +
                    std::to_string(trace_.records.size()) + ": they must be the same");
  for (const ScalePhase &phase : phases)
    run_phase(phase, measurements);
}

void ScaleRun::run_phase(const ScalePhase &phase, std::ostream &measurements) {
  engine_.set_latency(phase.latency);
  const nlohmann::json before = read_statistics(engine_);
  const uint64_t begin = engine_.cycles();
  const size_t end = done_ + phase.operations;
  uint64_t last_completion = begin;
  Progress progress(phase.operations);
  while (done_ < end) {
    if (pushed_ < end && ring_.room() >= ring_.entries() / 2) {
      while (pushed_ < end && ring_.room())
        ring_.push(commands_.next(trace_.records[pushed_++]));
      ring_.ring_doorbell();
    }
    while (auto completion = ring_.pop()) {
      compare(*completion);
      const Measurement measured = {completion->cycles, completion->waits};
      measurements.write(reinterpret_cast<const char *>(&measured), sizeof measured);
      ++done_;
      last_completion = engine_.cycles();
      if (done_ % 1024 == 0)
        progress.update(phase.operations - (end - done_), engine_.cycles() - begin);
    }
    if (engine_.cycles() - last_completion > patience)
      throw EngineError("the engine has not completed operation " + std::to_string(done_) + " (" +
                        describe(trace_.records[done_]) + ") for " + std::to_string(patience) + " cycles");
    engine_.step();
  }
  const uint64_t cycles = engine_.cycles() - begin;
  nlohmann::json statistics = read_statistics(engine_);
  for (auto &[name, value] : statistics.items())
    value = value.get<uint64_t>() - before.at(name).get<uint64_t>();
  report_.push_back({{"name", phase.name},
                     {"operations", phase.operations},
                     {"latency", phase.latency},
                     {"cycles", cycles},
                     {"statistics", statistics}});
}

void ScaleRun::compare(const Completion &c) const {
  const TraceRecord &r = trace_.records[done_];
  const bool failed = r.op == TraceOp::alloc && r.type == trace_failed;
  const bool same = c.status == (failed ? HWSWAP_STATUS_NO_SPACE : HWSWAP_STATUS_OK) &&
                    (r.op != TraceOp::alloc || failed || (c.type == r.type && c.slot == r.a));
  if (!same)
    throw EngineError("operation " + std::to_string(done_) + " (" + describe(r) + "): expected " +
                      (failed ? "NO_SPACE" : "OK, device " + std::to_string(r.type) + " slot " + std::to_string(r.a)) +
                      ", got " + status_name(c.status) + ", device " + std::to_string(c.type) + " slot " +
                      std::to_string(c.slot));
}

void ScaleRun::check() {
  engine_.set_latency(1);
  for (unsigned type = 0; type < trace_.devices; ++type) {
    if (!commands_.claimed(type))
      continue;
    Command command;
    command.opcode = HWSWAP_OPCODE_CHECK;
    command.type = static_cast<uint8_t>(type);
    ring_.push(command);
    ring_.ring_doorbell();
    const uint64_t begin = engine_.cycles();
    std::optional<Completion> completion;
    while (!(completion = ring_.pop())) {
      if (engine_.cycles() - begin > patience)
        throw EngineError("the engine does not end its self-test of device " + std::to_string(type));
      engine_.step();
    }
    if (completion->status != HWSWAP_STATUS_OK || completion->slot != 0)
      throw EngineError("the self-test (CHECK) of device " + std::to_string(type) + " finds " +
                        std::to_string(completion->slot) + " faults, status " + status_name(completion->status));
    report_.push_back({{"name", "check"}, {"operations", 1}, {"latency", 1}, {"cycles", engine_.cycles() - begin}});
  }
}

} // namespace hwswap
