// SPDX-License-Identifier: Apache-2.0
/* The console, and the forms of lines that readers look for. */
#include "platform.h"

static void put(char c) {
  while (uart_txfull_read())
    ;
  uart_rxtx_write((unsigned char)c);
}

void print(const char *text) {
  while (*text)
    put(*text++);
}

void print_number(uint64_t number) {
  char digits[21];
  char *first = &digits[sizeof(digits) - 1];

  *first = 0;
  do {
    *--first = (char)('0' + number % 10);
    number /= 10;
  } while (number);
  print(first);
}

void print_hex(uint64_t number) {
  for (int shift = 60; shift >= 0; shift -= 4)
    put("0123456789abcdef"[number >> shift & 15]);
}

void print_end(void) {
  put('\r');
  put('\n');
}

static bool json_more;

static void json_name(const char *name) {
  print(json_more ? ", \"" : "\"");
  print(name);
  print("\": ");
  json_more = true;
}

void json_begin(void) {
  print("HWSWAP-JSON {");
  json_more = false;
}

void json_text(const char *name, const char *value) {
  json_name(name);
  put('"');
  print(value);
  put('"');
}

void json_number(const char *name, uint64_t value) {
  json_name(name);
  print_number(value);
}

void json_hex(const char *name, uint64_t value) {
  json_name(name);
  put('"');
  print_hex(value);
  put('"');
}

void json_end(void) {
  put('}');
  print_end();
}

void done(unsigned status) {
  print("HWSWAP-DONE ");
  print_number(status);
  print_end();
  for (;;)
    ;
}

void fail(const char *sentence) {
  print("error: ");
  print(sentence);
  print_end();
  done(1);
}

/* The CPU has met something it cannot do (start.S). */
_Noreturn void trapped(unsigned long cause, unsigned long address, unsigned long value) {
  print("error: trap, mcause 0x");
  print_hex(cause);
  print(", mepc 0x");
  print_hex(address);
  print(", mtval 0x");
  print_hex(value);
  print_end();
  done(2);
}
