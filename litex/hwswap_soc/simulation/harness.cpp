// SPDX-License-Identifier: Apache-2.0
// Clocks the Verilated SoC, and prints its console.
//
// On standard output, a line each: "L <cycle> <text>" for every line of the console, with the sys cycle in which it
// ended, and "C <cycle>" about twice a second. The last line is "C <cycle>" too. On SIGTERM or SIGINT, or at
// --max-cycles, it ends well: waves are complete. The memories are read from *.init files in the present directory.
#include "Vsim.h"
#include "verilated.h"
#ifdef HWSWAP_WAVES
#include "verilated_fst_c.h"
#endif

#include <CLI/CLI.hpp>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace {

volatile std::sig_atomic_t stopped = 0;
void on_signal(int) { stopped = 1; }

// Half a period of the sys clock in units of time; even, so that most ratios of the two clocks come out exactly.
constexpr std::uint64_t kHalfPeriod = 500'000;
constexpr int kResetCycles = 16;
constexpr std::uint64_t kReportEvery = 1 << 16;

class Console {
public:
  void take(char c, std::uint64_t cycle) {
    if (c == '\n') {
      flush(cycle);
    } else if (c != '\r') {
      line_ += c;
    }
  }
  void flush(std::uint64_t cycle) {
    std::printf("L %llu %s\n", static_cast<unsigned long long>(cycle), line_.c_str());
    std::fflush(stdout);
    line_.clear();
  }
  bool empty() const { return line_.empty(); }

private:
  std::string line_;
};

class Simulation {
public:
  Simulation(unsigned latency, double ratio, const std::string &wave)
      : context_(std::make_unique<VerilatedContext>()),
        engine_half_(static_cast<std::uint64_t>(std::llround(kHalfPeriod / ratio))) {
#ifdef HWSWAP_WAVES
    context_->traceEverOn(true);
#endif
    top_ = std::make_unique<Vsim>(context_.get());
    top_->clocks_sys = 0;
    top_->clocks_engine = 0;
    top_->clocks_reset = 1;
    top_->dram_latency = latency;
    top_->serial_source_ready = 1;
    top_->serial_sink_valid = 0;
    top_->serial_sink_data = 0;
    top_->sim_trace = 0;
#ifdef HWSWAP_WAVES
    if (!wave.empty()) {
      waves_ = std::make_unique<VerilatedFstC>();
      top_->trace(waves_.get(), 99);
      waves_->open(wave.c_str());
    }
#endif
    (void)wave;
    top_->eval();
  }

  ~Simulation() {
#ifdef HWSWAP_WAVES
    if (waves_)
      waves_->close();
#endif
    top_->final();
  }

  // One cycle of the sys clock, and the engine clock's edges that fall into it.
  void cycle(Console &console) {
    edge(sys_next_);
    // Seen just before the clock's edge, as a receiver on that clock would.
    const bool sent = top_->serial_source_valid;
    const char data = static_cast<char>(top_->serial_source_data);
    top_->clocks_reset = cycles_ < kResetCycles;
    top_->clocks_sys = 1;
    evaluate();
    sys_next_ += kHalfPeriod;
    edge(sys_next_);
    top_->clocks_sys = 0;
    evaluate();
    sys_next_ += kHalfPeriod;
    ++cycles_;
    if (sent)
      console.take(data, cycles_);
  }

  std::uint64_t cycles() const { return cycles_; }

private:
  // The engine clock's edges up to the time of the sys clock's next edge; one at that very time changes together with
  // it.
  void edge(std::uint64_t until) {
    while (engine_next_ < until) {
      context_->time(engine_next_);
      top_->clocks_engine = !top_->clocks_engine;
      engine_next_ += engine_half_;
      evaluate();
    }
    context_->time(until);
    if (engine_next_ == until) {
      top_->clocks_engine = !top_->clocks_engine;
      engine_next_ += engine_half_;
    }
  }

  void evaluate() {
    top_->eval();
#ifdef HWSWAP_WAVES
    if (waves_)
      waves_->dump(context_->time());
#endif
  }

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vsim> top_;
#ifdef HWSWAP_WAVES
  std::unique_ptr<VerilatedFstC> waves_;
#endif
  std::uint64_t engine_half_;
  std::uint64_t sys_next_ = kHalfPeriod;
  std::uint64_t engine_next_ = kHalfPeriod;
  std::uint64_t cycles_ = 0;
};

} // namespace

int main(int argc, char **argv) {
  unsigned latency = 16;
  double ratio = 1.0;
  std::uint64_t max_cycles = 0;
  std::string wave;
  CLI::App app{"The simulated SoC."};
  app.add_option("--dram-latency", latency, "cycles to the first beat")->check(CLI::Range(2, 60000));
  app.add_option("--engine-ratio", ratio, "engine clock to sys clock")->check(CLI::Range(0.05, 20.0));
  app.add_option("--max-cycles", max_cycles, "stop then; 0: never");
#ifdef HWSWAP_WAVES
  app.add_option("--wave", wave, "FST file to write");
#endif
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGINT, on_signal);

  Simulation simulation(latency, ratio, wave);
  Console console;
  auto reported = std::chrono::steady_clock::now();
  while (!stopped && (max_cycles == 0 || simulation.cycles() < max_cycles)) {
    simulation.cycle(console);
    if (simulation.cycles() % kReportEvery == 0) {
      const auto now = std::chrono::steady_clock::now();
      if (now - reported > std::chrono::milliseconds(500)) {
        reported = now;
        std::printf("C %llu\n", static_cast<unsigned long long>(simulation.cycles()));
        std::fflush(stdout);
      }
    }
  }
  if (!console.empty())
    console.flush(simulation.cycles());
  std::printf("C %llu\n", static_cast<unsigned long long>(simulation.cycles()));
  return 0;
}
