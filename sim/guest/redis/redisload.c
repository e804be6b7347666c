// SPDX-License-Identifier: Apache-2.0
// redisload: a client of redis-server. Fills it with keys, reads and writes at random, reads all at the end, and
// verifies every value, byte by byte. The server saves all in the background meanwhile, twice, unless told `nosave`.
//
// Speaks RESP through two named pipes, up to DEPTH requests ahead of the replies. A value's bytes depend on the seed,
// the key and how often the key was written. A line of JSON ends it; the exit code is 1 when a value was wrong.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH 32
#define MOST_BYTES 1900 /* of a value: DEPTH values and their requests fit into a pipe of 64 kB */

struct request {
  uint64_t key, version; /* version 0: a reply without a value is expected */
};

static FILE *out, *in;
static struct request pending[DEPTH];
static unsigned head, tail;
static uint64_t seed, wrong, gets, sets;
static uint16_t *versions;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...) {
  va_list arguments;

  va_start(arguments, format);
  fputs("redisload: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

/* splitmix64 */
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;

  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/* Fills `to` with a value, returns its length: 200 to MOST_BYTES. */
static size_t value(char *to, uint64_t key, uint64_t version) {
  uint64_t state = seed * 0x100000001b3 ^ key << 20 ^ version;
  size_t length = 200 + next(&state) % (MOST_BYTES - 199);

  for (size_t i = 0; i < length; i++)
    to[i] = 'A' + (next(&state) >> 59);
  return length;
}

static void line(char *to, int size) {
  if (!fgets(to, size, in))
    die("the server ended");
  to[strcspn(to, "\r\n")] = 0;
}

/* Reads the oldest reply and compares it with what it must be. */
static void reply(void) {
  static char got[MOST_BYTES + 2], expected[MOST_BYTES];
  struct request *of = &pending[tail++ % DEPTH];
  char text[256];
  long length;

  line(text, sizeof(text));
  if (!of->version) {
    if (text[0] != '+')
      die("the server says: %s", text);
    return;
  }
  length = text[0] == '$' ? atol(text + 1) : -1;
  if (length < 0 || length > MOST_BYTES)
    die("the server says: %s", text);
  if (fread(got, 1, length + 2, in) != (size_t)length + 2)
    die("the server ended");
  if ((size_t)length != value(expected, of->key, of->version) || memcmp(got, expected, length))
    wrong++;
}

static void drain(void) {
  fflush(out);
  while (tail != head)
    reply();
}

static void ask(uint64_t key, uint64_t version) {
  if (head - tail == DEPTH)
    drain();
  pending[head++ % DEPTH] = (struct request){key, version};
}

static void set(uint64_t key) {
  static char bytes[MOST_BYTES];
  size_t length = value(bytes, key, ++versions[key]);

  ask(key, 0);
  fprintf(out, "*3\r\n$3\r\nSET\r\n$12\r\nkey:%08" PRIu64 "\r\n$%zu\r\n", key, length);
  fwrite(bytes, 1, length, out);
  fputs("\r\n", out);
  sets++;
}

static void get(uint64_t key) {
  ask(key, versions[key]);
  fprintf(out, "GET key:%08" PRIu64 "\r\n", key);
  gets++;
}

static void command(const char *text) {
  drain();
  ask(0, 0);
  fprintf(out, "%s\r\n", text);
  drain();
}

/* Waits until nothing is being saved; the last save must have been a good one. */
static void saved(void) {
  static char text[16384];
  long length;

  drain();
  for (;;) {
    fputs("INFO persistence\r\n", out);
    fflush(out);
    line(text, sizeof(text));
    length = text[0] == '$' ? atol(text + 1) : -1;
    if (length < 0 || length + 3 > (long)sizeof(text))
      die("the server says: %s", text);
    if (fread(text, 1, length + 2, in) != (size_t)length + 2)
      die("the server ended");
    text[length] = 0;
    if (strstr(text, "rdb_bgsave_in_progress:0"))
      break;
    usleep(50000);
  }
  if (!strstr(text, "rdb_last_bgsave_status:ok"))
    die("the server could not save");
}

static uint64_t number(char **argv, int at) {
  char *end;
  uint64_t n = strtoull(argv[at], &end, 0);

  if (*end || !*argv[at])
    die("%s is no number", argv[at]);
  return n;
}

int main(int argc, char **argv) {
  int save = argc == 6;
  uint64_t keys, operations, state;

  if (!save && (argc != 7 || strcmp(argv[6], "nosave")))
    die("usage: redisload REQUESTS REPLIES KEYS OPERATIONS SEED [nosave]");
  keys = number(argv, 3);
  operations = number(argv, 4);
  state = seed = number(argv, 5);
  versions = calloc(keys, sizeof(*versions));
  out = fopen(argv[1], "w");
  in = fopen(argv[2], "r");
  if (!versions || !out || !in || !keys)
    die("cannot begin: %s", strerror(errno));
  for (uint64_t key = 0; key < keys; key++)
    set(key);
  for (int round = 0; round < 2; round++) {
    if (save)
      command("BGSAVE");
    for (uint64_t i = 0; i < operations; i++) {
      uint64_t dice = next(&state), key = next(&state) % keys;

      if (dice % 2)
        key %= keys / 8 + 1; /* some are asked for more often */
      if (dice >> 8 & 1)
        set(key);
      else
        get(key);
    }
    if (save)
      saved();
  }
  for (uint64_t key = 0; key < keys; key++)
    get(key);
  drain();
  printf("{\"program\":\"redisload\",\"keys\":%" PRIu64 ",\"gets\":%" PRIu64 ",\"sets\":%" PRIu64 ",\"wrong\":%" PRIu64
         "}\n",
         keys, gets, sets, wrong);
  fputs("SHUTDOWN NOSAVE\r\n", out);
  fflush(out);
  return wrong ? 1 : 0;
}
