// SPDX-License-Identifier: Apache-2.0
#include "bus/sparse_memory.hpp"
#include "common/errors.hpp"
#include "scale/scale_phase.hpp"

#include <gtest/gtest.h>

namespace hwswap::test {
namespace {

constexpr uint64_t base = 0x50'0000'0000;
constexpr uint64_t bytes = uint64_t{1} << 40;

TEST(SparseMemory, IsZeroUntilWrittenAndKeepsOnlyWhatWas) {
  SparseMemory memory(base, bytes);
  uint64_t data = 1;
  EXPECT_TRUE(memory.read(base + bytes - 8, data));
  EXPECT_EQ(data, 0u);
  EXPECT_EQ(memory.pages(), 0u);
  EXPECT_TRUE(memory.write(base + bytes - 8, 0x1122334455667788, 0xff));
  EXPECT_TRUE(memory.write(base + bytes - 8, 0xffffffffffffffff, 0x0f));
  EXPECT_TRUE(memory.read(base + bytes - 8, data));
  EXPECT_EQ(data, 0x11223344ffffffffu);
  EXPECT_EQ(memory.pages(), 1u);
  EXPECT_TRUE(memory.read(base + bytes - 16, data));
  EXPECT_EQ(data, 0u);
}

TEST(SparseMemory, EndsWhereItEnds) {
  SparseMemory memory(base, bytes);
  uint64_t data = 0;
  EXPECT_FALSE(memory.read(base - 8, data));
  EXPECT_FALSE(memory.read(base + bytes, data));
  EXPECT_FALSE(memory.write(base + bytes, 1, 0xff));
}

TEST(JoinedMemory, AsksTheSecondWhereTheFirstHasNothing) {
  FlatMemory flat(0x1000, 64);
  SparseMemory sparse(0x2000, 4096);
  JoinedMemory memory(flat, sparse);
  EXPECT_TRUE(memory.write(0x1008, 5, 0xff));
  EXPECT_TRUE(memory.write(0x2008, 6, 0xff));
  EXPECT_FALSE(memory.write(0x3000, 7, 0xff));
  EXPECT_EQ(flat.word(8), 5u);
  uint64_t data = 0;
  EXPECT_TRUE(memory.read(0x2008, data));
  EXPECT_EQ(data, 6u);
}

TEST(ScalePhase, IsReadOrRefused) {
  const ScalePhase phase = read_phase("churn:120:50");
  EXPECT_EQ(phase.name, "churn");
  EXPECT_EQ(phase.operations, 120u);
  EXPECT_EQ(phase.latency, 50u);
  for (const char *wrong : {"", "churn", "churn:1", "churn:x:1", "churn:1:", "churn:1:0", ":1:1", "a:1:2:3"})
    EXPECT_THROW(read_phase(wrong), UserError) << wrong;
}

} // namespace
} // namespace hwswap::test
