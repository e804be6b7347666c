// SPDX-License-Identifier: Apache-2.0
#include "bus/axil_master.hpp"
#include "common/errors.hpp"

#include <gtest/gtest.h>

namespace hwswap::test {
namespace {

/// Outputs of a slave that takes nothing and answers nothing.
constexpr AxilResponse quiet{};

AxilResponse takes_read() {
  AxilResponse response;
  response.arready = true;
  return response;
}

AxilResponse answers_read(uint64_t data) {
  AxilResponse response;
  response.rvalid = true;
  response.rdata = data;
  return response;
}

TEST(AxilMasterTest, ReadsDoNotWaitForEachOther) {
  AxilMaster master;
  master.start_read(0x40);
  master.start_read(0x48);
  EXPECT_EQ(master.signals().araddr, 0x40u);
  master.clock(takes_read());
  EXPECT_EQ(master.signals().araddr, 0x48u);
  EXPECT_TRUE(master.signals().arvalid);
  master.clock(takes_read());
  EXPECT_FALSE(master.signals().arvalid);
  master.clock(answers_read(1));
  EXPECT_TRUE(master.busy());
  master.clock(answers_read(2));
  EXPECT_FALSE(master.busy());
  const auto answers = master.take_answers();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].data, 1u);
  EXPECT_EQ(answers[1].data, 2u);
}

TEST(AxilMasterTest, AddressAndDataOfWritesAreTakenInAnyOrder) {
  AxilMaster master;
  master.start_write(0x40, 5, 0xff);
  master.start_write(0x48, 6, 0x0f);
  AxilResponse words;
  words.wready = true;
  master.clock(words);
  EXPECT_EQ(master.signals().awaddr, 0x40u);
  EXPECT_EQ(master.signals().wdata, 6u);
  master.clock(words);
  EXPECT_FALSE(master.signals().wvalid);
  AxilResponse addresses;
  addresses.awready = true;
  master.clock(addresses);
  EXPECT_EQ(master.signals().awaddr, 0x48u);
  AxilResponse answer = addresses;
  answer.bvalid = true;
  master.clock(answer);
  EXPECT_TRUE(master.busy());
  answer.awready = false;
  master.clock(answer);
  EXPECT_FALSE(master.busy());
}

TEST(AxilMasterTest, WhatIsOfferedStays) {
  AxilMaster master(50, 3);
  master.start_read(0x40);
  while (!master.signals().arvalid)
    master.clock(quiet);
  for (int i = 0; i < 50; ++i) {
    master.clock(quiet);
    EXPECT_TRUE(master.signals().arvalid);
  }
}

TEST(AxilMasterTest, AnswersToNothingAreErrors) {
  AxilMaster master;
  EXPECT_THROW(master.clock(answers_read(1)), EngineError);
  master.start_read(0x40);
  EXPECT_THROW(master.clock(answers_read(1)), EngineError);
  master.start_write(0x40, 5, 0xff);
  AxilResponse answer;
  answer.bvalid = true;
  EXPECT_THROW(master.clock(answer), EngineError);
  AxilResponse address;
  address.awready = true;
  master.clock(address);
  EXPECT_THROW(master.clock(answer), EngineError);
}

} // namespace
} // namespace hwswap::test
