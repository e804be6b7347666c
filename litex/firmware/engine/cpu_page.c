// SPDX-License-Identifier: Apache-2.0
/*
 * ALLOC and FREE by the register page of the CPU's own. Every request has the next sequence number, and is done when
 * the response carries that number: one whose answer was lost could be written again without taking slots twice.
 */
#include "engine.h"

#define PAGE (HWSWAP_REG_CPU_PAGE_BASE + hart_number() * HWSWAP_REG_CPU_PAGE_STRIDE)
#define UPPER 4 /* offset of a register's upper half */

#define PATIENCE 2000000u

/* The request goes, as soon as nothing is under way. */
static void request(struct engine *engine, unsigned opcode, unsigned order, unsigned type, unsigned nr) {
  engine_write_half(PAGE + HWSWAP_REG_CPU_PAGE_REQUEST + UPPER,
                    UPPER_PUT(HWSWAP_CPU_PAGE_REQUEST_SEQ, ++engine->sequence) |
                        UPPER_PUT(HWSWAP_CPU_PAGE_REQUEST_NR, nr));
  engine_write_half(PAGE + HWSWAP_REG_CPU_PAGE_REQUEST, (uint32_t)(FIELD_PUT(HWSWAP_CPU_PAGE_REQUEST_OPCODE, opcode) |
                                                                   FIELD_PUT(HWSWAP_CPU_PAGE_REQUEST_ORDER, order) |
                                                                   FIELD_PUT(HWSWAP_CPU_PAGE_REQUEST_TYPE, type)));
  engine->unanswered = true;
}

/* Waits for the response's upper half. */
static uint32_t response(struct engine *engine) {
  for (unsigned looks = 0; looks < PATIENCE; looks++) {
    const uint32_t upper = engine_read_half(PAGE + HWSWAP_REG_CPU_PAGE_RESPONSE + UPPER);

    if (UPPER_GET(HWSWAP_CPU_PAGE_RESPONSE_SEQ, upper) == engine->sequence &&
        !UPPER_GET(HWSWAP_CPU_PAGE_RESPONSE_BUSY, upper)) {
      engine->unanswered = false;
      return upper;
    }
  }
  fail("the engine does not answer a request by register");
}

enum swap_status engine_page_settle(struct engine *engine) {
  if (!engine->unanswered)
    return SWAP_OK;
  return UPPER_GET(HWSWAP_CPU_PAGE_RESPONSE_STATUS, response(engine)) == HWSWAP_STATUS_OK ? SWAP_OK : SWAP_BAD_RANGE;
}

enum swap_status engine_page_alloc(struct engine *engine, unsigned order, struct swap_place *place) {
  uint32_t upper, status;

  if (engine_page_settle(engine) != SWAP_OK)
    return SWAP_BAD_RANGE;
  request(engine, HWSWAP_OPCODE_ALLOC, order, 0, 0);
  upper = response(engine);
  place->type = UPPER_GET(HWSWAP_CPU_PAGE_RESPONSE_TYPE, upper);
  place->offset = engine_read_half(PAGE + HWSWAP_REG_CPU_PAGE_RESPONSE);
  status = UPPER_GET(HWSWAP_CPU_PAGE_RESPONSE_STATUS, upper);
  return status == HWSWAP_STATUS_OK ? SWAP_OK : status == HWSWAP_STATUS_NO_SPACE ? SWAP_NO_SPACE : SWAP_BAD_RANGE;
}

enum swap_status engine_page_free(struct engine *engine, struct swap_place place, unsigned nr) {
  if (engine_page_settle(engine) != SWAP_OK)
    return SWAP_BAD_RANGE;
  engine_write_half(PAGE + HWSWAP_REG_CPU_PAGE_ARG, place.offset);
  request(engine, HWSWAP_OPCODE_FREE, 0, place.type, nr);
  return SWAP_OK;
}
