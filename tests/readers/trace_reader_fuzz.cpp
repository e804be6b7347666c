// SPDX-License-Identifier: Apache-2.0
// The harness's trace reader on any bytes: a trace is read and made into commands, or refused in one sentence.
//
// As a libFuzzer target (-fsanitize=fuzzer, `make fuzz-readers`), and by itself as a program that reads the files it is
// given and says of each "read" or "refused: ..." (g++, -DFILES). Anything else that happens is a fault.

#include "common/errors.hpp"
#include "trace/trace_commands.hpp"
#include "trace/trace_reader.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace {

/// Why a trace is refused; empty if it is not.
std::string refusal(const std::string &path) {
  try {
    const hwswap::Trace trace = hwswap::read_trace(path);
    for (const hwswap::TraceRecord &record : trace.records)
      if (hwswap::describe(record).empty())
        std::abort();
  } catch (const hwswap::UserError &error) {
    const std::string text = error.what();
    if (text.empty() || text.find('\n') != std::string::npos)
      std::abort();
    return text;
  }
  return "";
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const int fd = memfd_create("trace", 0);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size))
    std::abort();
  refusal("/proc/self/fd/" + std::to_string(fd));
  close(fd);
  return 0;
}

#ifdef FILES
int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string why = refusal(argv[i]);
    std::printf("%s\n", why.empty() ? "read" : ("refused: " + why).c_str());
  }
  return 0;
}
#endif
