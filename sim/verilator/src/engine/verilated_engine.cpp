// SPDX-License-Identifier: Apache-2.0
#include "engine/verilated_engine.hpp"

#include "VHwSwap.h"
#include "common/errors.hpp"
#include "verilated.h"
#ifdef HWSWAP_WAVES
#include "verilated_fst_c.h"
#endif
#ifdef HWSWAP_COVERAGE
#include "verilated_cov.h"
#endif

#include <sstream>
#include <string>

namespace hwswap {

namespace {

constexpr unsigned reset_cycles = 8;

} // namespace

VerilatedEngine::VerilatedEngine(BusMemory &memory, const SimulationOptions &options)
    : context_(std::make_unique<VerilatedContext>()), coverage_(options.coverage), patience_(options.patience),
      max_cycles_(options.max_cycles), memory_(memory, options.timing),
      registers_(options.timing.stall_percent, options.timing.seed + 1) {
#ifdef HWSWAP_COVERAGE
  // A bit that was 1 by chance and is written with 0 would count as one that the engine was made to change.
  context_->randReset(0);
#else
  context_->randReset(2);
#endif
  context_->randSeed(static_cast<int>(options.seed));
  model_ = std::make_unique<VHwSwap>(context_.get());
#ifdef HWSWAP_FAULTS
  model_->mutsel = options.fault;
#else
  if (options.fault)
    throw UserError("this program was built without faults: build it with FAULTS=1 to use --fault");
#endif
  if (!options.waves.empty()) {
#ifdef HWSWAP_WAVES
    context_->traceEverOn(true);
    waves_ = std::make_unique<VerilatedFstC>();
    model_->trace(waves_.get(), 99);
    waves_->open(options.waves.c_str());
    if (!waves_->isOpen())
      throw UserError("cannot write the wave file " + options.waves + ": choose another place with --waves");
#else
    throw UserError("this program was built without waves: build it with WAVES=1 to use --waves");
#endif
  }
#ifndef HWSWAP_COVERAGE
  if (!coverage_.empty())
    throw UserError("this program was built without coverage: build it with COVERAGE=1 to use --coverage");
#endif
  reset();
#ifdef HWSWAP_COVERAGE
  // Coverage starts here: the registers' values before their reset say nothing of what the engine was made to do.
  context_->coveragep()->zero();
#endif
}

VerilatedEngine::~VerilatedEngine() {
#ifdef HWSWAP_COVERAGE
  if (!coverage_.empty())
    context_->coveragep()->write(coverage_.c_str());
#endif
#ifdef HWSWAP_WAVES
  if (waves_)
    waves_->close();
#endif
  model_->final();
}

void VerilatedEngine::reset() {
  memory_.reset();
  registers_.reset();
  model_->reset = 1;
  for (unsigned i = 0; i < reset_cycles; ++i) {
    step();
    // The engine's outputs during reset mean nothing.
    memory_.reset();
  }
  model_->reset = 0;
  irq_ = irq_rose_ = false;
}

void VerilatedEngine::drive() {
  VHwSwap &m = *model_;
  const AxiResponse &memory = memory_.signals();
  m.m_axi_awready = memory.awready;
  m.m_axi_wready = memory.wready;
  m.m_axi_bid = memory.bid;
  m.m_axi_bresp = memory.bresp;
  m.m_axi_bvalid = memory.bvalid;
  m.m_axi_arready = memory.arready;
  m.m_axi_rid = memory.rid;
  m.m_axi_rdata = memory.rdata;
  m.m_axi_rresp = memory.rresp;
  m.m_axi_rlast = memory.rlast;
  m.m_axi_rvalid = memory.rvalid;
  const AxilRequest &host = registers_.signals();
  m.s_axil_awaddr = host.awaddr;
  m.s_axil_awprot = 0;
  m.s_axil_awvalid = host.awvalid;
  m.s_axil_wdata = host.wdata;
  m.s_axil_wstrb = host.wstrb;
  m.s_axil_wvalid = host.wvalid;
  m.s_axil_bready = host.bready;
  m.s_axil_araddr = host.araddr;
  m.s_axil_arprot = 0;
  m.s_axil_arvalid = host.arvalid;
  m.s_axil_rready = host.rready;
}

void VerilatedEngine::step() {
  if (max_cycles_ && cycles_ >= max_cycles_)
    throw EngineError("the simulation has not ended after " + std::to_string(max_cycles_) + " cycles: it hangs");
  VHwSwap &m = *model_;
  drive();
  m.clock = 0;
  m.eval();
  dump_waves();
  // The engine's outputs for this cycle have settled: these values count at the edge.
  AxiRequest request;
  request.aw = {m.m_axi_awid, m.m_axi_awaddr, m.m_axi_awlen, m.m_axi_awsize, m.m_axi_awburst, m.m_axi_awvalid != 0};
  request.wdata = m.m_axi_wdata;
  request.wstrb = m.m_axi_wstrb;
  request.wlast = m.m_axi_wlast;
  request.wvalid = m.m_axi_wvalid;
  request.bready = m.m_axi_bready;
  request.ar = {m.m_axi_arid, m.m_axi_araddr, m.m_axi_arlen, m.m_axi_arsize, m.m_axi_arburst, m.m_axi_arvalid != 0};
  request.rready = m.m_axi_rready;
  AxilResponse response;
  response.awready = m.s_axil_awready;
  response.wready = m.s_axil_wready;
  response.bresp = m.s_axil_bresp;
  response.bvalid = m.s_axil_bvalid;
  response.arready = m.s_axil_arready;
  response.rdata = m.s_axil_rdata;
  response.rresp = m.s_axil_rresp;
  response.rvalid = m.s_axil_rvalid;
  irq_rose_ |= m.irq && !irq_;
  irq_ = m.irq;
  idle_ = m.idle;
  passes_ = m.passes;
  m.clock = 1;
  m.eval();
  dump_waves();
  ++cycles_;
  if (m.reset)
    return;
  memory_.clock(request);
  registers_.clock(response);
}

void VerilatedEngine::dump_waves() {
#ifdef HWSWAP_WAVES
  context_->timeInc(1);
  if (waves_)
    waves_->dump(context_->time());
#endif
}

namespace {

std::string at(const char *what, uint32_t address) {
  std::ostringstream text;
  text << what << " at 0x" << std::hex << address;
  return text.str();
}

} // namespace

uint64_t VerilatedEngine::read_register(uint32_t address) {
  registers_.start_read(address);
  return finish_transactions(at("a register read", address)).front();
}

void VerilatedEngine::write_register(uint32_t address, uint64_t data, uint8_t strobes) {
  registers_.start_write(address, data, strobes);
  finish_transactions(at("a register write", address));
}

std::vector<uint64_t> VerilatedEngine::access_registers(const std::vector<RegisterAccess> &accesses) {
  for (const RegisterAccess &access : accesses) {
    if (access.write)
      registers_.start_write(access.address, access.data, access.strobes);
    else
      registers_.start_read(access.address);
  }
  return finish_transactions(std::to_string(accesses.size()) + " register accesses at once");
}

std::vector<uint64_t> VerilatedEngine::finish_transactions(const std::string &what) {
  const uint64_t begin = cycles_;
  while (registers_.busy()) {
    if (cycles_ - begin > patience_)
      throw EngineError("the engine has not answered " + what + " for " + std::to_string(patience_) + " cycles");
    step();
  }
  std::vector<uint64_t> words;
  for (const AxilMaster::Answer &answer : registers_.take_answers())
    words.push_back(answer.response == axi_okay ? answer.data : ~uint64_t{0});
  return words;
}

bool VerilatedEngine::take_irq_rise() {
  const bool rose = irq_rose_;
  irq_rose_ = false;
  return rose;
}

} // namespace hwswap
