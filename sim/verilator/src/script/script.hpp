// SPDX-License-Identifier: Apache-2.0
// Scripts: a host's actions and the results it must see, in the terms of the two buses.
#pragma once

#include "bus/flat_memory.hpp"
#include "engine/engine.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace hwswap {

/// One line of a script. Numbers are decimal or begin with 0x; OFFSET is in bytes from the start of the host's memory,
/// a multiple of 8; LIMIT is in engine cycles.
///
///   put OFFSET VALUE              the host writes a word of its memory
///   write ADDRESS VALUE STROBES   ... a register
///   until OFFSET MASK VALUE LIMIT time passes until a word of memory, masked, is VALUE
///   poll ADDRESS MASK VALUE LIMIT ... a register
///   settle LIMIT                  ... the engine is idle
///   pass CYCLES                   ... so much
///   expect OFFSET MASK VALUE      a word of memory, masked, must be VALUE
///   read ADDRESS MASK VALUE       ... a register
///   together COUNT                the next COUNT lines, each write or read, are asked for at once, and checked
///                                 when all are answered; a read and a write may come in either order
///   irq LEVEL                     the interrupt wire must be at LEVEL
///   idle LEVEL                    so must the wire that says that nothing is under way
///   mark                          beats of DMA count from here
///   beats READ WRITE              two registers must be the beats read and written since then
///   reset                         the reset input is asserted
///   hold LEVEL                    1: memory takes and answers nothing from here on; 0: it does again
///   note TEXT                     what comes next, for messages
enum class ScriptOp {
  put,
  write,
  until,
  poll,
  settle,
  pass,
  expect,
  read,
  together,
  irq,
  idle,
  mark,
  beats,
  reset,
  hold,
  note
};

struct ScriptLine {
  ScriptOp op;
  std::array<uint64_t, 4> arguments{};
  std::string text;
};

/// A script and the memory it wants, which its first line says: memory BYTES [BASE]. OFFSETs count from BASE, a
/// multiple of 8; without it, from an address above 4 GiB, so that more than the lower half of an address counts.
struct Script {
  uint64_t memory_bytes = 0;
  uint64_t memory_base = 0x12'3400'0000;
  std::vector<ScriptLine> lines;
};

/// Reads a script, plain or gzipped; a UserError names the file, the line and the error.
Script read_script(const std::string &path);

/// Plays a script; in the end words of memory that it did not name must be zeros, as in the beginning. Returns what was
/// not as it must be, or nothing. An engine that does not come to what a line waits for is an EngineError.
std::optional<std::string> play(const Script &script, Engine &engine, FlatMemory &memory);

} // namespace hwswap
