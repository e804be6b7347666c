// SPDX-License-Identifier: Apache-2.0
// The harness's readers: reader traces|scripts FILE... says of each file "read" or, in one sentence, "refused: ...".
// Anything else is a fault.

#include "common/errors.hpp"
#include "script/script.hpp"
#include "trace/trace_commands.hpp"
#include "trace/trace_reader.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

static void read_trace(const std::string &path) {
  const hwswap::Trace trace = hwswap::read_trace(path);
  for (const hwswap::TraceRecord &record : trace.records)
    if (hwswap::describe(record).empty())
      std::abort();
}

static void read_script(const std::string &path) {
  const hwswap::Script script = hwswap::read_script(path);
  for (const hwswap::ScriptLine &line : script.lines)
    if (line.op < hwswap::ScriptOp::put || line.op > hwswap::ScriptOp::note)
      std::abort();
}

int main(int argc, char **argv) {
  const bool traces = argc > 1 && std::string(argv[1]) == "traces";
  for (int i = 2; i < argc; ++i) {
    try {
      traces ? read_trace(argv[i]) : read_script(argv[i]);
      std::puts("read");
    } catch (const hwswap::UserError &error) {
      const std::string why = error.what();
      if (why.empty() || why.find('\n') != std::string::npos)
        std::abort();
      std::printf("refused: %s\n", why.c_str());
    }
  }
  return 0;
}
