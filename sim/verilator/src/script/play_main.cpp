// SPDX-License-Identifier: Apache-2.0
// hwswap-play: plays scripts of bus accesses on the Verilated engine and checks what they expect.
#include "common/errors.hpp"
#include "engine/verilated_engine.hpp"
#include "script/script.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

namespace {

using namespace hwswap;

int run(const std::string &path, const SimulationOptions &options) {
  const Script script = read_script(path);
  FlatMemory memory(script.memory_base, script.memory_bytes);
  VerilatedEngine engine(memory, options);
  if (const auto wrong = play(script, engine, memory)) {
    std::cerr << "hwswap-play: " << path << ": " << *wrong << '\n';
    return 1;
  }
  std::cout << script.lines.size() << " lines, all as they must be; " << engine.cycles() << " cycles\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::string path;
  SimulationOptions options;
  CLI::App app("Plays a script (script.hpp) on the simulated engine and compares all that it expects.");
  app.add_option("script", path, "The script, plain or gzipped")->required();
  app.add_option("--latency", options.timing.latency, "Memory latency in engine cycles")
      ->check(CLI::Range(1u, 100000u))
      ->capture_default_str();
  app.add_option("--stall", options.timing.stall_percent,
                 "Chance in per cent that the memory withholds a handshake in a cycle")
      ->check(CLI::Range(0u, 90u))
      ->capture_default_str();
  app.add_flag("--reorder", options.timing.reorder,
               "The memory answers out of order where AXI4 allows it, and mixes beats of several reads");
  app.add_option("--seed", options.seed, "Seed of register contents before reset, and of --stall")
      ->check(CLI::Range(1u, 2147483646u))
      ->capture_default_str();
  app.add_option("--waves", options.waves, "Write waves to this FST file (needs a build with WAVES=1)");
  app.add_option("--coverage", options.coverage,
                 "Write line and toggle coverage to this file (needs a build with COVERAGE=1)");
  app.add_option("--fault", options.fault, "Number of the fault to activate (needs a build with FAULTS=1)")
      ->check(CLI::Range(0u, 65535u));
  app.add_option("--patience", options.patience, "Cycles after which a register access counts as hanging")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--max-cycles", options.max_cycles, "Cycles after which the simulation counts as hanging; 0: never")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.timing.seed = options.seed;
  try {
    return run(path, options);
  } catch (const std::exception &error) {
    std::cerr << "hwswap-play: " << error.what() << '\n';
    return 1;
  }
}
