// SPDX-License-Identifier: Apache-2.0
/* Records and notices for the engine, hints from it. */
#include "advisory.h"

/*
 * More entries than an engine has clusters: as a cluster has one notice on its way at most, the ring cannot overflow.
 */
#define NOTICES_LOG2 12
#define NOTICES (1u << NOTICES_LOG2)

/* So many hints are looked at for one allocation, before the allocator does it by itself. */
#define TRIES 4

static inline size_t record_of(uint32_t cluster) { return (size_t)cluster * HWSWAP_CLUSTER_STATE_SIZE; }

static void post_notice(struct advisory *advisory, struct advisory_note *note, uint32_t cluster) {
  const size_t entry = advisory->notice_tail % NOTICES * HWSWAP_NOTICE_SIZE;

  if (note->notice) {
    /*
     * The record is there before NOTICE_HEAD is read; the engine publishes NOTICE_HEAD before it fetches. So either we
     * see that the earlier notice was taken, or its fetch sees this record.
     */
    barrier_full();
    if ((int32_t)(note->notice - shared_read_half(advisory->engine_line, HWSWAP_ENGINE_LINE_NOTICE_OFFSET)) > 0) {
      advisory->counts.coalesced++;
      return;
    }
  }
  shared_write_half(advisory->notices, entry + 4, note->seq);
  shared_write_half(advisory->notices, entry, cluster);
  note->notice = ++advisory->notice_tail;
  barrier_write();
  shared_write_half(advisory->cpu_line, HWSWAP_CPU_LINE_NOTICE_OFFSET, advisory->notice_tail);
  advisory->counts.notices++;
}

/* Writes words of a record's bitmap. */
static void record_range(struct advisory *advisory, struct advisory_note *note, size_t record, unsigned start,
                         unsigned nr, bool used) {
  const size_t bitmap = record + HWSWAP_CLUSTER_STATE_BITMAP_OFFSET;

  while (nr) {
    const unsigned first = start % 32, word = start / 32, part = nr < 32 - first ? nr : 32 - first;
    const uint32_t mask = UINT32_MAX >> (32 - part) << first;

    note->used[word] = used ? note->used[word] | mask : note->used[word] & ~mask;
    shared_write_half(advisory->records, bitmap + word * 4, note->used[word]);
    start += part;
    nr -= part;
  }
}

static inline uint32_t meta_of(struct stock_state state, uint8_t epoch) {
  return UPPER_PUT(HWSWAP_CLUSTER_STATE_META_COUNT, state.count) |
         UPPER_PUT(HWSWAP_CLUSTER_STATE_META_ORDER, state.order) |
         UPPER_PUT(HWSWAP_CLUSTER_STATE_META_FLAG, state.flag) | UPPER_PUT(HWSWAP_CLUSTER_STATE_META_EPOCH, epoch);
}

/*
 * The reader takes META first and TAIL last, and keeps what it read if both have the same sequence number. So TAIL is
 * written first and META last; where META takes two stores, its sequence number is in the second.
 */
static inline void record_begin(struct advisory *advisory, struct advisory_note *note, size_t record) {
  shared_write_half(advisory->records, record + HWSWAP_CLUSTER_STATE_TAIL_OFFSET, ++note->seq);
  barrier_write();
}

static inline void record_end(struct advisory *advisory, struct advisory_note *note, size_t record, uint32_t meta) {
  note->meta = meta;
  barrier_write();
  shared_write(advisory->records, record + HWSWAP_CLUSTER_STATE_META_OFFSET, (uint64_t)meta << 32 | note->seq);
}

static void changed(void *context, unsigned type, uint32_t cluster, struct stock_state state, unsigned start,
                    unsigned nr, bool taken) {
  struct advisory *advisory = context;
  const uint32_t number = advisory->base[type] + cluster;
  struct advisory_note *note = &advisory->notes[number];
  const uint32_t meta = meta_of(state, advisory->epoch[type]);

  /* A failed scan that left the cluster where it was. */
  if (!nr && meta == note->meta)
    return;
  record_begin(advisory, note, record_of(number));
  record_range(advisory, note, record_of(number), start, nr, taken);
  record_end(advisory, note, record_of(number), meta);
  post_notice(advisory, note, number);
}

/* After the notice of what the hint has caused: a slot in use is known to be so before the hint's own mark goes. */
static inline void publish_head(struct advisory *advisory, unsigned order) {
  barrier_write();
  shared_write_half(advisory->cpu_line, HWSWAP_CPU_LINE_HINT_HEAD_OFFSET + 4 * order, advisory->hint_head[order]);
}

/*
 * HINT_HEAD, and WANT at the first miss, are published after all that the allocation has changed, the allocator's own
 * work included: an engine that heard of them earlier would offer what the allocator is just about to take.
 */
static __attribute__((noinline)) enum swap_status alloc_without(struct advisory *advisory, unsigned order, uint64_t pfn,
                                                                struct swap_place *place, bool popped) {
  const enum swap_status status = swap_stock.alloc(advisory->swap, 0, order, pfn, place);

  if (popped)
    publish_head(advisory, order);
  if (!(advisory->want & 1u << order)) {
    advisory->want |= 1u << order;
    barrier_write();
    shared_write_half(advisory->cpu_line, HWSWAP_CPU_LINE_WANT_OFFSET, advisory->want);
  }
  return status;
}

enum swap_status advisory_alloc(struct advisory *advisory, unsigned order, uint64_t pfn, struct swap_place *place) {
  const unsigned log2 = advisory->engine->hint_log2;
  const size_t ring = (size_t)order << log2;
  bool popped = false;

  for (unsigned tries = 0; tries < TRIES;) {
    const uint32_t head = advisory->hint_head[order];
    const size_t entry = (ring + (head & ((1u << log2) - 1))) * HWSWAP_HINT_SIZE;
    const uint64_t hint = shared_read(advisory->hints, entry);
    enum swap_refusal outcome = SWAP_REFUSED_HINT;

    if (FIELD_GET(HWSWAP_HINT_HINT_PHASE, hint) == (head >> log2 & 1)) {
      advisory->counts.misses++;
      break;
    }
    advisory->hint_head[order] = head + 1;
    popped = true;
    if (!(hint & HWSWAP_HINT_HINT_VALID)) {
      advisory->counts.voids++;
      continue;
    }
    place->type = (uint32_t)FIELD_GET(HWSWAP_HINT_HINT_TYPE, hint);
    place->offset = (uint32_t)FIELD_GET(HWSWAP_HINT_HINT_SLOT, hint);
    if (FIELD_GET(HWSWAP_HINT_HINT_ORDER, hint) == order &&
        FIELD_GET(HWSWAP_HINT_HINT_EPOCH, hint) == advisory->epoch[place->type])
      outcome = stock_take(advisory->swap, order, *place, pfn);
    if (outcome == SWAP_TAKEN) {
      publish_head(advisory, order);
      advisory->counts.taken++;
      return SWAP_OK;
    }
    advisory->counts.refused++;
    tries++;
  }
  return alloc_without(advisory, order, pfn, place, popped);
}

enum swap_status advisory_free(struct advisory *advisory, struct swap_place place, unsigned nr) {
  return swap_stock.free(advisory->swap, place.type, place.offset, nr);
}

COLD void advisory_start(struct advisory *advisory, struct engine *engine, struct swap *swap, uint32_t clusters,
                         unsigned depth, uint32_t poll) {
  const size_t notes = clusters * sizeof(*advisory->notes);

  *advisory = (struct advisory){.engine = engine, .swap = swap};
  if (clusters > engine->clusters)
    fail("the engine was built for fewer clusters");
  if (clusters >= NOTICES)
    fail("there are too many clusters for this program's notice ring");
  advisory->notes = private_get(notes);
  if (!advisory->notes)
    fail("there is not enough memory for a note of each cluster");
  __builtin_memset(advisory->notes, 0, notes);
  advisory->records = shared_get((size_t)clusters * HWSWAP_CLUSTER_STATE_SIZE);
  advisory->cpu_line = shared_get(engine->cpus * HWSWAP_CPU_LINE_SIZE);
  advisory->engine_line = shared_get(engine->cpus * HWSWAP_ENGINE_LINE_SIZE);
  advisory->notices = shared_get((size_t)engine->cpus * HWSWAP_NOTICE_SIZE << NOTICES_LOG2);
  advisory->hints = shared_get((size_t)engine->cpus * SWAP_ORDERS * HWSWAP_HINT_SIZE << engine->hint_log2);
  engine_write(HWSWAP_REG_STATE_BASE, advisory->records.bus);
  engine_write(HWSWAP_REG_CPU_LINE_BASE, advisory->cpu_line.bus);
  engine_write(HWSWAP_REG_ENGINE_LINE_BASE, advisory->engine_line.bus);
  engine_write(HWSWAP_REG_NOTICE_BASE, advisory->notices.bus);
  engine_write(HWSWAP_REG_NOTICE_SIZE, NOTICES_LOG2);
  engine_write(HWSWAP_REG_HINT_BASE, advisory->hints.bus);
  engine_write(HWSWAP_REG_HINT_DEPTH, (engine_read(HWSWAP_REG_HINT_DEPTH) & ~HWSWAP_HINT_DEPTH_SLOTS) |
                                          FIELD_PUT(HWSWAP_HINT_DEPTH_SLOTS, depth));
  engine_write(HWSWAP_REG_POLL, poll);
  engine_enable(engine, HWSWAP_CONTROL_HINTS);
  stock_follow(swap, changed, advisory);
}

COLD void advisory_swapon(struct advisory *advisory, unsigned type, uint32_t pages, uint32_t clusters, uint32_t base) {
  const struct engine_command resync = {.opcode = HWSWAP_OPCODE_RESYNC, .type = type};

  advisory->base[type] = base;
  advisory->epoch[type]++;
  for (uint32_t i = 0; i < clusters; i++) {
    struct advisory_note *note = &advisory->notes[base + i];
    const size_t record = record_of(base + i);

    record_begin(advisory, note, record);
    for (unsigned word = 0; word < SWAP_SLOTS / 32; word++) {
      note->used[word] = 0;
      for (unsigned bit = 0; bit < 32; bit++) {
        if (swap_stock.word(advisory->swap, type, i * SWAP_SLOTS + word * 32 + bit))
          note->used[word] |= 1u << bit;
      }
      shared_write_half(advisory->records, record + HWSWAP_CLUSTER_STATE_BITMAP_OFFSET + 4 * word, note->used[word]);
    }
    record_end(advisory, note, record, meta_of(stock_state_of(advisory->swap, type, i), advisory->epoch[type]));
  }
  engine_swapon(advisory->engine, type, pages, base, advisory->epoch[type]);
  if (engine_command(advisory->engine, &resync, NULL) != HWSWAP_STATUS_OK)
    fail("the engine refuses to read a device's records");
}

static COLD void wait_rounds(struct advisory *advisory, unsigned rounds) {
  uint32_t seen = shared_read_half(advisory->engine_line, HWSWAP_ENGINE_LINE_HEARTBEAT_OFFSET), looks = 0;

  while (rounds) {
    const uint32_t now = shared_read_half(advisory->engine_line, HWSWAP_ENGINE_LINE_HEARTBEAT_OFFSET);

    if (now != seen) {
      rounds--;
      seen = now;
      looks = 0;
    }
    if (++looks == 1000000)
      fail("the engine's heartbeat stands still");
  }
}

COLD void advisory_quiet(struct advisory *advisory) {
  advisory->want = 0;
  shared_write_half(advisory->cpu_line, HWSWAP_CPU_LINE_WANT_OFFSET, 0);
  barrier_full();
  /* The round under way may have read the line before. */
  wait_rounds(advisory, 2);
  if (shared_read_half(advisory->engine_line, HWSWAP_ENGINE_LINE_NOTICE_OFFSET) != advisory->notice_tail)
    fail("the engine leaves notices untaken");
}

COLD uint32_t advisory_recall(struct advisory *advisory, unsigned type) {
  const struct engine_command recall = {.opcode = HWSWAP_OPCODE_RECALL, .type = type};
  uint64_t result;

  if (engine_command(advisory->engine, &recall, &result) != HWSWAP_STATUS_OK)
    fail("the engine refuses to take hints back");
  return (uint32_t)FIELD_GET(HWSWAP_COMPLETION_RESULT_SLOT, result);
}

COLD const char *advisory_verify(struct advisory *advisory, unsigned type, uint32_t clusters) {
  const struct shared dump = shared_get(HWSWAP_CLUSTER_STATE_SIZE);

  for (uint32_t i = 0; i < clusters; i++) {
    const struct advisory_note *note = &advisory->notes[advisory->base[type] + i];
    const struct engine_command command = {
        .opcode = HWSWAP_OPCODE_DUMP, .nr = 1, .arguments = {advisory->base[type] + i, dump.bus}};

    if (engine_command(advisory->engine, &command, NULL) != HWSWAP_STATUS_OK)
      return "the engine refuses DUMP";
    if (shared_read_half(dump, HWSWAP_CLUSTER_STATE_META_OFFSET) != note->seq)
      return "the engine holds an old record of a cluster";
    for (unsigned slot = 0; slot < SWAP_SLOTS; slot++) {
      const uint32_t word = shared_read_half(dump, HWSWAP_CLUSTER_STATE_BITMAP_OFFSET + slot / 32 * 4);
      const bool used = swap_stock.word(advisory->swap, type, i * SWAP_SLOTS + slot) != 0;

      if ((word >> slot % 32 & 1) != used)
        return "the engine's picture of a cluster differs from the allocator's table";
    }
  }
  return NULL;
}
