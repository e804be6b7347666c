// SPDX-License-Identifier: Apache-2.0
#include "engine/verilated_core.hpp"

#include "VCore.h"
#include "common/errors.hpp"
#include "core_ops.h"
#include "verilated.h"

#include <utility>

namespace hwswap {

namespace {

constexpr unsigned reset_cycles = 8;

/// The core's operation for an opcode.
uint8_t operation(uint8_t opcode) {
  static constexpr std::pair<uint8_t, uint8_t> operations[] = {
      {HWSWAP_OPCODE_SWAPON_PREPARE, HWSWAP_CORE_OP_swaponPrepare},
      {HWSWAP_OPCODE_MARK_BAD, HWSWAP_CORE_OP_markBad},
      {HWSWAP_OPCODE_SWAPON, HWSWAP_CORE_OP_swapon},
      {HWSWAP_OPCODE_SWAPOFF_BEGIN, HWSWAP_CORE_OP_swapoffBegin},
      {HWSWAP_OPCODE_SWAPOFF, HWSWAP_CORE_OP_swapoff},
      {HWSWAP_OPCODE_ALLOC, HWSWAP_CORE_OP_alloc},
      {HWSWAP_OPCODE_FREE, HWSWAP_CORE_OP_free},
      {HWSWAP_OPCODE_CHECK, HWSWAP_CORE_OP_check},
      {HWSWAP_OPCODE_DISCARD_TAKE, HWSWAP_CORE_OP_discardTake},
      {HWSWAP_OPCODE_DISCARD_DONE, HWSWAP_CORE_OP_discardDone}};
  for (const auto &[command, core] : operations)
    if (command == opcode)
      return core;
  throw EngineError("the core alone does not know opcode " + std::to_string(opcode));
}

} // namespace

VerilatedCore::VerilatedCore(uint32_t seed) : context_(std::make_unique<VerilatedContext>()) {
  context_->randReset(2);
  context_->randSeed(static_cast<int>(seed));
  model_ = std::make_unique<VCore>(context_.get());
  VCore &m = *model_;
  m.io_resp_ready = 1;
  m.io_clear = 0;
  m.io_policy_scan = m.io_policy_device = m.io_policy_hint = m.io_policy_placement = 0;
  m.io_policy_seed = 0;
  m.io_policy_reseed = 0;
  m.reset = 1;
  for (unsigned i = 0; i < reset_cycles; ++i)
    step(nullptr);
  m.reset = 0;
}

VerilatedCore::~VerilatedCore() { model_->final(); }

void VerilatedCore::clear() {
  model_->io_clear = 1;
  step(nullptr);
  model_->io_clear = 0;
}

void VerilatedCore::set_policy(uint64_t value) {
  VCore &m = *model_;
  m.io_policy_scan = field_get(value, HWSWAP_POLICY_SCAN);
  m.io_policy_device = field_get(value, HWSWAP_POLICY_DEVICE);
  m.io_policy_hint = field_get(value, HWSWAP_POLICY_HINT);
  m.io_policy_placement = field_get(value, HWSWAP_POLICY_PLACEMENT);
  m.io_policy_seed = static_cast<uint32_t>(field_get(value, HWSWAP_POLICY_SEED));
  m.io_policy_reseed = 1;
  step(nullptr);
  m.io_policy_reseed = 0;
}

CoreCycle VerilatedCore::step(const Command *command) {
  VCore &m = *model_;
  m.io_req_valid = command != nullptr;
  if (command) { // the fields as CommandDecode reads them
    const Command &c = *command;
    m.io_req_bits_op = operation(c.opcode);
    m.io_req_bits_cpu = c.cpu;
    m.io_req_bits_order = c.order;
    m.io_req_bits_device = c.type;
    m.io_req_bits_offset = static_cast<uint32_t>(c.arg0);
    m.io_req_bits_nr = c.nr;
    m.io_req_bits_pages = static_cast<uint32_t>(c.arg0);
    m.io_req_bits_base = static_cast<uint32_t>(c.arg0 >> 32);
    m.io_req_bits_flags = c.arg1 & (HWSWAP_DEVICE_FLAGS_FLAGS_BLKDEV | HWSWAP_DEVICE_FLAGS_FLAGS_SOLIDSTATE |
                                    HWSWAP_DEVICE_FLAGS_FLAGS_DISCARD);
    m.io_req_bits_priority = static_cast<uint16_t>(c.arg2);
    m.io_req_bits_node = c.arg2 >> 24 & 0xf;
  }
  m.clock = 0;
  m.eval();
  CoreCycle cycle;
  cycle.accepted = command && m.io_req_ready;
  if (m.io_resp_valid)
    cycle.answer = CoreAnswer{m.io_resp_bits_status, m.io_resp_bits_device, m.io_resp_bits_offset};
  cycle.events = {m.io_events_allocFast != 0, m.io_events_allocNonfull != 0, m.io_events_allocFree != 0,
                  m.io_events_allocFrag != 0, m.io_events_allocSteal != 0,   m.io_events_allocFail != 0,
                  m.io_events_freed != 0,     m.io_events_scan != 0,         m.io_events_listMove != 0};
  m.clock = 1;
  m.eval();
  return cycle;
}

} // namespace hwswap
