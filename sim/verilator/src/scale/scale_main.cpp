// SPDX-License-Identifier: Apache-2.0
// hwswap-scale: a long trace in phases on an engine of any size, with memory as slow as asked for.
#include "common/errors.hpp"
#include "engine/cluster_store.hpp"
#include "scale/scale_run.hpp"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

namespace {

using namespace hwswap;

struct Options {
  std::string trace;
  std::string json;
  std::string measurements;
  std::vector<std::string> phases;
  SimulationOptions simulation;
};

/// Bus address of the rings, above 4 GiB so that all address bits count.
constexpr uint64_t ring_base = 0x12'3400'0000;

void run(const Options &options) {
  std::vector<ScalePhase> phases;
  for (const std::string &text : options.phases)
    phases.push_back(read_phase(text));
  const Trace trace = read_trace(options.trace);
  std::ofstream measurements(options.measurements, std::ios::binary);
  if (!measurements)
    throw UserError("cannot write " + options.measurements + ": choose another place with --measurements");

  FlatMemory rings(ring_base, CommandRing::bytes(ScaleRun::ring_log2));
  SparseMemory store(store_base, store_bytes);
  JoinedMemory memory(rings, store);
  VerilatedEngine engine(memory, options.simulation);
  ScaleRun scale(engine, rings, trace);
  scale.run(phases, measurements);
  scale.check();
  const nlohmann::json report = {{"phases", scale.report()},
                                 {"cycles", engine.cycles()},
                                 {"beat_cycles", options.simulation.timing.beat_cycles},
                                 {"store_bytes", store.pages() * SparseMemory::page_bytes}};
  std::ofstream json(options.json);
  json << report.dump(2) << '\n';
  if (!json)
    throw UserError("cannot write " + options.json + ": choose another place with --json");
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs a trace in phases on the simulated engine, every decision compared, every operation measured.");
  app.add_option("trace", options.trace, "The trace, .hwst or .hwst.gz")->required();
  app.add_option("--phase", options.phases, "NAME:OPERATIONS:LATENCY, once for each phase, in order")->required();
  app.add_option("--beat-cycles", options.simulation.timing.beat_cycles, "Cycles of the bus for each 8 bytes")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the figures of the phases to this file")->required();
  app.add_option("--measurements", options.measurements,
                 "Write cycles and waits of each operation to this file, two 32-bit numbers each")
      ->required();
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception &error) {
    std::cerr << "hwswap-scale: " << error.what() << '\n';
    return 1;
  }
}
