// SPDX-License-Identifier: Apache-2.0
#include "replay/cycle_tally.hpp"

#include <gtest/gtest.h>

namespace hwswap::test {
namespace {

TEST(CycleTally, GroupsByOperationOrderPathAndListMove) {
  CycleTally tally;
  tally.add({"alloc", 0, "hint", 1, 0, 2, 6});
  tally.add({"alloc", 0, "hint", 1, 0, 4, 8});
  tally.add({"alloc", 0, "hint", 1, 1, 5, 9});
  tally.add({"alloc", 4, "hint", 1, 0, 2, 6});
  tally.add({"free", 0, "free", 0, 0, 2, 6});
  const auto json = tally.json();
  EXPECT_EQ(json["operations"], 5);
  ASSERT_EQ(json["groups"].size(), 4u);
  EXPECT_EQ(json["groups"][0]["cycles"], nlohmann::json::parse("[[2, 1], [4, 1]]"));
  EXPECT_EQ(json["groups"][0]["latency"], nlohmann::json::parse("[[6, 1], [8, 1]]"));
  EXPECT_EQ(json["groups"][1]["list_move"], true);
}

TEST(CycleTally, PutsStallsDownToWhatWasSeen) {
  CycleTally tally;
  tally.add({"swapon", 0, "unit", 0, 0, 102, 102});
  tally.add({"free", 0, "free", 0, 0, 7, 6});     // after a unit
  tally.add({"alloc", 0, "steal", 4, 1, 32, 36}); // 4 clusters
  tally.add({"free", 0, "free", 0, 0, 6, 6});     // after a slow path
  tally.add({"free", 0, "free", 0, 0, 5, 9});     // two after a list move
  tally.add({"free", 0, "free", 0, 0, 3, 9});     // too far from it
  tally.add({"alloc", 0, "hint", 1, 1, 6, 10});   // its own
  tally.add({"alloc", 0, "hint", 1, 0, 2, 6});    // none
  const auto stalls = tally.json()["stalls"];
  EXPECT_EQ(stalls["unit"], 100);
  EXPECT_EQ(stalls["pipeline filled anew"], 5 + 4);
  EXPECT_EQ(stalls["slow path: scanned clusters"], 12);
  EXPECT_EQ(stalls["slow path: devices and lists"], 18);
  EXPECT_EQ(stalls["list move"], 3 + 4);
  EXPECT_EQ(stalls["other"], 1);
}

TEST(CycleTally, CountsFillingThePipelineAsItsEmptiers) {
  CycleTally tally;
  tally.add({"alloc", 0, "steal", 1, 1, 14, 18});
  tally.add({"free", 0, "free", 0, 0, 6, 6});
  tally.add({"alloc", 0, "steal", 1, 1, 12, 16}); // no pipeline is filled for it
  tally.add({"swapoff", 0, "unit", 0, 0, 40, 44});
  tally.add({"free", 0, "free", 0, 0, 2, 6});
  const auto json = tally.json();
  ASSERT_EQ(json["groups"].size(), 3u);
  EXPECT_EQ(json["groups"][0]["cycles"], nlohmann::json::parse("[[12, 1], [18, 1]]"));
  EXPECT_EQ(json["groups"][1]["cycles"], nlohmann::json::parse("[[2, 2]]"));
  EXPECT_EQ(json["groups"][2]["cycles"], nlohmann::json::parse("[[40, 1]]"));
}

TEST(CycleTally, TellsWhatOneMoreScannedClusterCosts) {
  CycleTally tally;
  tally.add({"alloc", 4, "fail", 2, 2, 30, 34});
  tally.add({"alloc", 4, "fail", 3, 3, 33, 37});
  const auto by_scans = tally.json()["by_scans"];
  ASSERT_EQ(by_scans.size(), 2u);
  EXPECT_EQ(by_scans[1]["scans"], 3);
  EXPECT_EQ(by_scans[1]["cycles"], nlohmann::json::parse("[[33, 1]]"));
}

} // namespace
} // namespace hwswap::test
