// SPDX-License-Identifier: Apache-2.0
/* The first thing to run on a SoC: finds the engine, and has it do nothing, by its command ring. */
#include "engine.h"

int main(void) {
  const struct engine_command nop = {.opcode = HWSWAP_OPCODE_NOP};
  const uint64_t version = engine_read(HWSWAP_REG_VERSION);
  struct engine engine;
  uint32_t cycles = 0;

  engine_start(&engine);
  engine_enable(0);
  print("hello from " CONFIG_CPU_HUMAN_NAME ": an engine for ");
  print_number(engine.clusters);
  print(" clusters, build ");
  print_hex(engine.build);
  print_end();
  /* The first ones fill the instruction cache; more than the ring has entries, so that both phases come by. */
  for (unsigned i = 0; i < 40; i++) {
    const uint32_t before = cycles_now();

    if (engine_command(&engine, &nop, NULL) != HWSWAP_STATUS_OK)
      fail("the engine refuses to do nothing");
    cycles = cycles_now() - before;
  }
  if (engine_read(HWSWAP_REG_STATUS) & (HWSWAP_STATUS_DMA_ERROR | HWSWAP_STATUS_FAULT))
    fail("the engine says that it has failed");
  json_begin();
  json_text("kind", "selftest");
  json_text("cpu", CONFIG_CPU_NAME);
  json_hex("build", engine.build);
  json_number("major", FIELD_GET(HWSWAP_VERSION_MAJOR, version));
  json_number("minor", FIELD_GET(HWSWAP_VERSION_MINOR, version));
  json_number("devices", engine.devices);
  json_number("cpus", engine.cpus);
  json_number("clusters", engine.clusters);
  json_number("nop_cycles", cycles);
  json_end();
  return 0;
}
