// SPDX-License-Identifier: Apache-2.0
// Reads traces of the format docs/traces.md defines.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hwswap {

/// The operations of a trace, by their codes in the file.
enum class TraceOp : uint8_t {
  prepare = 1,
  bad,
  swapon,
  swapoff_begin,
  swapoff,
  alloc,
  free,
  // From format version 2 on.
  discard_take,
  discard_done,
  policy,
  node
};

/// Name of an operation, as in the header's counts.
const char *name_of(TraceOp op);

/// Result type of an ALLOC that failed.
constexpr uint8_t trace_failed = 255;

/// Whether an operation is the write of a register and no command.
constexpr bool writes_register(TraceOp op) { return op == TraceOp::policy || op == TraceOp::node; }

/// One record; the meaning of a, b and c depends on `op`.
struct TraceRecord {
  TraceOp op;
  uint8_t cpu;
  uint8_t order;
  uint8_t type;
  uint32_t a;
  uint32_t b;
  uint32_t c;
};

/// A whole trace in memory.
struct Trace {
  nlohmann::json header;
  /// CPU numbers, device types and cluster numbers (first fit) are below these.
  unsigned cpus;
  unsigned devices;
  uint64_t clusters;
  std::vector<TraceRecord> records;
};

/// Read and check the file at `path`, plain or gzip; UserError names the file and the error.
Trace read_trace(const std::string &path);

} // namespace hwswap
