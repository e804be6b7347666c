// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_reader.hpp"

#include "common/errors.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <zlib.h>

namespace hwswap {

namespace {

constexpr char magic[] = "HWSWAPTR";
constexpr uint32_t newest_version = 2;
constexpr uint32_t max_header = 1048576;
constexpr size_t record_bytes = 16;

constexpr std::array<const char *, 12> op_names = {"",        "prepare", "bad",  "swapon",       "swapoff_begin",
                                                   "swapoff", "alloc",   "free", "discard_take", "discard_done",
                                                   "policy",  "node"};

/// Whether a trace of a format version may hold an operation (that this program knows).
constexpr bool holds(uint32_t version, TraceOp op) {
  return op >= TraceOp::prepare && op <= (version == 1 ? TraceOp::free : TraceOp::node);
}

uint32_t get32(const uint8_t *bytes) {
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

/// A file that zlib reads, plain or gzip.
class Input {
public:
  explicit Input(const std::string &path) : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (!file_)
      fail(std::string("cannot be opened (") + std::strerror(errno) + "): check the path");
    gzbuffer(file_.get(), 1 << 18);
  }

  [[noreturn]] void fail(const std::string &what) const { throw UserError("trace " + path_ + " " + what); }

  /// Read up to `bytes.size()` bytes, less only at the end of the file.
  size_t read(std::span<uint8_t> bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
      const int got = gzread(file_.get(), bytes.data() + done, static_cast<unsigned>(bytes.size() - done));
      int error = Z_OK;
      const char *text = gzerror(file_.get(), &error);
      if (error == Z_BUF_ERROR)
        fail("is cut off in the middle of its gzip data: copy or record it again");
      if (got < 0)
        fail(std::string("cannot be decompressed (") + text + "): copy or record it again");
      if (got == 0)
        break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  /// Read all of `bytes` or fail because `what` is cut off.
  void read_all(std::span<uint8_t> bytes, const char *what) {
    if (read(bytes) != bytes.size())
      fail(std::string("ends inside ") + what + ": copy or record it again");
  }

private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

uint64_t number(const Input &in, const nlohmann::json &object, const char *key, uint64_t max) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned() || found->get<uint64_t>() > max)
    in.fail(std::string("has no valid number \"") + key + "\" in its header: write it again with the present tools");
  return found->get<uint64_t>();
}

std::string at_record(size_t index, const std::string &what) {
  return "has a bad record, number " + std::to_string(index) + ": " + what + "; record it again";
}

/// Check a record by its own fields alone, whatever came before.
void check_record(const Input &in, const Trace &trace, size_t index, uint32_t version) {
  const TraceRecord &r = trace.records[index];
  if (!holds(version, r.op))
    in.fail(at_record(index, "operation " + std::to_string(static_cast<unsigned>(r.op)) + " is unknown"));
  if (r.op == TraceOp::node && (r.cpu >= trace.cpus || r.a > 15))
    in.fail(at_record(index, "there is no CPU " + std::to_string(r.cpu) + " or no node " + std::to_string(r.a)));
  const bool allocates = r.op == TraceOp::alloc;
  const bool failed = allocates && r.type == trace_failed;
  if (!failed && !writes_register(r.op) && r.type >= trace.devices)
    in.fail(at_record(index, "device " + std::to_string(r.type) + " is beyond the header's devices"));
  if (allocates && r.cpu >= trace.cpus)
    in.fail(at_record(index, "CPU " + std::to_string(r.cpu) + " is beyond the header's cpus"));
  if (allocates && r.order > 9)
    in.fail(at_record(index, "order " + std::to_string(r.order) + " is above 9"));
  if (r.op == TraceOp::free || r.op == TraceOp::bad) {
    if (r.b < 1 || r.b > 512 || r.a / 512 != (uint64_t{r.a} + r.b - 1) / 512)
      in.fail(at_record(index, "its slots are not inside one cluster"));
  }
  if (r.op == TraceOp::prepare) {
    const auto priority = static_cast<int32_t>(r.c);
    if (priority < INT16_MIN || priority > INT16_MAX)
      in.fail(at_record(index, "priority " + std::to_string(priority) + " does not fit in 16 bits"));
  }
}

} // namespace

const char *name_of(TraceOp op) { return op_names.at(static_cast<size_t>(op)); }

Trace read_trace(const std::string &path) {
  Input in(path);
  std::array<uint8_t, 16> start;
  if (in.read(start) != start.size() || std::memcmp(start.data(), magic, 8) != 0)
    in.fail("is not a hwswap trace (it does not begin with HWSWAPTR): choose a .hwst or .hwst.gz file");
  const uint32_t version = get32(&start[8]);
  if (version < 1 || version > newest_version)
    in.fail("has format version " + std::to_string(version) + ", this program reads versions 1 to " +
            std::to_string(newest_version) + ": record it again or use the hwswap it was made with");
  const uint32_t header_bytes = get32(&start[12]);
  if (header_bytes < 2 || header_bytes > max_header)
    in.fail("claims a header of " + std::to_string(header_bytes) + " bytes: copy or record it again");

  std::vector<uint8_t> text(header_bytes);
  in.read_all(text, "its header");
  Trace trace;
  trace.header = nlohmann::json::parse(text, nullptr, false);
  if (!trace.header.is_object() || trace.header.value("format", nlohmann::json()) != "hwswap-trace")
    in.fail("has a header that is not the JSON object of a hwswap trace: copy or record it again");
  trace.cpus = static_cast<unsigned>(number(in, trace.header, "cpus", 256));
  trace.devices = static_cast<unsigned>(number(in, trace.header, "devices", 32));
  trace.clusters = number(in, trace.header, "clusters", UINT32_MAX);
  const auto counts = trace.header.find("counts");
  if (counts == trace.header.end() || !counts->is_object())
    in.fail("has no counts in its header: write it again with the present tools");
  const uint64_t expected = number(in, *counts, "records", uint64_t{1} << 40);

  std::vector<uint8_t> buffer(record_bytes * 65536);
  while (const size_t got = in.read(buffer)) {
    if (got % record_bytes)
      in.fail("ends inside a record: copy or record it again");
    for (size_t i = 0; i < got; i += record_bytes) {
      const uint8_t *b = &buffer[i];
      trace.records.push_back(
          {static_cast<TraceOp>(b[0]), b[1], b[2], b[3], get32(b + 4), get32(b + 8), get32(b + 12)});
      check_record(in, trace, trace.records.size() - 1, version);
    }
  }
  if (trace.records.size() != expected)
    in.fail("holds " + std::to_string(trace.records.size()) + " records but its header promises " +
            std::to_string(expected) + ": copy or record it again");
  return trace;
}

} // namespace hwswap
