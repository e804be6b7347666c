// SPDX-License-Identifier: Apache-2.0
#include "common/errors.hpp"
#include "trace/trace_commands.hpp"
#include "trace/trace_reader.hpp"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <zlib.h>

namespace hwswap::test {
namespace {

void put32(std::string &out, uint32_t value) {
  for (unsigned i = 0; i < 4; ++i)
    out.push_back(static_cast<char>(value >> (8 * i)));
}

std::string record(TraceOp op, unsigned cpu, unsigned order, unsigned type, uint32_t a, uint32_t b, uint32_t c) {
  std::string out = {static_cast<char>(op), static_cast<char>(cpu), static_cast<char>(order), static_cast<char>(type)};
  put32(out, a);
  put32(out, b);
  put32(out, c);
  return out;
}

const std::string good_records =
    record(TraceOp::prepare, 0, 0, 0, 1024, 3, 0xffffffff) + record(TraceOp::bad, 0, 0, 0, 600, 2, 0) +
    record(TraceOp::swapon, 0, 0, 0, 0, 0, 0) + record(TraceOp::alloc, 1, 4, 0, 16, 0, 0) +
    record(TraceOp::alloc, 1, 9, trace_failed, 0, 0, 0) + record(TraceOp::free, 1, 0, 0, 16, 16, 0);

std::string file_of(const std::string &records, uint64_t count, uint32_t version = 1) {
  const std::string header = R"({"format":"hwswap-trace","cpus":2,"devices":1,"clusters":2,"counts":{"records":)" +
                             std::to_string(count) + "}}";
  std::string out = "HWSWAPTR";
  put32(out, version);
  put32(out, static_cast<uint32_t>(header.size()));
  return out + header + records;
}

class TraceReaderTest : public ::testing::Test {
protected:
  const std::string path = ::testing::TempDir() + "harness_trace.hwst";
  void TearDown() override { std::remove(path.c_str()); }

  void write(const std::string &bytes) const { std::ofstream(path, std::ios::binary) << bytes; }

  /// The message that reading the file fails with.
  std::string failure(const std::string &bytes) const {
    write(bytes);
    return failure();
  }
  std::string failure() const {
    try {
      read_trace(path);
    } catch (const UserError &error) {
      return error.what();
    }
    return "no failure";
  }

  static std::string compressed(const std::string &bytes, const std::string &path) {
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(TraceReaderTest, ReadsPlainFiles) {
  write(file_of(good_records, 6));
  const Trace trace = read_trace(path);
  EXPECT_EQ(trace.cpus, 2u);
  EXPECT_EQ(trace.devices, 1u);
  EXPECT_EQ(trace.clusters, 2u);
  ASSERT_EQ(trace.records.size(), 6u);
  EXPECT_EQ(trace.records[3].op, TraceOp::alloc);
  EXPECT_EQ(trace.records[3].cpu, 1);
  EXPECT_EQ(trace.records[3].order, 4);
  EXPECT_EQ(trace.records[3].a, 16u);
  EXPECT_EQ(trace.records[4].type, trace_failed);
}

TEST_F(TraceReaderTest, ReadsGzipFiles) {
  write(compressed(file_of(good_records, 6), path));
  EXPECT_EQ(read_trace(path).records.size(), 6u);
}

TEST_F(TraceReaderTest, RefusesWhatIsCutOff) {
  const std::string good = file_of(good_records, 6);
  EXPECT_NE(failure(good.substr(0, good.size() - 5)).find("ends inside a record"), std::string::npos);
  EXPECT_NE(failure(good.substr(0, good.size() - 16)).find("holds 5 records"), std::string::npos);
  EXPECT_NE(failure(good.substr(0, 40)).find("ends inside its header"), std::string::npos);
  const std::string gz = compressed(good, path);
  EXPECT_NE(failure(gz.substr(0, gz.size() - 20)).find("cut off"), std::string::npos);
}

TEST_F(TraceReaderTest, RefusesOtherFiles) {
  EXPECT_NE(failure("").find("is not a hwswap trace"), std::string::npos);
  EXPECT_NE(failure("HWSWAPTX00000000").find("is not a hwswap trace"), std::string::npos);
  EXPECT_NE(failure(file_of(good_records, 6, 3)).find("format version 3"), std::string::npos);
  EXPECT_NE(failure(file_of(good_records, 6, 0)).find("format version 0"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_NE(failure().find("cannot be opened"), std::string::npos);
}

TEST_F(TraceReaderTest, ReadsTheSecondVersion) {
  const std::string more = record(TraceOp::discard_take, 0, 0, 0, 512, 0, 0) +
                           record(TraceOp::discard_done, 0, 0, 0, 513, 0, 0) +
                           record(TraceOp::policy, 0, 0, 0, 0x1001, 7, 0) + record(TraceOp::node, 1, 0, 0, 3, 0, 0);
  write(file_of(good_records + more, 10, 2));
  const Trace trace = read_trace(path);
  EXPECT_EQ(trace.records[6].op, TraceOp::discard_take);
  EXPECT_EQ(trace.records[8].b, 7u);
  EXPECT_TRUE(writes_register(trace.records[9].op));
  EXPECT_NE(failure(file_of(good_records + more, 10, 1)).find("operation 8 is unknown"), std::string::npos);
  EXPECT_NE(failure(file_of(record(TraceOp::node, 2, 0, 0, 3, 0, 0), 1, 2)).find("no CPU 2"), std::string::npos);
  EXPECT_NE(failure(file_of(record(static_cast<TraceOp>(32), 0, 0, 0, 0, 0, 0), 1, 2)).find("operation 32"),
            std::string::npos);
}

TEST_F(TraceReaderTest, RefusesBadRecords) {
  const auto bad = [&](const std::string &r) { return failure(file_of(r, 1)); };
  EXPECT_NE(bad(record(static_cast<TraceOp>(8), 0, 0, 0, 0, 0, 0)).find("operation 8"), std::string::npos);
  EXPECT_NE(bad(record(TraceOp::alloc, 2, 0, 0, 1, 0, 0)).find("CPU 2"), std::string::npos);
  EXPECT_NE(bad(record(TraceOp::alloc, 0, 10, 0, 1, 0, 0)).find("order 10"), std::string::npos);
  EXPECT_NE(bad(record(TraceOp::swapon, 0, 0, 1, 0, 0, 0)).find("device 1"), std::string::npos);
  EXPECT_NE(bad(record(TraceOp::free, 0, 0, 0, 510, 4, 0)).find("one cluster"), std::string::npos);
  EXPECT_NE(bad(record(TraceOp::free, 0, 0, 0, 0xffffffff, 2, 0)).find("one cluster"), std::string::npos);
  EXPECT_NE(bad(record(TraceOp::prepare, 0, 0, 0, 10, 0, 40000)).find("priority"), std::string::npos);
}

TraceRecord prepare(uint8_t type, uint32_t pages) { return {TraceOp::prepare, 0, 0, type, pages, 0, 0}; }
TraceRecord swapoff(uint8_t type) { return {TraceOp::swapoff, 0, 0, type, 0, 0, 0}; }
uint64_t base_of(const Command &command) { return command.arg0 >> 32; }

TEST(TraceCommands, ClustersAreClaimedFirstFit) {
  TraceCommands commands(8);
  EXPECT_EQ(base_of(commands.next(prepare(0, 512))), 0u);
  EXPECT_EQ(base_of(commands.next(prepare(1, 513))), 1u);
  EXPECT_EQ(base_of(commands.next(prepare(2, 1))), 3u);
  commands.next(swapoff(1));
  EXPECT_FALSE(commands.claimed(1));
  EXPECT_EQ(base_of(commands.next(prepare(3, 1025))), 4u) << "three clusters do not fit into the gap of two";
  EXPECT_EQ(base_of(commands.next(prepare(4, 512))), 1u);
  EXPECT_EQ(base_of(commands.next(prepare(5, 512))), 2u);
  EXPECT_EQ(base_of(commands.next(prepare(6, 512))), 7u);
  EXPECT_THROW(commands.next(prepare(7, 512)), UserError);
}

TEST(TraceCommands, FieldsLandWhereTheMapSays) {
  TraceCommands commands(8);
  const Command on = commands.next({TraceOp::prepare, 0, 0, 3, 700, 2, static_cast<uint32_t>(-5)});
  EXPECT_EQ(on.words()[0], HWSWAP_OPCODE_SWAPON_PREPARE | 3ull << 32);
  EXPECT_EQ(on.words()[1], 700u);
  EXPECT_EQ(on.words()[2], 2u);
  EXPECT_EQ(on.words()[3], 0x1fffbu) << "priority in bits 15:0, epoch 1 in 23:16";
  const Command alloc = commands.next({TraceOp::alloc, 2, 4, 3, 16, 0, 0});
  EXPECT_EQ(alloc.words()[0], HWSWAP_OPCODE_ALLOC | 2ull << 16 | 4ull << 24) << "the result is not told";
  const Command free = commands.next({TraceOp::free, 2, 0, 3, 16, 512, 0});
  EXPECT_EQ(free.words()[0], HWSWAP_OPCODE_FREE | 3ull << 32 | 512ull << 48);
  EXPECT_EQ(free.words()[1], 16u);
}

} // namespace
} // namespace hwswap::test
