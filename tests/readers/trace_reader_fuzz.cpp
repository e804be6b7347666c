// SPDX-License-Identifier: Apache-2.0
// The harness's trace reader: a trace is read and made into commands.

#include "reader_fuzz.hpp"
#include "trace/trace_commands.hpp"
#include "trace/trace_reader.hpp"

void read_whole(const std::string &path) {
  const hwswap::Trace trace = hwswap::read_trace(path);
  for (const hwswap::TraceRecord &record : trace.records)
    if (hwswap::describe(record).empty())
      std::abort();
}
