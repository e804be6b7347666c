// SPDX-License-Identifier: Apache-2.0
#include "device/pacing.hpp"
#include "fake_engine.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

namespace hwswap::test {
namespace {

class PacingTest : public ::testing::Test {
protected:
  FlatMemory memory{0, 64};
  FakeEngine engine{memory};
  StopSignal stop{FileDescriptor(eventfd(0, 0))};

  void make_grants() {
    engine.registers[HWSWAP_REG_CONTROL] = HWSWAP_CONTROL_ENABLE;
    engine.registers[HWSWAP_REG_GRANT_CONTROL] = HWSWAP_GRANT_CONTROL_READ | HWSWAP_GRANT_CONTROL_GRANT;
  }
  uint64_t cycles_of(const std::function<void()> &action) {
    const uint64_t begin = engine.cycles();
    action();
    return engine.cycles() - begin;
  }
};

TEST_F(PacingTest, GuestTimeBecomesCycles) {
  Pacer pacer(engine, Pace::guest, 100'000'000, 200, stop);
  engine.busy_until = UINT64_MAX;
  pacer.guest_time(5'000'000);
  EXPECT_EQ(cycles_of([&] { pacer.guest_time(5'010'000); }), 1000u);
  EXPECT_EQ(cycles_of([&] { pacer.guest_time(5'010'000); }), 0u);
  // 15 ns at 100 MHz are one and a half cycles: the half is not lost.
  EXPECT_EQ(cycles_of([&] { pacer.guest_time(5'110'015); }), 10'001u);
  EXPECT_EQ(cycles_of([&] { pacer.guest_time(5'210'030); }), 10'002u);
}

TEST_F(PacingTest, TheFirstTimeAndATimeThatGoesBackOnlyCountFromThere) {
  Pacer pacer(engine, Pace::guest, 100'000'000, 200, stop);
  engine.busy_until = UINT64_MAX;
  EXPECT_EQ(cycles_of([&] { pacer.guest_time(1'000'000'000'000); }), 0u);
  EXPECT_EQ(cycles_of([&] { pacer.guest_time(50); }), 0u);
  EXPECT_EQ(cycles_of([&] { pacer.guest_time(10'050); }), 1000u);
}

TEST_F(PacingTest, IdleTimeIsSkipped) {
  Pacer pacer(engine, Pace::guest, 100'000'000, 200, stop);
  pacer.guest_time(0);
  engine.busy_until = engine.cycles() + 500;
  const uint64_t used = cycles_of([&] { pacer.guest_time(1'000'000'000); });
  EXPECT_GE(used, 500u);
  EXPECT_LT(used, 510u);
}

TEST_F(PacingTest, AnEngineThatMakesGrantsGetsTwoPasses) {
  make_grants();
  Pacer pacer(engine, Pace::guest, 100'000'000, 200, stop);
  pacer.guest_time(0);
  for (uint64_t ms = 1; ms <= 5; ++ms) {
    const uint32_t before = engine.passes();
    pacer.guest_time(ms * 1'000'000);
    EXPECT_GE(engine.passes() - before, 2u);
    EXPECT_LE(engine.passes() - before, 3u);
  }
}

TEST_F(PacingTest, RegisterAccessesCostTheSameWhateverTheEngineDoes) {
  Pacer pacer(engine, Pace::guest, 100'000'000, 200, stop);
  pacer.guest_time(0);
  for (const uint64_t busy : {uint64_t{0}, UINT64_MAX}) {
    engine.busy_until = busy;
    const uint64_t begin = engine.cycles();
    engine.read_register(HWSWAP_REG_ID);
    pacer.accessed(begin);
    EXPECT_EQ(engine.cycles() - begin, Pacer::access_cycles);
  }
}

TEST_F(PacingTest, BeforeTheFirstTimeAGuestPacedEngineSettlesInsideTheAccess) {
  Pacer pacer(engine, Pace::guest, 100'000'000, 200, stop);
  engine.busy_until = engine.cycles() + 3000;
  pacer.accessed(engine.cycles());
  EXPECT_TRUE(engine.idle());
  EXPECT_FALSE(pacer.wants_to_run());
  EXPECT_LT(pacer.sleep_us(), 0);
}

TEST_F(PacingTest, AFreeEngineRunsUntilItIsIdleAndWakesToLookAtMemory) {
  Pacer pacer(engine, Pace::free, 100'000'000, 200, stop);
  engine.busy_until = engine.cycles() + 300;
  unsigned slices = 0;
  for (; pacer.wants_to_run(); ++slices)
    pacer.run_slice(64);
  EXPECT_EQ(slices, 5u);
  EXPECT_TRUE(engine.idle());
  EXPECT_LT(pacer.sleep_us(), 0) << "an engine that makes no grants needs no waking";

  make_grants();
  pacer.accessed(engine.cycles());
  EXPECT_TRUE(pacer.wants_to_run());
  while (pacer.wants_to_run())
    pacer.run_slice(64);
  EXPECT_EQ(pacer.sleep_us(), 200);
  const uint32_t before = engine.passes();
  pacer.woke();
  while (pacer.wants_to_run())
    pacer.run_slice(64);
  EXPECT_GE(engine.passes() - before, 2u);
}

TEST_F(PacingTest, GuestTimeStopsFreeRunningUntilReset) {
  Pacer pacer(engine, Pace::free, 100'000'000, 200, stop);
  EXPECT_TRUE(pacer.wants_to_run());
  pacer.guest_time(1);
  EXPECT_FALSE(pacer.wants_to_run());
  pacer.reset();
  EXPECT_TRUE(pacer.wants_to_run());
}

TEST_F(PacingTest, AnEngineThatStopsMakingGrantsSettles) {
  make_grants();
  Settler settler(engine, 2);
  settler.run(5);
  EXPECT_TRUE(settler.polls());
  engine.registers[HWSWAP_REG_CONTROL] = 0;
  settler.run(1'000'000);
  EXPECT_TRUE(settler.settled());
  EXPECT_LT(engine.cycles(), 10'000u);
}

TEST_F(PacingTest, AnEngineThatServesRingsOfGrantsPolls) {
  engine.registers[HWSWAP_REG_CONTROL] = HWSWAP_CONTROL_ENABLE;
  engine.registers[HWSWAP_REG_GRANT_CONTROL] = HWSWAP_GRANT_CONTROL_READ;
  Settler settler(engine, 2);
  settler.run(5);
  EXPECT_FALSE(settler.polls());
  engine.registers[HWSWAP_REG_GRANT_CONTROL] |= HWSWAP_GRANT_CONTROL_GRANT;
  settler.disturb();
  settler.run(5);
  EXPECT_TRUE(settler.polls());
  engine.registers[HWSWAP_REG_CONTROL] = 0;
  settler.disturb();
  settler.run(5);
  EXPECT_FALSE(settler.polls());
}

TEST_F(PacingTest, AStopEndsALongAccess) {
  Pacer pacer(engine, Pace::guest, 100'000'000, 200, stop);
  engine.busy_until = UINT64_MAX;
  pacer.guest_time(0);
  eventfd_write(stop.fd(), 1);
  EXPECT_THROW(pacer.guest_time(3'600'000'000'000), Stopped);
}

} // namespace
} // namespace hwswap::test
