// SPDX-License-Identifier: Apache-2.0
// A reader of the harness on any bytes: a file is read, or refused in one sentence. Anything else is a fault.
//
// As a libFuzzer target (-fsanitize=fuzzer, `make fuzz-readers`), and by itself as a program that reads the files it is
// given and says of each "read" or "refused: ..." (g++, -DFILES). Included once, by the program of each reader.
#pragma once

#include "common/errors.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

/// The reader: reads a whole file, or throws a UserError.
void read_whole(const std::string &path);

/// Why a file is refused; empty if it is not.
inline std::string refusal(const std::string &path) {
  try {
    read_whole(path);
  } catch (const hwswap::UserError &error) {
    const std::string text = error.what();
    if (text.empty() || text.find('\n') != std::string::npos)
      std::abort();
    return text;
  }
  return "";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const int fd = memfd_create("input", 0);
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
