// SPDX-License-Identifier: Apache-2.0
// hwswap-bench: a trace on the Verilated core alone, its input kept full, every decision compared and every cycle told.
#include "common/errors.hpp"
#include "engine/verilated_core.hpp"
#include "replay/cycle_tally.hpp"
#include "trace/trace_commands.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <deque>
#include <fstream>
#include <iomanip>
#include <iostream>

namespace {

using namespace hwswap;

/// Cycles without an answer after which the core counts as hanging.
constexpr uint64_t patience = 1'000'000;

struct Options {
  std::string trace;
  std::string json;
  uint64_t clusters = 1024;
  uint32_t seed = 1;
};

/// A request that has been taken and not been answered.
struct Pending {
  size_t record;
  uint64_t accepted;
};

class Bench {
public:
  Bench(const Trace &trace, const Options &options) : trace_(trace), core_(options.seed), commands_(options.clusters) {}

  /// Replay the whole trace; the text of the first difference, or an empty one.
  std::string run() {
    size_t next = 0;
    std::optional<Command> command;
    while (done_ < trace_.records.size()) {
      if (!command && next < trace_.records.size()) {
        if (!writes_register(trace_.records[next].op)) {
          command = commands_.next(trace_.records[next]);
        } else if (pending_.empty()) { // a policy counts from the next request on
          write_register(trace_.records[next++]);
          continue;
        }
      }
      const CoreCycle cycle = core_.step(command ? &*command : nullptr);
      if (cycle.answer) {
        if (const std::string difference = answered(*cycle.answer); !difference.empty())
          return difference;
      }
      note(cycle.events);
      if (cycle.accepted) {
        pending_.push_back({next++, cycle_});
        command.reset();
      }
      if (cycle_ - last_answer_ > patience)
        throw EngineError("the core has not answered operation " + std::to_string(done_) + " (" +
                          describe(trace_.records[done_]) + ") for " + std::to_string(patience) + " cycles");
      ++cycle_;
    }
    return "";
  }

  uint64_t cycles() const { return cycle_; }

  nlohmann::json report() {
    nlohmann::json out = tally_.json();
    out["cycles"] = cycle_;
    out["cycles_per_operation"] =
        tally_.operations() ? static_cast<double>(cycle_) / static_cast<double>(tally_.operations()) : 0.0;
    return out;
  }

private:
  void write_register(const TraceRecord &r) {
    if (r.op == TraceOp::node)
      throw UserError("the bench has no nodes (operation " + std::to_string(done_) + "): take a trace without them");
    core_.set_policy(r.a | uint64_t{r.b} << 32);
    ++done_;
  }

  /// Pulses come in the cycle before the answer at the latest, and never before the previous answer's cycle.
  void note(const CoreEvents &e) {
    scans_ += e.scan;
    moves_ += e.list_move;
    const std::pair<bool, const char *> paths[] = {{e.fast, "hint"}, {e.nonfull, "nonfull"}, {e.free, "free"},
                                                   {e.frag, "frag"}, {e.steal, "steal"},     {e.fail, "fail"}};
    for (const auto &[happened, name] : paths)
      if (happened)
        path_ = name;
  }

  std::string answered(const CoreAnswer &answer) {
    const Pending pending = pending_.front();
    pending_.pop_front();
    const TraceRecord &r = trace_.records[pending.record];
    const bool alloc = r.op == TraceOp::alloc;
    TimedOperation o{name_of(r.op), 0, "unit", scans_, moves_, cycle_ - last_answer_, cycle_ - pending.accepted};
    if (r.op == TraceOp::prepare)
      rotating_.at(r.type) = !(r.b & HWSWAP_DEVICE_FLAGS_FLAGS_SOLIDSTATE);
    if (alloc) {
      o.order = r.order;
      o.path = path_;
      // A rotating device's own place is looked up on the slow path.
      if (o.path == "hint" && rotating_.at(answer.device))
        o.path = "shared hint";
    } else if (r.op == TraceOp::free) {
      o.path = "free";
    }
    tally_.add(o);
    scans_ = moves_ = 0;
    path_ = "unit";
    last_answer_ = cycle_;
    ++done_;
    return difference(pending.record, r, answer);
  }

  std::string difference(size_t number, const TraceRecord &r, const CoreAnswer &a) const {
    const bool take = r.op == TraceOp::discard_take;
    const bool decides = r.op == TraceOp::alloc || take;
    const bool no_space = decides && a.status == HWSWAP_STATUS_NO_SPACE;
    const bool failed = take ? r.a == 0 : decides && r.type == trace_failed;
    bool equal = a.status == HWSWAP_STATUS_OK || no_space;
    if (equal && decides)
      equal = failed == no_space && (failed || (a.offset == r.a && (take || a.device == r.type)));
    if (equal)
      return "";
    return "operation " + std::to_string(number) + " (" + describe(r) + "): expected " +
           (failed ? "no space" : "device " + std::to_string(r.type) + " slot " + std::to_string(r.a)) + ", got " +
           status_name(a.status) + ", device " + std::to_string(a.device) + " slot " + std::to_string(a.offset);
  }

  const Trace &trace_;
  VerilatedCore core_;
  TraceCommands commands_;
  CycleTally tally_;
  std::deque<Pending> pending_;
  size_t done_ = 0;
  uint64_t cycle_ = 0;
  uint64_t last_answer_ = 0;
  unsigned scans_ = 0;
  unsigned moves_ = 0;
  const char *path_ = "unit";
  std::array<bool, 32> rotating_{};
};

int bench(const Options &options) {
  const Trace trace = read_trace(options.trace);
  std::ofstream json;
  if (!options.json.empty()) {
    json.open(options.json);
    if (!json)
      throw UserError("cannot write " + options.json + ": choose another place with --json");
  }
  Bench run(trace, options);
  const auto begin = std::chrono::steady_clock::now();
  const std::string difference = run.run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  nlohmann::json report = run.report();
  report["same"] = difference.empty();
  report["trace"] = trace.header;
  if (json.is_open())
    json << report.dump(2) << '\n';
  if (!difference.empty()) {
    std::cerr << "hwswap-bench: " << options.trace << ": " << difference << '\n';
    return 1;
  }
  std::cout << report["operations"] << " operations, all as in the trace; " << report["cycles"] << " cycles, "
            << std::fixed << std::setprecision(2) << report["cycles_per_operation"].get<double>() << " an operation; "
            << std::setprecision(0) << static_cast<double>(run.cycles()) / seconds.count() / 1000
            << " kcycles/s simulated\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Replays a trace (docs/traces.md) on the simulated core alone, its input kept full, and counts cycles.");
  app.add_option("trace", options.trace, "The trace, .hwst or .hwst.gz")->required();
  app.add_option("--json", options.json, "Write the figures to this file");
  app.add_option("--clusters", options.clusters, "Clusters that the core was built for")->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of register contents before reset")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return bench(options);
  } catch (const std::exception &error) {
    std::cerr << "hwswap-bench: " << error.what() << '\n';
    return 1;
  }
}
