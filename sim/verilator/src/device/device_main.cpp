// SPDX-License-Identifier: Apache-2.0
// hwswap-device: the Verilated engine as a PCI device for QEMU (vfio-user-pci) and other vfio-user clients.
#include "common/errors.hpp"
#include "device/device_server.hpp"
#include "device/dma_port.hpp"
#include "engine/verilated_engine.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

namespace {

using namespace hwswap;

struct Options {
  std::string socket;
  std::string stats_json;
  uint64_t clock_mhz = 100;
  Pace pace = Pace::free;
  long idle_us = 200;
  InjectedFault fault = InjectedFault::none;
  uint64_t fault_after = 0;
  SimulationOptions simulation;
};

void serve(const Options &options) {
  const StopSignal stop = StopSignal::from_signals();
  ListenSocket socket(options.socket);
  GuestMemory memory;
  PciConfig config;
  FaultInjector injector(options.fault, options.fault_after, options.simulation.seed);
  DmaPort port(memory, config, injector);
  VerilatedEngine engine(port, options.simulation);
  Pacer pacer(engine, options.pace, options.clock_mhz * 1'000'000, options.idle_us, stop);
  SimulatedDevice device(engine, config, memory, injector, pacer);
  DeviceServer server(device, stop, options.stats_json);
  std::cerr << "hwswap-device: waiting for clients at " << options.socket << std::endl;
  server.run(socket);
}

} // namespace

int main(int argc, char **argv) {
  const std::map<std::string, Pace> paces = {{"free", Pace::free}, {"guest", Pace::guest}};
  const std::map<std::string, InjectedFault> faults = {
      {"version", InjectedFault::version}, {"ones", InjectedFault::ones},     {"garbage", InjectedFault::garbage},
      {"build", InjectedFault::build},     {"larger", InjectedFault::larger}, {"device", InjectedFault::device},
      {"astray", InjectedFault::astray}};
  Options options;
  CLI::App app("The simulated engine as a PCI device over a vfio-user socket, for QEMU 10.1 or newer:\n"
               "  -device '{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"PATH\"}}'\n"
               "with the guest's memory in a shared memory back-end.");
  app.add_option("--socket", options.socket, "UNIX socket to listen at")->required();
  app.add_option("--clock-mhz", options.clock_mhz, "Modelled engine clock, for guest pacing")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  app.add_option("--latency", options.simulation.timing.latency, "Memory latency in engine cycles")
      ->check(CLI::Range(1u, 100000u))
      ->capture_default_str();
  app.add_option("--pace", options.pace,
                 "free: the engine runs while it has work; guest: it runs only inside the guest's accesses")
      ->transform(CLI::CheckedTransformer(paces).description("{free,guest}"))
      ->default_str("free");
  app.add_option("--idle-us", options.idle_us, "Microseconds between two looks at the guest's memory when idle")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_option(
         "--bad", options.fault,
         "InjectedFault to the driver: version (another MAJOR), ones (registers read all ones), garbage (random "
         "grants), build (another BUILD), larger (CAPS of a larger engine), device (grants of 0 name 1, and of 1 name "
         "0), astray (words of clusters are read elsewhere)")
      ->transform(CLI::CheckedTransformer(faults).description("{version,ones,garbage,build,larger,device,astray}"));
  app.add_option("--bad-after", options.fault_after, "Register reads before the fault begins")->capture_default_str();
  app.add_option("--seed", options.simulation.seed, "Seed of register contents before reset, and of --bad garbage")
      ->check(CLI::Range(1u, 2147483646u))
      ->capture_default_str();
  app.add_option("--stats-json", options.stats_json,
                 "Write statistics to this file when a client leaves and at the end");
  app.add_option("--waves", options.simulation.waves, "Write waves to this FST file (needs a build with WAVES=1)");
  CLI11_PARSE(app, argc, argv);
  try {
    serve(options);
    return 0;
  } catch (const std::exception &error) {
    std::cerr << "hwswap-device: " << error.what() << '\n';
    return 1;
  }
}
