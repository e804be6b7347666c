// SPDX-License-Identifier: Apache-2.0
// Verilator's runtime would end the program at a failed assertion; built with VL_USER_STOP and VL_USER_FATAL it asks
// here instead, so that the program can report the failure and tidy up.
#include "common/errors.hpp"

#include <verilated.h>

#include <sstream>

void vl_stop(const char *file, int line, const char *) {
  std::ostringstream text;
  text << "an assertion of the RTL failed at " << file << ":" << line << " (its message is above)";
  throw hwswap::EngineError(text.str());
}

void vl_fatal(const char *file, int line, const char *, const char *message) {
  std::ostringstream text;
  text << "the simulation failed at " << file << ":" << line << ": " << message;
  throw hwswap::EngineError(text.str());
}
