// SPDX-License-Identifier: Apache-2.0
/* The schemes that are compared. All keep a word for every slot; the software allocators do so by themselves. */
#include "bench.h"
#include "tables.h"
#include "words.h"

#define TYPE 0 /* the one device */

/** struct own - a hart's own state */
struct own {
  uint64_t pfn; /* of the next folio */
} OWN_LINE;

static struct engine engines[SWAP_HARTS];
static struct grants grants[SWAP_HARTS];
static struct swap *swap;
static uint64_t *words;
static struct own own[SWAP_HARTS];

static inline struct engine *engine(void) { return &engines[hart_number()]; }
static inline struct grants *granted(void) { return &grants[hart_number()]; }
static inline uint64_t next_pfn(void) { return own[hart_number()].pfn++; }

static COLD void start_engine(void) {
  engine_start(&engines[0]);
  for (unsigned hart = 1; hart < SWAP_HARTS; hart++)
    engines[hart] = engines[0];
}

static COLD void *memory_get(void *context, size_t bytes) {
  (void)context;
  return private_get(bytes);
}

/* All memory is given back at once, after a scheme. */
static COLD void memory_put(void *context, void *block, size_t bytes) {
  (void)context;
  (void)block;
  (void)bytes;
}

static const struct swap_memory memory = {.get = memory_get, .put = memory_put};

/* Software. */

static COLD void software_create(const struct swap_ops *ops) {
  swap = ops->create(&memory, 1, SWAP_HARTS);
  if (!swap)
    fail("there is not enough memory for an allocator");
}

static COLD void software_swapon(const struct swap_ops *ops) {
  const unsigned flags = HWSWAP_DEVICE_FLAGS_FLAGS_BLKDEV | HWSWAP_DEVICE_FLAGS_FLAGS_SOLIDSTATE;

  if (ops->prepare(swap, TYPE, BENCH_PAGES, flags, -1) != SWAP_OK || ops->swapon(swap, TYPE) != SWAP_OK)
    fail("an allocator refuses the device");
}

static COLD const char *software_check(const struct swap_ops *ops) {
  if (ops->word(swap, TYPE, 0) != SWAP_WORD_BAD)
    return "the header slot's word is not that of a bad slot";
  for (uint32_t offset = 1; offset < BENCH_PAGES; offset++) {
    if (ops->word(swap, TYPE, offset) != SWAP_WORD_FREE)
      return "a slot's word is not free although all slots are";
  }
  return NULL;
}

static COLD void software_stop(const struct swap_ops *ops) {
  if (ops->swapoff_begin(swap, TYPE) != SWAP_OK || ops->swapoff(swap, TYPE) != SWAP_OK)
    fail("an allocator refuses to give the device up");
  ops->destroy(swap);
}

static COLD void stock_start(void) {
  software_create(&swap_stock);
  software_swapon(&swap_stock);
}
static enum swap_status stock_alloc(unsigned order, struct swap_place *place) {
  return swap_stock.alloc(swap, hart_number(), order, next_pfn(), place);
}
static enum swap_status stock_free(struct swap_place place, unsigned nr) {
  return swap_stock.free(swap, place.type, place.offset, nr);
}
static COLD const char *stock_check(void) { return software_check(&swap_stock); }
static COLD void stock_stop(void) { software_stop(&swap_stock); }

static COLD void tuned_start(void) {
  software_create(&swap_tuned);
  software_swapon(&swap_tuned);
}
static enum swap_status tuned_alloc(unsigned order, struct swap_place *place) {
  return swap_tuned.alloc(swap, hart_number(), order, next_pfn(), place);
}
static enum swap_status tuned_free(struct swap_place place, unsigned nr) {
  return swap_tuned.free(swap, place.type, place.offset, nr);
}
static COLD const char *tuned_check(void) { return software_check(&swap_tuned); }
static COLD void tuned_stop(void) { software_stop(&swap_tuned); }

/*
 * The table words alone, which all others write too: slots are counted off, without any account. It is no allocator,
 * but the part that none can do without.
 */

static uint32_t next_offset;

static COLD void words_start(void) {
  words = private_get(BENCH_PAGES * sizeof(*words));
  if (!words)
    fail("there is not enough memory for the table words");
  swap_fill(words, SWAP_WORD_FREE, BENCH_PAGES);
  next_offset = SWAP_SLOTS;
}

static enum swap_status words_alloc(unsigned order, struct swap_place *place) {
  const unsigned nr = 1u << order;

  if (next_offset + nr > BENCH_PAGES)
    return SWAP_NO_SPACE;
  *place = (struct swap_place){.type = TYPE, .offset = next_offset};
  next_offset += nr;
  swap_fill(&words[place->offset], swap_word_folio(next_pfn()), nr);
  return SWAP_OK;
}

static enum swap_status words_free(struct swap_place place, unsigned nr) {
  swap_fill(&words[place.offset], SWAP_WORD_FREE, nr);
  /* A batch frees all it has allocated. */
  next_offset = SWAP_SLOTS;
  return SWAP_OK;
}

static COLD const char *words_check(void) {
  for (uint32_t offset = 0; offset < BENCH_PAGES; offset++) {
    if (words[offset] != SWAP_WORD_FREE)
      return "a slot's word is not free although all slots are";
  }
  return NULL;
}

static COLD void words_stop(void) {}

/* The engine decides, and the host writes the words into a table that is there for the whole device. */

static COLD void authority_start(void) {
  words_start();
  start_engine();
  engine_enable(0);
  engine_swapon(engine(), TYPE, BENCH_PAGES);
}

static enum swap_status fill_words(enum swap_status status, unsigned order, const struct swap_place *place) {
  if (status == SWAP_OK)
    swap_fill(&words[place->offset], swap_word_folio(next_pfn()), 1u << order);
  return status;
}

static enum swap_status register_alloc(unsigned order, struct swap_place *place) {
  return fill_words(engine_page_alloc(engine(), order, place), order, place);
}

static enum swap_status register_free(struct swap_place place, unsigned nr) {
  swap_fill(&words[place.offset], SWAP_WORD_FREE, nr);
  return engine_page_free(engine(), place, nr);
}

static enum swap_status ring_alloc(unsigned order, struct swap_place *place) {
  return fill_words(engine_ring_alloc(engine(), order, place), order, place);
}

static enum swap_status ring_free(struct swap_place place, unsigned nr) {
  swap_fill(&words[place.offset], SWAP_WORD_FREE, nr);
  return engine_ring_free(engine(), place, nr);
}

/*
 * The engine writes the words, too: a table for each cluster in shared memory, and TABLE_FILL or TABLE_CLEAR by the
 * command ring, which is waited for.
 */

static struct shared tables;

static COLD void tables_start(void) {
  struct shared got, addresses;
  struct engine_command give = {.opcode = HWSWAP_OPCODE_TABLE_GIVE, .type = TYPE, .nr = BENCH_CLUSTERS};
  size_t pad;

  /* First of all, as it may still write to memory that is shared anew. */
  start_engine();
  got = shared_get(BENCH_CLUSTERS * SWAP_TABLE_BYTES + SWAP_TABLE_BYTES);
  pad = -got.bus % SWAP_TABLE_BYTES;
  tables = (struct shared){.cpu = (volatile char *)got.cpu + pad, .bus = got.bus + pad};
  addresses = shared_get(BENCH_CLUSTERS * sizeof(uint64_t));
  for (unsigned i = 0; i < BENCH_CLUSTERS; i++)
    shared_write(addresses, i * sizeof(uint64_t), tables.bus + i * SWAP_TABLE_BYTES);
  engine_enable(HWSWAP_CONTROL_TABLE_WRITES);
  engine_swapon(engine(), TYPE, BENCH_PAGES);
  give.arguments[2] = addresses.bus;
  if (engine_command(engine(), &give, NULL) != HWSWAP_STATUS_OK)
    fail("the engine does not take the swap tables");
}

/* Words of one kind become another word, or free with 0. */
static enum swap_status write_words(unsigned opcode, uint32_t offset, unsigned nr, unsigned kind, uint64_t value) {
  const struct engine_command command = {.opcode = opcode,
                                         .type = TYPE,
                                         .nr = nr,
                                         .arguments = {FIELD_PUT(HWSWAP_TABLE_SCAN_SLOTS_SLOT, offset) |
                                                           FIELD_PUT(HWSWAP_TABLE_SCAN_SLOTS_KINDS, 1u << kind),
                                                       value}};

  return engine_command(engine(), &command, NULL) == HWSWAP_STATUS_OK ? SWAP_OK : SWAP_BAD_RANGE;
}

static enum swap_status tables_alloc(unsigned order, struct swap_place *place) {
  const enum swap_status status = engine_page_alloc(engine(), order, place);

  if (status != SWAP_OK)
    return status;
  return write_words(HWSWAP_OPCODE_TABLE_FILL, place->offset, 1u << order, HWSWAP_TABLE_KIND_FREE, next_pfn());
}

static enum swap_status tables_free(struct swap_place place, unsigned nr) {
  /* Nobody has counted the slots. */
  const enum swap_status status = write_words(HWSWAP_OPCODE_TABLE_CLEAR, place.offset, nr, HWSWAP_TABLE_KIND_UNUSED, 0);

  return status == SWAP_OK ? engine_page_free(engine(), place, nr) : status;
}

static COLD const char *engine_is_empty(void) {
  if (engine_page_settle(engine()) != SWAP_OK)
    return "the engine refused a request";
  if ((engine_read(HWSWAP_REG_USAGE) & HWSWAP_USAGE_SLOTS) != BENCH_PAGES - 1)
    return "the engine counts slots in use although all are free";
  return engine_check(engine(), TYPE);
}

static COLD const char *tables_check(void) {
  barrier_read();
  for (uint32_t offset = 0; offset < BENCH_PAGES; offset++) {
    if (shared_read(tables, offset * sizeof(uint64_t)) != SWAP_WORD_FREE)
      return "a slot's word is not free although all slots are";
  }
  return engine_is_empty();
}

static COLD const char *authority_check(void) {
  const char *wrong = words_check();

  return wrong ? wrong : engine_is_empty();
}

static COLD void authority_stop(void) { engine_swapoff(engine(), TYPE); }

/* The engine says in which cluster the stock allocator's next search begins. */

static COLD void grant_start(void) {
  start_engine();
  software_create(&swap_stock);
  grants_start(grants, &engines[0], swap);
  software_swapon(&swap_stock);
  grants_swapon(grants, TYPE, BENCH_CLUSTERS, 0);
}

static enum swap_status grant_alloc(unsigned order, struct swap_place *place) {
  return grants_alloc(granted(), order, next_pfn(), place);
}

static enum swap_status grant_free(struct swap_place place, unsigned nr) { return grants_free(granted(), place, nr); }

static COLD void grant_drop(void) { grants_drop(granted()); }

static COLD const char *grant_check(void) {
  const char *wrong;

  grants_drop(granted());
  grants_settle();
  wrong = grants_verify(grants, TYPE, BENCH_CLUSTERS);
  if (!wrong)
    wrong = engine_stopped();
  return wrong ? wrong : software_check(&swap_stock);
}

static COLD void grant_stop(void) {
  grants_swapoff(grants, TYPE);
  stock_follow(swap, NULL, NULL);
  software_stop(&swap_stock);
}

static COLD void grant_counts(struct bench_count counts[BENCH_COUNTS]) {
  counts[0] = (struct bench_count){"hits", granted()->counts.hits};
  counts[1] = (struct bench_count){"misses", granted()->counts.misses};
  counts[2] = (struct bench_count){"no_run", granted()->counts.no_run};
  counts[3] = (struct bench_count){"popped", granted()->counts.popped};
  counts[4] = (struct bench_count){"refused", granted()->counts.refused};
  granted()->counts = (struct grants_counts){0};
}

#define SCHEME(called, started, allocated, freed, checked, stopped)                                                    \
  {                                                                                                                    \
      .name = called,                                                                                                  \
      .start = started,                                                                                                \
      .alloc = allocated,                                                                                              \
      .alloc_plain = allocated,                                                                                        \
      .free = freed,                                                                                                   \
      .check = checked,                                                                                                \
      .stop = stopped,                                                                                                 \
  }

static const struct scheme stock = SCHEME("stock", stock_start, stock_alloc, stock_free, stock_check, stock_stop);
static const struct scheme tuned = SCHEME("tuned", tuned_start, tuned_alloc, tuned_free, tuned_check, tuned_stop);
static const struct scheme by_register =
    SCHEME("register", authority_start, register_alloc, register_free, authority_check, authority_stop);
static const struct scheme by_ring =
    SCHEME("ring", authority_start, ring_alloc, ring_free, authority_check, authority_stop);
static const struct scheme words_alone = {.name = "words",
                                          .start = words_start,
                                          .alloc = words_alloc,
                                          .free = words_free,
                                          .check = words_check,
                                          .stop = words_stop};
static const struct scheme by_table =
    SCHEME("trusted", tables_start, tables_alloc, tables_free, tables_check, authority_stop);
static const struct scheme by_grant = {.name = "grants",
                                       .start = grant_start,
                                       .alloc = grant_alloc,
                                       .alloc_plain = stock_alloc,
                                       .free = grant_free,
                                       .drop = grant_drop,
                                       .counts = grant_counts,
                                       .check = grant_check,
                                       .stop = grant_stop};

const struct scheme *const bench_schemes[] = {&stock,    &tuned,    &by_register, &by_ring,
                                              &by_grant, &by_table, &words_alone};
const unsigned bench_nr_schemes = sizeof(bench_schemes) / sizeof(*bench_schemes);
