// SPDX-License-Identifier: Apache-2.0
/* The engine's set-up, and its command ring. */
#include "engine.h"

#define RING_SIZE (1u << ENGINE_COMMANDS_LOG2)

/* Looks at a register before an answer that does not come is given up. */
#define PATIENCE 2000000u

static COLD void identify(struct engine *engine) {
  const uint64_t id = engine_read(HWSWAP_REG_ID), version = engine_read(HWSWAP_REG_VERSION),
                 caps = engine_read(HWSWAP_REG_CAPS);

  if (FIELD_GET(HWSWAP_ID_MAGIC, id) != HWSWAP_ID_MAGIC_RESET)
    fail("register ID does not say HWSWAP: there is no engine at this address");
  if (FIELD_GET(HWSWAP_VERSION_MAJOR, version) != HWSWAP_VERSION_MAJOR_RESET)
    fail("the engine has another interface version than this program: build both from the same sources");
  engine->build = engine_read(HWSWAP_REG_BUILD);
  if (engine->build != ((uint64_t)HWSWAP_BUILD_HASH_HI << 32 | HWSWAP_BUILD_HASH_LO))
    fail("the engine is another build than the exports this program was made with: build it again");
  if (caps & HWSWAP_CAPS_GRANTS_ONLY)
    fail("the engine grants alone, and this program gives it commands: build the SoC with another "
         "PROFILE=");
  engine->devices = (unsigned)FIELD_GET(HWSWAP_CAPS_DEVICES, caps);
  engine->cpus = (unsigned)FIELD_GET(HWSWAP_CAPS_CPUS, caps);
  engine->clusters = (uint32_t)FIELD_GET(HWSWAP_CAPS_CLUSTERS, caps);
  engine->has_grants = caps & HWSWAP_CAPS_GRANTS;
}

/* Lets the engine read and write the memory shared with it, and no other. */
static COLD void permit_shared(void) {
  size_t bytes;
  const uint64_t start = shared_bus(&bytes);

  engine_write(HWSWAP_REG_DMA_WINDOW_BASE + HWSWAP_REG_DMA_WINDOW_START, start);
  engine_write(HWSWAP_REG_DMA_WINDOW_BASE + HWSWAP_REG_DMA_WINDOW_LIMIT,
               (start + bytes) | HWSWAP_DMA_WINDOW_LIMIT_READ | HWSWAP_DMA_WINDOW_LIMIT_WRITE);
}

COLD void engine_start(struct engine *engine) {
  unsigned looks = 0;

  *engine = (struct engine){0};
  identify(engine);
  engine_write(HWSWAP_REG_CONTROL, HWSWAP_CONTROL_RESET);
  while (engine_read(HWSWAP_REG_CONTROL) & HWSWAP_CONTROL_RESET) {
    if (++looks == PATIENCE)
      fail("the engine's reset does not end");
  }
  engine->commands = shared_get(RING_SIZE * HWSWAP_COMMAND_SIZE);
  engine->completions = shared_get(RING_SIZE * HWSWAP_COMPLETION_SIZE);
  engine_write(HWSWAP_REG_CMD_BASE, engine->commands.bus);
  engine_write(HWSWAP_REG_CPL_BASE, engine->completions.bus);
  engine_write(HWSWAP_REG_CMD_SIZE, ENGINE_COMMANDS_LOG2);
  permit_shared();
}

COLD void engine_enable(uint64_t control) {
  barrier_write();
  engine_write(HWSWAP_REG_CONTROL, control | HWSWAP_CONTROL_ENABLE);
}

unsigned engine_command(struct engine *engine, const struct engine_command *command, uint64_t *result) {
  const uint32_t number = engine->command_count++, entry = number % RING_SIZE;
  const uint32_t phase = !(number >> ENGINE_COMMANDS_LOG2 & 1);
  const size_t at = entry * HWSWAP_COMMAND_SIZE, answer = entry * HWSWAP_COMPLETION_SIZE;
  unsigned looks = 0;
  uint64_t info;

  shared_write(engine->commands, at + HWSWAP_COMMAND_HEAD_OFFSET,
               FIELD_PUT(HWSWAP_COMMAND_HEAD_OPCODE, command->opcode) |
                   FIELD_PUT(HWSWAP_COMMAND_HEAD_ORDER, command->order) |
                   FIELD_PUT(HWSWAP_COMMAND_HEAD_TYPE, command->type) | FIELD_PUT(HWSWAP_COMMAND_HEAD_NR, command->nr));
  shared_write(engine->commands, at + HWSWAP_COMMAND_ARG0_OFFSET, command->arguments[0]);
  shared_write(engine->commands, at + HWSWAP_COMMAND_ARG1_OFFSET, command->arguments[1]);
  shared_write(engine->commands, at + HWSWAP_COMMAND_ARG2_OFFSET, command->arguments[2]);
  barrier_write();
  engine_write_half(HWSWAP_REG_CMD_TAIL, engine->command_count);

  while (FIELD_GET(HWSWAP_COMPLETION_INFO_PHASE,
                   shared_read_half(engine->completions, answer + HWSWAP_COMPLETION_INFO_OFFSET)) != phase) {
    if (++looks == PATIENCE)
      fail("the engine does not answer a command");
  }
  barrier_read();
  info = shared_read(engine->completions, answer + HWSWAP_COMPLETION_INFO_OFFSET);
  if (FIELD_GET(HWSWAP_COMPLETION_INFO_INDEX, info) != (number & 0xffff) ||
      FIELD_GET(HWSWAP_COMPLETION_INFO_OPCODE, info) != command->opcode)
    fail("the engine answers what was not asked");
  if (result)
    *result = shared_read(engine->completions, answer + HWSWAP_COMPLETION_RESULT_OFFSET);
  return (unsigned)FIELD_GET(HWSWAP_COMPLETION_INFO_STATUS, info);
}

static COLD void must(struct engine *engine, const struct engine_command *command) {
  if (engine_command(engine, command, NULL) != HWSWAP_STATUS_OK)
    fail("the engine refuses a command about a device");
}

COLD void engine_swapon(struct engine *engine, unsigned type, uint32_t pages) {
  const uint64_t flags = HWSWAP_DEVICE_FLAGS_FLAGS_BLKDEV | HWSWAP_DEVICE_FLAGS_FLAGS_SOLIDSTATE;

  must(engine,
       &(struct engine_command){.opcode = HWSWAP_OPCODE_SWAPON_PREPARE, .type = type, .arguments = {pages, flags}});
  must(engine, &(struct engine_command){.opcode = HWSWAP_OPCODE_SWAPON, .type = type});
}

COLD void engine_swapoff(struct engine *engine, unsigned type) {
  must(engine, &(struct engine_command){.opcode = HWSWAP_OPCODE_SWAPOFF_BEGIN, .type = type});
  must(engine, &(struct engine_command){.opcode = HWSWAP_OPCODE_SWAPOFF, .type = type});
}

COLD const char *engine_stopped(void) {
  const uint64_t status = engine_read(HWSWAP_REG_STATUS);

  if (status & HWSWAP_STATUS_DMA_ERROR)
    return "the engine stopped with a DMA error";
  if (status & HWSWAP_STATUS_FAULT)
    return "the engine stopped because an internal check failed";
  return NULL;
}

COLD const char *engine_check(struct engine *engine, unsigned type) {
  const struct engine_command check = {.opcode = HWSWAP_OPCODE_CHECK, .type = type};
  const char *stopped = engine_stopped();
  uint64_t result;

  if (stopped)
    return stopped;
  if (engine_command(engine, &check, &result) != HWSWAP_STATUS_OK)
    return "the engine refuses CHECK";
  if (FIELD_GET(HWSWAP_COMPLETION_RESULT_SLOT, result))
    return "the engine's self-test found faults";
  return NULL;
}

static enum swap_status status_of(unsigned status) {
  return status == HWSWAP_STATUS_OK ? SWAP_OK : status == HWSWAP_STATUS_NO_SPACE ? SWAP_NO_SPACE : SWAP_BAD_RANGE;
}

enum swap_status engine_ring_alloc(struct engine *engine, unsigned order, struct swap_place *place) {
  const struct engine_command command = {.opcode = HWSWAP_OPCODE_ALLOC, .order = order};
  uint64_t result;
  const unsigned status = engine_command(engine, &command, &result);

  place->type = (uint32_t)FIELD_GET(HWSWAP_COMPLETION_RESULT_TYPE, result);
  place->offset = (uint32_t)FIELD_GET(HWSWAP_COMPLETION_RESULT_SLOT, result);
  return status_of(status);
}

enum swap_status engine_ring_free(struct engine *engine, struct swap_place place, unsigned nr) {
  const struct engine_command command = {
      .opcode = HWSWAP_OPCODE_FREE, .type = place.type, .nr = nr, .arguments = {place.offset}};

  return status_of(engine_command(engine, &command, NULL));
}
