// SPDX-License-Identifier: Apache-2.0
// hwswap-replay: a recorded trace on the Verilated engine, every decision compared.
#include "bus/flat_memory.hpp"
#include "common/errors.hpp"
#include "engine/verilated_engine.hpp"
#include "replay/replayer.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>

namespace {

using namespace hwswap;

struct Options {
  std::string trace;
  std::string json;
  bool registers = false;
  uint64_t memory_base = 0x12'3400'0000; // above 4 GiB, so that more than the lower half of an address counts
  uint64_t patience = CommandRing::default_patience;
  SimulationOptions simulation;
};

int replay(const Options &options) {
  const Trace trace = read_trace(options.trace);
  std::ofstream json;
  if (!options.json.empty()) {
    json.open(options.json);
    if (!json)
      throw UserError("cannot write " + options.json + ": choose another place with --json");
  }

  FlatMemory rings(options.memory_base, CommandRing::bytes(Replayer::ring_log2));
  VerilatedEngine engine(rings, options.simulation);
  Replayer replayer(engine, rings, trace, options.patience);
  const auto begin = std::chrono::steady_clock::now();
  const auto difference = replayer.run(options.registers);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  nlohmann::json report = replayer.report();
  report["same"] = !difference.has_value();
  report["latency"] = options.simulation.timing.latency;
  report["trace"] = trace.header;
  if (json.is_open())
    json << report.dump(2) << '\n';
  if (difference) {
    std::cerr << "hwswap-replay: " << options.trace << ": " << *difference << '\n';
    return 1;
  }
  std::cout << report["ops"] << " operations, all as in the trace; " << report["cycles"] << " cycles, " << std::fixed
            << std::setprecision(2) << report["cycles_per_op"].get<double>() << " an operation; "
            << std::setprecision(0) << report["cycles"].get<double>() / seconds.count() / 1000
            << " kcycles/s simulated\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Replays a recorded trace (docs/traces.md) on the simulated engine and compares every decision.");
  app.add_option("trace", options.trace, "The trace, .hwst or .hwst.gz")->required();
  app.add_option("--latency", options.simulation.timing.latency, "Memory latency in engine cycles")
      ->check(CLI::Range(1u, 100000u))
      ->capture_default_str();
  app.add_option("--stall", options.simulation.timing.stall_percent,
                 "Chance in per cent that the memory withholds a handshake in a cycle")
      ->check(CLI::Range(0u, 90u))
      ->capture_default_str();
  app.add_flag("--reorder", options.simulation.timing.reorder,
               "The memory answers out of order where AXI4 allows it, and mixes beats of several reads");
  app.add_option("--seed", options.simulation.seed, "Seed of register contents before reset, and of --stall")
      ->check(CLI::Range(1u, 2147483646u))
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the figures to this file");
  app.add_flag("--registers", options.registers, "ALLOC and FREE through the CPU pages instead of the command ring");
  app.add_option("--memory-base", options.memory_base, "Bus address of the memory with the rings, a multiple of 4096")
      ->check(CLI::Range(uint64_t{0}, ~uint64_t{0} - 0xFFFFFF))
      ->capture_default_str();
  app.add_option("--waves", options.simulation.waves, "Write waves to this FST file (needs a build with WAVES=1)");
  app.add_option("--coverage", options.simulation.coverage,
                 "Write line and toggle coverage to this file (needs a build with COVERAGE=1)");
  app.add_option("--fault", options.simulation.fault, "Number of the fault to activate (needs a build with FAULTS=1)")
      ->check(CLI::Range(0u, 65535u));
  app.add_option("--patience", options.patience, "Cycles after which an operation counts as hanging")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--max-cycles", options.simulation.max_cycles,
                 "Cycles after which the simulation counts as hanging; 0: never")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.simulation.timing.seed = options.simulation.seed;
  options.simulation.patience = std::min(options.simulation.patience, options.patience);
  try {
    return replay(options);
  } catch (const std::exception &error) {
    std::cerr << "hwswap-replay: " << error.what() << '\n';
    return 1;
  }
}
