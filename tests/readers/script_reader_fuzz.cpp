// SPDX-License-Identifier: Apache-2.0
// The harness's reader of scripts.

#include "reader_fuzz.hpp"
#include "script/script.hpp"

void read_whole(const std::string &path) {
  const hwswap::Script script = hwswap::read_script(path);
  for (const hwswap::ScriptLine &line : script.lines)
    if (line.op < hwswap::ScriptOp::put || line.op > hwswap::ScriptOp::note)
      std::abort();
}
