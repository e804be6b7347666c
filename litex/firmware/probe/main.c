// SPDX-License-Identifier: Apache-2.0
/*
 * Looks at each connection of the engine to the SoC from the CPU's side: registers by halves and by bytes, the memory
 * shared with it, bursts that start and end inside of a cache line, the interrupt.
 */
#include "engine.h"

#define GUARD 0xa5a5a5a5a5a5a5a5ull

static volatile unsigned interrupts;

#ifdef CONFIG_CPU_TYPE_ROCKET
/* Source 0 of the interrupt controller means none, so LiteX's number 0 is its 1. */
#define SOURCE (HWSWAP_INTERRUPT + 1)
#define PLIC(offset) (*(volatile uint32_t *)(PLIC_BASE + (offset)))
#define PLIC_ENABLE PLIC(0x2000)
#define PLIC_THRESHOLD PLIC(0x200000)
#define PLIC_CLAIM PLIC(0x200004)
#endif

__attribute__((interrupt("machine"), aligned(4))) static void handler(void) {
#ifdef CONFIG_CPU_TYPE_ROCKET
  const uint32_t source = PLIC_CLAIM;
#endif

  if (FIELD_GET(HWSWAP_IRQ_STATUS_COMPLETION, engine_read(HWSWAP_REG_IRQ_STATUS)))
    interrupts = interrupts + 1;
  engine_write_half(HWSWAP_REG_IRQ_STATUS, HWSWAP_IRQ_STATUS_COMPLETION);
#ifdef CONFIG_CPU_TYPE_ROCKET
  /* The level must be seen to have gone before the interrupt is given back. */
  (void)engine_read(HWSWAP_REG_IRQ_STATUS);
  PLIC_CLAIM = source;
#endif
}

static void interrupts_on(void) {
  __asm__ volatile("csrw mtvec, %0" ::"r"(handler));
#ifdef CONFIG_CPU_TYPE_ROCKET
  PLIC(4 * SOURCE) = 1;
  PLIC_ENABLE = 1u << SOURCE;
  PLIC_THRESHOLD = 0;
#else
  /* VexRiscv's mask of its interrupt lines. */
  __asm__ volatile("csrw 0xbc0, %0" ::"r"(1u << HWSWAP_INTERRUPT));
#endif
  __asm__ volatile("csrw mie, %0" ::"r"(1u << 11));
  __asm__ volatile("csrsi mstatus, 8");
}

static void bytes_of_a_register(void) {
  const uint64_t before = engine_read(HWSWAP_REG_CPL_BASE);
  volatile uint8_t *const byte = (volatile uint8_t *)(HWSWAP_BASE + HWSWAP_REG_CPL_BASE);

  uint64_t expected = 0x1122334455667740;

  engine_write(HWSWAP_REG_CPL_BASE, expected);
  for (unsigned lane = 0; lane < 8; lane++) {
    const uint64_t value = (0x80 + 0x10 * lane) & 0xf0;

    byte[lane] = (uint8_t)value;
    expected = (expected & ~(UINT64_C(0xff) << 8 * lane)) | value << 8 * lane;
    if (engine_read(HWSWAP_REG_CPL_BASE) != expected)
      fail("a byte written to a register arrives elsewhere");
  }
  engine_write(HWSWAP_REG_CPL_BASE, before);
}

/* Both views of RAM are of the same memory: the cached one reads what was written to the uncached one. */
static void views_of_memory(void) {
  const struct shared block = shared_get(256);
  volatile uint8_t *const bytes = (volatile uint8_t *)block.cpu;
  const volatile uint8_t *const cached = (const volatile uint8_t *)(uintptr_t)block.bus;

  for (unsigned i = 0; i < 256; i++)
    bytes[i] = (uint8_t)(7 * i);
  for (unsigned i = 0; i < 256; i++) {
    if (cached[i] != (uint8_t)(7 * i))
      fail("the two views of RAM differ");
  }
}

/* Three records, starting one word before a cache line's end; around them nothing changes. */
static void bursts_into_memory(struct engine *engine) {
  const struct shared block = shared_get(512);
  const struct engine_command dump = {.opcode = HWSWAP_OPCODE_DUMP, .nr = 3, .arguments = {0, block.bus + 56}};

  for (unsigned i = 0; i < 64; i++)
    shared_write(block, 8 * i, GUARD);
  barrier_full();
  if (engine_command(engine, &dump, NULL) != HWSWAP_STATUS_OK)
    fail("the engine refuses DUMP");
  for (unsigned i = 0; i < 64; i++) {
    const bool inside = i >= 7 && i < 7 + 3 * HWSWAP_CLUSTER_STATE_SIZE / 8;

    if ((shared_read(block, 8 * i) == GUARD) == inside)
      fail("a burst of the engine's is not where it belongs");
  }
}

static uint32_t interrupt_of_a_command(struct engine *engine) {
  const uint32_t number = engine->command_count++;
  const size_t at = (number & ((1u << ENGINE_COMMANDS_LOG2) - 1)) * HWSWAP_COMMAND_SIZE;
  const uint32_t before = cycles_now();

  engine_write(HWSWAP_REG_IRQ_ENABLE, HWSWAP_IRQ_ENABLE_COMPLETION);
  shared_write(engine->commands, at + HWSWAP_COMMAND_HEAD_OFFSET,
               FIELD_PUT(HWSWAP_COMMAND_HEAD_OPCODE, HWSWAP_OPCODE_NOP) | HWSWAP_COMMAND_HEAD_IRQ);
  barrier_write();
  engine_write_half(HWSWAP_REG_CMD_TAIL, engine->command_count);
  while (!interrupts) {
    if (cycles_now() - before > 100000)
      fail("no interrupt came");
  }
  return cycles_now() - before;
}

int main(void) {
  const struct engine_command nop = {.opcode = HWSWAP_OPCODE_NOP};
  struct engine engine;
  uint32_t cycles;

  engine_start(&engine);
  bytes_of_a_register();
  views_of_memory();
  engine_enable(0);
  bursts_into_memory(&engine);
  interrupts_on();
  if (engine_command(&engine, &nop, NULL) != HWSWAP_STATUS_OK || interrupts)
    fail("a command that asked for none raised an interrupt");
  cycles = interrupt_of_a_command(&engine);
  /* It must not come again. */
  for (const uint32_t from = cycles_now(); cycles_now() - from < 2000;)
    ;
  json_begin();
  json_text("kind", "probe");
  json_hex("build", engine.build);
  json_number("interrupts", interrupts);
  json_number("interrupt_cycles", cycles);
  json_number("dram_latency", dram_latency_read());
  json_end();
  return 0;
}
