// SPDX-License-Identifier: Apache-2.0
#include "common/errors.hpp"
#include "fake_engine.hpp"
#include "script/script.hpp"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>

namespace hwswap::test {
namespace {

class ScriptTest : public ::testing::Test {
protected:
  const std::string path = ::testing::TempDir() + "harness_script.txt";
  void TearDown() override { std::remove(path.c_str()); }

  Script script(const std::string &text) const {
    std::ofstream(path) << text;
    return read_script(path);
  }

  /// Play a script; return "" when all was as it must be, and the error's message otherwise.
  /// The engine is at work until cycle `busy`.
  std::string outcome(const std::string &lines, uint64_t busy = 0) const {
    const Script made = script("memory 4096\n" + lines);
    FlatMemory memory(0x1000, made.memory_bytes);
    FakeEngine engine(memory);
    engine.busy_until = busy;
    try {
      return play(made, engine, memory).value_or("");
    } catch (const EngineError &error) {
      return error.what();
    }
  }

  std::string refusal(const std::string &text) const {
    try {
      script(text);
    } catch (const UserError &error) {
      return error.what();
    }
    return "no refusal";
  }
};

TEST_F(ScriptTest, LinesDoWhatTheySay) {
  EXPECT_EQ(outcome("note all of them\n"
                    "put 8 0x55\n"
                    "expect 8 0xff 0x55\n"
                    "write 0x40 0x1008 0xff\n"
                    "write 0x48 0x1010 0xff\n"
                    "irq 0\n"
                    "write 0x58 1 0xff\n"
                    "irq 1\n"
                    "until 16 0xf 5 10\n"
                    "read 0x40 0xffff 0x1008\n"
                    "poll 0x58 1 1 100\n"
                    "pass 7\n"
                    "idle 1\n"
                    "reset\n"
                    "read 0x40 0xffff 0\n"),
            "");
}

TEST_F(ScriptTest, WhatIsNotAsItMustBeIsNamed) {
  EXPECT_EQ(outcome("note here\nput 8 0x55\nexpect 8 0xf 4\n"), "line 4 (here): memory at 0x8 is 0x5 and must be 0x4");
  EXPECT_EQ(outcome("read 0x40 0xff 1\n"), "line 2 (): register 0x40 is 0x0 and must be 0x1");
  EXPECT_EQ(outcome("irq 1\n"), "line 2 (): the interrupt is 0x0 and must be 0x1");
}

TEST_F(ScriptTest, AccessesTogetherAreEachSeenTo) {
  const std::string three = "together 3\nwrite 0x40 0x1008 0xff\nwrite 0x48 0x10 0xff\nread 0x60 0xff ";
  EXPECT_EQ(outcome(three + "0\nread 0x40 0xffff 0x1008\nread 0x48 0xff 0x10\n"), "");
  EXPECT_EQ(outcome(three + "5\n"), "line 5 (): register 0x60 is 0x0 and must be 0x5");
  EXPECT_THROW(outcome("together 2\nread 0x40 0 0\npass 1\n"), UserError);
}

TEST_F(ScriptTest, WhatTheEngineWritesElsewhereIsFound) {
  // The engine copies the word at 0x1008 to 0x1010 and to nowhere else.
  const std::string copy = "put 8 0x55\nwrite 0x40 0x1008 0xff\nwrite 0x48 0x1010 0xff\nwrite 0x58 1 0xff\n";
  EXPECT_EQ(outcome(copy + "expect 16 0xff 0x55\n"), "");
  EXPECT_EQ(outcome(copy), "after the last line: memory at 0x10 is 0x55 and must be 0x0: nobody has written it but "
                           "the engine");
}

TEST_F(ScriptTest, BeatsAreCounted) {
  // The fake engine's registers are plain words, so they read as written.
  EXPECT_EQ(outcome("mark\nbeats 0x80 0x88\n"), "");
  EXPECT_EQ(outcome("mark\nwrite 0x80 7 0xff\nbeats 0x80 0x88\n"), "line 4 (): register 0x80 is 0x7 and must be 0x0");
}

TEST_F(ScriptTest, TheMemoryIsWhereTheScriptWantsIt) {
  EXPECT_EQ(script("memory 64\n").memory_base, 0x12'3400'0000u);
  EXPECT_EQ(script("memory 64 0xedcb000000000000\n").memory_base, 0xedcb'0000'0000'0000u);
  EXPECT_EQ(script("memory 64 0xedcb000000000000\n").memory_bytes, 64u);
  EXPECT_EQ(refusal("memory 64 0 1\n"), path + ":1: 'memory 64 0 1' is no line of a script");
}

TEST_F(ScriptTest, WaitingHasAnEnd) {
  EXPECT_EQ(outcome("until 8 1 1 20\n"), "line 2 (): waited 20 cycles for memory at 0x8 to be 0x1");
  EXPECT_EQ(outcome("settle 20\n", 15), "");
  EXPECT_EQ(outcome("settle 20\n", 25), "line 2 (): waited 20 cycles for rest");
}

TEST_F(ScriptTest, WhatIsNoScriptIsRefused) {
  EXPECT_EQ(refusal("put 0 0\n"), path + ":1: 'put 0 0' is no line of a script");
  EXPECT_EQ(refusal("memory 64\nput 0\n"), path + ":2: 'put 0' is no line of a script");
  EXPECT_EQ(refusal("memory 64\nput 0 1 2\n"), path + ":2: 'put 0 1 2' is no line of a script");
  EXPECT_EQ(refusal("memory 64\nput 0 1x\n"), path + ":2: 'put 0 1x' is no line of a script");
  EXPECT_EQ(refusal("memory 64\ngo\n"), path + ":2: 'go' is no line of a script");
  EXPECT_THROW(read_script("/nowhere/script"), UserError);
}

} // namespace
} // namespace hwswap::test
