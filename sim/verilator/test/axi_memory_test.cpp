// SPDX-License-Identifier: Apache-2.0
#include "bus/axi_memory.hpp"
#include "bus/flat_memory.hpp"
#include "common/errors.hpp"

#include <gtest/gtest.h>
#include <map>

namespace hwswap::test {
namespace {

constexpr uint64_t base = 0x1'0000'0000;

/// An AXI4 master that does one burst at a time and knows how long it took.
class Master {
public:
  explicit Master(AxiMemory &memory) : memory_(memory) {}

  static AxiRequest read_request(uint64_t address, unsigned beats) {
    AxiRequest in;
    in.ar = {5, address, static_cast<uint8_t>(beats - 1), 3, 1, true};
    return in;
  }

  static AxiRequest write_request(uint64_t address, unsigned beats) {
    AxiRequest in;
    in.aw = {9, address, static_cast<uint8_t>(beats - 1), 3, 1, true};
    return in;
  }

  struct Read {
    std::vector<uint64_t> data;
    std::vector<uint8_t> responses;
    /// Cycles from the address handshake to the first and the last beat.
    uint64_t first = 0, last = 0;
  };

  Read read(uint64_t address, unsigned beats) {
    AxiRequest in = read_request(address, beats);
    while (!memory_.signals().arready)
      clock(in);
    clock(in);
    const uint64_t begin = now_ - 1;
    in.ar.valid = false;
    in.rready = true;
    Read result;
    while (true) {
      const AxiResponse out = memory_.signals();
      if (out.rvalid) {
        EXPECT_EQ(out.rid, 5);
        if (result.data.empty())
          result.first = now_ - begin;
        result.last = now_ - begin;
        result.data.push_back(out.rdata);
        result.responses.push_back(out.rresp);
      }
      clock(in);
      if (out.rvalid && out.rlast)
        return result;
      if (now_ - begin > 10'000) {
        ADD_FAILURE() << "no end of the read burst";
        return result;
      }
    }
  }

  /// Write; returns the response and, in `cycles`, the time from the last data handshake to the response.
  uint8_t write(uint64_t address, const std::vector<uint64_t> &data, uint8_t strobes, uint64_t &cycles) {
    AxiRequest in = write_request(address, static_cast<unsigned>(data.size()));
    size_t beat = 0;
    uint64_t last_data = 0;
    in.bready = true;
    while (true) {
      in.wvalid = beat < data.size();
      if (in.wvalid) {
        in.wdata = data[beat];
        in.wstrb = strobes;
        in.wlast = beat + 1 == data.size();
      }
      const AxiResponse out = memory_.signals();
      if (out.bvalid) {
        EXPECT_EQ(out.bid, 9);
        cycles = now_ - last_data;
        const uint8_t response = out.bresp;
        clock(in);
        return response;
      }
      clock(in);
      if (in.aw.valid && out.awready)
        in.aw.valid = false;
      if (in.wvalid && out.wready) {
        last_data = now_ - 1;
        ++beat;
      }
      if (now_ > 100'000) {
        ADD_FAILURE() << "no response to the write burst";
        return 0xff;
      }
    }
  }

  void clock(const AxiRequest &in) {
    memory_.clock(in);
    ++now_;
  }

private:
  AxiMemory &memory_;
  uint64_t now_ = 0;
};

class AxiMemoryTest : public ::testing::TestWithParam<unsigned> {
protected:
  FlatMemory flat{base, 8192};
};

TEST_P(AxiMemoryTest, ReadTakesTheLatencyAndThenABeatACycle) {
  for (size_t i = 0; i < 16; ++i)
    flat.word(8 * i) = 100 + i;
  AxiMemory memory(flat, {GetParam(), 0, 1});
  Master master(memory);
  const auto result = master.read(base, 16);
  EXPECT_EQ(result.first, GetParam());
  EXPECT_EQ(result.last, GetParam() + 15);
  ASSERT_EQ(result.data.size(), 16u);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(result.data[i], 100 + i);
    EXPECT_EQ(result.responses[i], axi_okay);
  }
  EXPECT_EQ(memory.read_beats(), 16u);
  EXPECT_FALSE(memory.busy());
}

TEST_P(AxiMemoryTest, WriteIsAnsweredAfterTheLatencyAndVisibleThen) {
  AxiMemory memory(flat, {GetParam(), 0, 1});
  Master master(memory);
  uint64_t cycles = 0;
  EXPECT_EQ(master.write(base + 64, {1, 2, 3}, 0xff, cycles), axi_okay);
  EXPECT_EQ(cycles, GetParam());
  EXPECT_EQ(flat.word(64), 1u);
  EXPECT_EQ(flat.word(72), 2u);
  EXPECT_EQ(flat.word(80), 3u);
  EXPECT_EQ(flat.word(88), 0u);
  EXPECT_EQ(memory.write_beats(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Latencies, AxiMemoryTest, ::testing::Values(1, 2, 16, 100));

TEST_F(AxiMemoryTest, StrobesChooseBytes) {
  flat.word(0) = 0x1111111111111111;
  AxiMemory memory(flat, {1, 0, 1});
  Master master(memory);
  uint64_t cycles = 0;
  master.write(base, {0xaabbccddeeff0099}, 0x81, cycles);
  EXPECT_EQ(flat.word(0), 0xaa11111111111199u);
}

TEST_F(AxiMemoryTest, BeatsOutsideMemoryAreSlaveErrors) {
  AxiMemory memory(flat, {4, 0, 1});
  Master master(memory);
  flat.word(8184) = 7;
  const auto result = master.read(base + 8184, 1);
  EXPECT_EQ(result.responses, (std::vector<uint8_t>{axi_okay}));
  const auto outside = master.read(base + 8192, 2);
  EXPECT_EQ(outside.responses, (std::vector<uint8_t>{axi_slverr, axi_slverr}));
  EXPECT_EQ(outside.data, (std::vector<uint64_t>(2, ~uint64_t{0})));
  uint64_t cycles = 0;
  EXPECT_EQ(master.write(base - 8, {1}, 0xff, cycles), axi_slverr);
  EXPECT_EQ(memory.errors(), 3u);
}

TEST_F(AxiMemoryTest, TransfersSurviveRandomStalls) {
  AxiMemory memory(flat, {3, 60, 42});
  Master master(memory);
  for (uint64_t round = 0; round < 50; ++round) {
    std::vector<uint64_t> data;
    for (uint64_t i = 0; i < 1 + round % 16; ++i)
      data.push_back(round * 1000 + i);
    uint64_t cycles = 0;
    ASSERT_EQ(master.write(base + 4096, data, 0xff, cycles), axi_okay);
    EXPECT_GE(cycles, 3u);
    ASSERT_EQ(master.read(base + 4096, static_cast<unsigned>(data.size())).data, data);
  }
}

TEST_F(AxiMemoryTest, ReorderedBeatsKeepTheOrderOfTheirIdentifier) {
  for (size_t i = 0; i < 64; ++i)
    flat.word(8 * i) = i;
  unsigned mixed = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AxiMemory memory(flat, {2, 0, seed, true});
    std::map<uint8_t, std::vector<uint64_t>> wanted, came;
    for (const auto &[id, first] : {std::pair<uint8_t, uint64_t>{1, 0}, {2, 16}, {1, 32}, {3, 48}}) {
      AxiRequest in = Master::read_request(base + 8 * first, 8);
      in.ar.id = id;
      memory.clock(in);
      for (uint64_t i = 0; i < 8; ++i)
        wanted[id].push_back(first + i);
    }
    AxiRequest in;
    in.rready = true;
    bool inside = false;
    uint8_t last = 0;
    for (unsigned cycle = 0; memory.busy() && cycle < 200; ++cycle) {
      const AxiResponse out = memory.signals();
      if (out.rvalid) {
        mixed += inside && out.rid != last;
        came[out.rid].push_back(out.rdata);
        last = out.rid;
        inside = !out.rlast;
      }
      memory.clock(in);
    }
    EXPECT_EQ(came, wanted) << "seed " << seed;
  }
  EXPECT_GT(mixed, 20u);
}

TEST_F(AxiMemoryTest, NothingIsTakenOrAnsweredWhileItIsHeld) {
  AxiMemory memory(flat, {1, 0, 1});
  AxiRequest in = Master::read_request(base, 1);
  memory.clock(in);
  memory.hold(true);
  in.ar.valid = false;
  in.rready = true;
  for (unsigned cycle = 0; cycle < 50; ++cycle) {
    const AxiResponse out = memory.signals();
    EXPECT_FALSE(out.arready || out.awready || out.wready);
    EXPECT_FALSE(cycle && (out.rvalid || out.bvalid));
    memory.clock(in);
  }
  memory.hold(false);
  for (unsigned cycle = 0; cycle < 5; ++cycle)
    memory.clock(in);
  EXPECT_TRUE(memory.signals().arready);
}

TEST_F(AxiMemoryTest, DataMayComeBeforeItsAddress) {
  AxiMemory memory(flat, {1, 0, 1});
  AxiRequest data;
  data.wvalid = data.wlast = true;
  data.wdata = 77;
  data.wstrb = 0xff;
  data.bready = true;
  memory.clock(data);
  AxiRequest address = Master::write_request(base, 1);
  address.bready = true;
  memory.clock(address);
  AxiRequest quiet;
  quiet.bready = true;
  for (int i = 0; i < 4 && memory.busy(); ++i)
    memory.clock(quiet);
  EXPECT_FALSE(memory.busy());
  EXPECT_EQ(flat.word(0), 77u);
}

TEST_F(AxiMemoryTest, BrokenRulesThrow) {
  AxiMemory memory(flat, {1, 0, 1});
  EXPECT_THROW(memory.clock(Master::read_request(base + 4096 - 8, 2)), EngineError) << "crosses 4 KiB";
  EXPECT_THROW(memory.clock(Master::write_request(base, 17)), EngineError) << "too long";
  AxiRequest wrap = Master::read_request(base, 1);
  wrap.ar.burst = 2;
  EXPECT_THROW(memory.clock(wrap), EngineError);
  AxiRequest narrow = Master::read_request(base, 1);
  narrow.ar.size = 2;
  EXPECT_THROW(memory.clock(narrow), EngineError);
  AxiRequest early = Master::write_request(base, 2);
  early.wvalid = early.wlast = true;
  EXPECT_THROW(memory.clock(early), EngineError) << "WLAST on the first of two beats";
}

TEST_F(AxiMemoryTest, ARequestMustStayUntilAccepted) {
  AxiMemory memory(flat, {1000, 0, 1});
  // Fill the queue so that the next request has to wait.
  while (memory.signals().arready)
    memory.clock(Master::read_request(base, 1));
  memory.clock(Master::read_request(base + 8, 1));
  EXPECT_THROW(memory.clock(Master::read_request(base + 16, 1)), EngineError);
}

} // namespace
} // namespace hwswap::test
