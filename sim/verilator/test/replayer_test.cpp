// SPDX-License-Identifier: Apache-2.0
#include "common/errors.hpp"
#include "fake_engine.hpp"
#include "replay/replayer.hpp"

#include <gtest/gtest.h>

namespace hwswap::test {
namespace {

constexpr uint64_t base = 0x2'0000'0000;

/// Completes commands of the ring, and requests of the CPU pages, with outcomes that a test prepares.
class ScriptedEngine final : public Engine {
public:
  struct Outcome {
    uint8_t status = HWSWAP_STATUS_OK;
    uint8_t type = 0;
    uint64_t slot = 0;
    uint32_t cycles = 4;
  };

  explicit ScriptedEngine(FlatMemory &memory) : memory_(memory) { reset(); }

  void reset() override {
    registers_ = {{HWSWAP_REG_CAPS, 2 | 2 << 8 | uint64_t{16} << 32 | HWSWAP_CAPS_CHECK}};
    done = 0;
  }

  void step() override {
    ++cycles_;
    const bool enabled = registers_[HWSWAP_REG_CONTROL] & HWSWAP_CONTROL_ENABLE;
    if (!enabled || done == static_cast<uint32_t>(registers_[HWSWAP_REG_CMD_TAIL]) || cycles_ % 3)
      return;
    const unsigned log2 = static_cast<unsigned>(registers_[HWSWAP_REG_CMD_SIZE]);
    const uint64_t index = done & ((1u << log2) - 1);
    const uint64_t head = memory_.word(registers_[HWSWAP_REG_CMD_BASE] - base + index * HWSWAP_COMMAND_SIZE);
    const Outcome outcome = answer(static_cast<uint8_t>(head & HWSWAP_COMMAND_HEAD_OPCODE));
    const uint64_t at = registers_[HWSWAP_REG_CPL_BASE] - base + index * HWSWAP_COMPLETION_SIZE;
    const uint64_t phase = (done >> log2 & 1) == 0;
    memory_.word(at) = outcome.slot | uint64_t{outcome.type} << 48;
    memory_.word(at + 8) = phase | uint64_t{outcome.status} << 1 | (head & 0xff) << 8 |
                           uint64_t{(done + skew) & 0xffff} << 16 | uint64_t{outcome.cycles} << 32;
    ++done;
  }

  uint64_t read_register(uint32_t address) override {
    step();
    return registers_[address] & ~(address == HWSWAP_REG_CAPS ? missing : 0);
  }

  void write_register(uint32_t address, uint64_t data, uint8_t) override {
    step();
    if (address == HWSWAP_REG_CONTROL)
      data &= ~HWSWAP_CONTROL_RESET;
    if (address == HWSWAP_REG_POLICY) {
      data &= policies;
      policy_after = done + requests;
    }
    registers_[address] = data;
    const uint32_t page = HWSWAP_REG_CPU_PAGE_BASE;
    if (address >= page && address % HWSWAP_REG_CPU_PAGE_STRIDE == HWSWAP_REG_CPU_PAGE_REQUEST) {
      const Outcome outcome = answer(static_cast<uint8_t>(data));
      registers_[address - HWSWAP_REG_CPU_PAGE_REQUEST + HWSWAP_REG_CPU_PAGE_RESPONSE] =
          outcome.slot | uint64_t{outcome.type} << 32 | uint64_t{outcome.status} << 40 |
          (data & HWSWAP_CPU_PAGE_REQUEST_SEQ);
      ++requests;
    }
  }

  bool irq() const override { return false; }
  bool idle() const override { return true; }
  uint32_t passes() const override { return 0; }
  uint64_t cycles() const override { return cycles_; }
  uint64_t dma_read_beats() const override { return 0; }
  uint64_t dma_write_beats() const override { return 0; }
  uint64_t dma_errors() const override { return 0; }
  void hold_memory(bool) override {}
  bool take_irq_rise() override { return false; }

  /// Outcomes of ALLOCs in order; the last one stays.
  std::vector<Outcome> allocs;
  /// Outcome of FREE, of CHECK and of DISCARD_TAKE.
  Outcome free, check, take;
  /// Bits of CAPS that the engine lacks.
  uint64_t missing = 0;
  /// Bits of POLICY that the engine has.
  uint64_t policies = ~uint64_t{0};
  uint32_t done = 0;
  uint32_t skew = 0;
  unsigned requests = 0;
  /// Commands and requests that were done when POLICY was written.
  unsigned policy_after = 0;

private:
  Outcome answer(uint8_t opcode) {
    if (opcode == HWSWAP_OPCODE_ALLOC) {
      const Outcome outcome = allocs.front();
      if (allocs.size() > 1)
        allocs.erase(allocs.begin());
      return outcome;
    }
    if (opcode == HWSWAP_OPCODE_FREE)
      return free;
    if (opcode == HWSWAP_OPCODE_DISCARD_TAKE)
      return take;
    return opcode == HWSWAP_OPCODE_CHECK ? check : Outcome{};
  }

  FlatMemory &memory_;
  std::map<uint32_t, uint64_t> registers_;
  uint64_t cycles_ = 0;
};

class ReplayerTest : public ::testing::TestWithParam<bool> {
protected:
  FlatMemory memory{base, CommandRing::bytes(Replayer::ring_log2)};
  ScriptedEngine engine{memory};
  Trace trace;

  ReplayerTest() {
    trace.cpus = 1;
    trace.devices = 1;
    trace.clusters = 2;
    trace.records = {{TraceOp::prepare, 0, 0, 0, 1024, 3, 0},
                     {TraceOp::swapon, 0, 0, 0, 0, 0, 0},
                     {TraceOp::alloc, 0, 4, 0, 16, 0, 0},
                     {TraceOp::alloc, 0, 9, trace_failed, 0, 0, 0},
                     {TraceOp::free, 0, 0, 0, 16, 16, 0}};
    engine.allocs = {{HWSWAP_STATUS_OK, 0, 16, 7}, {HWSWAP_STATUS_NO_SPACE, 0, 0, 9}};
  }

  std::string difference() {
    Replayer replayer(engine, memory, trace);
    const auto found = replayer.run(GetParam());
    report = replayer.report();
    return found.value_or("");
  }

  nlohmann::json report;
};

TEST_P(ReplayerTest, EqualDecisionsAreCounted) {
  EXPECT_EQ(difference(), "");
  EXPECT_EQ(report["ops"], 5);
  EXPECT_EQ(report["cycles_by_kind"]["alloc"]["count"], 1);
  EXPECT_EQ(report["cycles_by_kind"]["alloc_failed"]["count"], 1);
  EXPECT_EQ(report["cycles_by_kind"]["free"]["count"], 1);
  if (!GetParam()) {
    EXPECT_EQ(report["cycles_by_kind"]["alloc"]["p50"], 7);
    EXPECT_EQ(report["alloc_cycles_by_order"]["9"]["max"], 9);
  }
  EXPECT_EQ(engine.requests, GetParam() ? 3u : 0u);
}

TEST_P(ReplayerTest, AnotherSlotIsTheFirstDifference) {
  engine.allocs[0].slot = 32;
  EXPECT_EQ(difference(), "operation 2 (alloc, CPU 0, order 4): expected device 0 slot 16, got device 0 slot 32");
}

TEST_P(ReplayerTest, AnotherDeviceIsADifference) {
  engine.allocs[0].type = 1;
  EXPECT_NE(difference().find("got device 1 slot 16"), std::string::npos);
}

TEST_P(ReplayerTest, SuccessInsteadOfFailureIsADifference) {
  engine.allocs[1] = {HWSWAP_STATUS_OK, 0, 512, 1};
  EXPECT_NE(difference().find("operation 3 (alloc, CPU 0, order 9): expected a failure (NO_SPACE), got device 0"),
            std::string::npos);
}

TEST_P(ReplayerTest, FailureInsteadOfSuccessIsADifference) {
  engine.allocs[0] = {HWSWAP_STATUS_NO_SPACE, 0, 0, 1};
  EXPECT_NE(difference().find("expected device 0 slot 16, got a failure"), std::string::npos);
}

TEST_P(ReplayerTest, AnErrorOfAFreeIsADifference) {
  engine.free.status = HWSWAP_STATUS_BAD_RANGE;
  EXPECT_EQ(difference(), "operation 4 (free, device 0, slots 16 to 31): expected OK, got BAD_RANGE");
}

TEST_P(ReplayerTest, FaultsOfTheSelfTestAreADifference) {
  engine.check.slot = 3;
  EXPECT_EQ(difference(),
            "the self-test (CHECK) of device 0 after the last operation: expected OK with 0 faults, got OK "
            "with 3");
}

TEST_P(ReplayerTest, APolicyIsWrittenBetweenTheOperationsItStandsBetween) {
  trace.records.insert(trace.records.begin() + 4, {TraceOp::policy, 0, 0, 0, 0x1011, 5, 0});
  EXPECT_EQ(difference(), "");
  EXPECT_EQ(report["ops"], 6);
  EXPECT_EQ(engine.policy_after, 4u);
  EXPECT_EQ(engine.read_register(HWSWAP_REG_POLICY), 0x5'0000'1011u);
}

TEST_P(ReplayerTest, APolicyThatTheEngineLacksIsRefused) {
  trace.records.insert(trace.records.begin() + 2, {TraceOp::policy, 0, 0, 0, 0x1011, 0, 0});
  engine.policies = 0x1001;
  EXPECT_THROW(difference(), UserError);
}

TEST_P(ReplayerTest, ADiscardIsADecision) {
  trace.records.push_back({TraceOp::discard_take, 0, 0, 0, 512, 0, 0});
  trace.records.push_back({TraceOp::discard_done, 0, 0, 0, 513, 0, 0});
  engine.take.slot = 512;
  EXPECT_EQ(difference(), "");
  EXPECT_EQ(report["ops"], 7);
}

TEST_P(ReplayerTest, ADiscardWhereThereShouldBeNoneIsADifference) {
  trace.records.push_back({TraceOp::discard_take, 0, 0, 0, 0, 0, 0});
  engine.take.slot = 512;
  EXPECT_EQ(difference(), "operation 5 (discard_take, device 0): expected a failure (NO_SPACE), got device 0 slot 512");
}

TEST_P(ReplayerTest, NothingToDiscardIsADecisionToo) {
  trace.records.push_back({TraceOp::discard_take, 0, 0, 0, 0, 0, 0});
  engine.take = {HWSWAP_STATUS_NO_SPACE, 0, 0, 1};
  EXPECT_EQ(difference(), "");
  EXPECT_EQ(report["cycles_by_kind"]["discard_take_failed"]["count"], 1);
}

TEST_P(ReplayerTest, LongTracesGoRoundTheRing) {
  const size_t laps = GetParam() ? 200 : 3 * (size_t{1} << Replayer::ring_log2) + 17;
  trace.records.resize(2);
  for (size_t i = 0; i < laps; ++i)
    trace.records.push_back({TraceOp::alloc, 0, 0, 0, 16, 0, 0});
  engine.allocs.resize(1);
  EXPECT_EQ(difference(), "");
  EXPECT_EQ(report["ops"], laps + 2);
}

TEST_P(ReplayerTest, AnEngineThatIsTooSmallIsRefused) {
  trace.clusters = 17;
  EXPECT_THROW(Replayer(engine, memory, trace), UserError);
  trace.clusters = 16;
  EXPECT_NO_THROW(Replayer(engine, memory, trace));
  trace.cpus = 3;
  EXPECT_THROW(Replayer(engine, memory, trace), UserError);
  trace.cpus = 2;
  trace.devices = 3;
  EXPECT_THROW(Replayer(engine, memory, trace), UserError);
}

TEST_P(ReplayerTest, AnEngineWithoutTheSelfTestIsRefused) {
  engine.missing = HWSWAP_CAPS_CHECK;
  EXPECT_THROW(Replayer(engine, memory, trace), UserError);
}

TEST_P(ReplayerTest, ACompletionOutOfCountIsAnError) {
  engine.skew = 1;
  EXPECT_THROW(difference(), EngineError);
}

INSTANTIATE_TEST_SUITE_P(Paths, ReplayerTest, ::testing::Values(false, true),
                         [](const auto &info) { return info.param ? "Registers" : "Ring"; });

} // namespace
} // namespace hwswap::test
