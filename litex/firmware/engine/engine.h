/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to the engine from bare metal: registers, the command ring, and the CPU pages (docs/engine.md).
 *
 * Registers of 64 bits are accessed in halves. A write of a register's lowest byte starts its action, so the upper half
 * is written first; a response's upper half, which says that it is there, is read first.
 */
#ifndef HWSWAP_ENGINE_H
#define HWSWAP_ENGINE_H

#include "hwswap_map.h"
#include "locks.h"
#include "platform.h"
#include "swap.h"

/* The HWSWAP_<field> mask and its _SHIFT put a value into a field, and get it out. */
#define FIELD_PUT(field, value) ((uint64_t)(value) << field##_SHIFT & (field))
#define FIELD_GET(field, word) (((word) & (field)) >> field##_SHIFT)

/* The same for fields of a word's upper half, which is passed and returned alone. */
#define UPPER_PUT(field, value) ((uint32_t)(((uint64_t)(value) << field##_SHIFT & (field)) >> 32))
#define UPPER_GET(field, half) ((uint32_t)(((uint64_t)(half) << 32 & (field)) >> field##_SHIFT))

#define ENGINE_COMMANDS_LOG2 4 /* entries of the command ring */

/**
 * struct engine - the engine, as a hart sees it
 * @devices, @cpus, @clusters: the sizes it was built for
 * @has_grants: it grants
 * @build: hash of its build
 * @commands, @completions: the rings
 * @command_count: commands ever written
 * @sequence: number of the last request of the hart's page
 * @unanswered: that request's response was not looked at yet
 */
struct engine {
  unsigned devices, cpus;
  bool has_grants;
  uint32_t clusters;
  uint64_t build;
  struct shared commands, completions;
  uint32_t command_count;
  uint16_t sequence;
  bool unanswered;
} OWN_LINE;

static inline uint32_t engine_read_half(uint32_t offset) { return *(volatile uint32_t *)(HWSWAP_BASE + offset); }

static inline void engine_write_half(uint32_t offset, uint32_t value) {
  *(volatile uint32_t *)(HWSWAP_BASE + offset) = value;
}

static inline uint64_t engine_read(uint32_t offset) {
  const uint64_t upper = engine_read_half(offset + 4);

  return upper << 32 | engine_read_half(offset);
}

static inline void engine_write(uint32_t offset, uint64_t value) {
  engine_write_half(offset + 4, (uint32_t)(value >> 32));
  engine_write_half(offset, (uint32_t)value);
}

/* Memory shared with the engine; `offset` in bytes. */

static inline uint32_t shared_read_half(struct shared memory, size_t offset) {
  return *(volatile uint32_t *)((volatile char *)memory.cpu + offset);
}

static inline void shared_write_half(struct shared memory, size_t offset, uint32_t value) {
  *(volatile uint32_t *)((volatile char *)memory.cpu + offset) = value;
}

/*
 * Where the CPU has no such load, the lower half comes first: the engine writes both at once, and the phase, which says
 * that they are there, is in the lower one.
 */
static inline uint64_t shared_read(struct shared memory, size_t offset) {
#if __riscv_xlen == 64
  return *(volatile uint64_t *)((volatile char *)memory.cpu + offset);
#else
  const uint32_t lower = shared_read_half(memory, offset);

  return (uint64_t)shared_read_half(memory, offset + 4) << 32 | lower;
#endif
}

/* Where the CPU has no such store, the upper half comes first. */
static inline void shared_write(struct shared memory, size_t offset, uint64_t value) {
#if __riscv_xlen == 64
  *(volatile uint64_t *)((volatile char *)memory.cpu + offset) = value;
#else
  shared_write_half(memory, offset + 4, (uint32_t)(value >> 32));
  shared_write_half(memory, offset, (uint32_t)value);
#endif
}

/**
 * engine_start - find the engine, reset it, and give it empty command rings
 * @engine: filled in
 *
 * Ends the program with a sentence when there is no engine that it knows how to use.
 */
void engine_start(struct engine *engine);

/* Switches it on, with ENABLE and other bits of CONTROL. */
void engine_enable(uint64_t control);

/**
 * struct engine_command - a command; fields that an opcode does not name are 0
 * @opcode: HWSWAP_OPCODE_*
 */
struct engine_command {
  unsigned opcode;
  unsigned order;
  unsigned type;
  unsigned nr;
  uint64_t arguments[3];
};

/**
 * engine_command - have a command executed, and wait for it
 * @engine: enabled
 * @command: the command
 * @result: RESULT of the completion, or NULL
 *
 * Return: HWSWAP_STATUS_*. Ends the program when no answer comes, or a wrong one.
 */
unsigned engine_command(struct engine *engine, const struct engine_command *command, uint64_t *result);

/* Announces and switches on a device that has the engine's first clusters; ends the program if that is refused. */
void engine_swapon(struct engine *engine, unsigned type, uint32_t pages);

/* Takes a device off: SWAPOFF_BEGIN and SWAPOFF. */
void engine_swapoff(struct engine *engine, unsigned type);

/* Whether the engine has stopped: NULL, or why, in a sentence. */
const char *engine_stopped(void);

/**
 * engine_check - look whether the engine is well; its self-test is part of it if it was built with one
 * @engine: enabled
 * @type: a device in use
 *
 * Return: NULL, or the error, in a sentence.
 */
const char *engine_check(struct engine *engine, unsigned type);

/* By the core, asked by the hart's own page, on which there is one request at a time. A free is not waited for: the
 * next request, or engine_page_settle(), does. */
enum swap_status engine_page_alloc(struct engine *engine, unsigned order, struct swap_place *place);
enum swap_status engine_page_free(struct engine *engine, struct swap_place place, unsigned nr);
enum swap_status engine_page_settle(struct engine *engine);

/* The same, asked by the command ring. */
enum swap_status engine_ring_alloc(struct engine *engine, unsigned order, struct swap_place *place);
enum swap_status engine_ring_free(struct engine *engine, struct swap_place place, unsigned nr);

#endif
