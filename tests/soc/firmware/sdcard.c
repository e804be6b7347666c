// SPDX-License-Identifier: Apache-2.0
/*
 * The SD card from the CPU's side, in Linux's order: found on one data line, read and written on four, by DMA that the
 * CPU's cache has to agree with.
 */
#include "platform.h"

#define SECTOR 512u
#define SECTORS 8u
#define ADDRESS 0x12340000u
#define GUARD 0xa5a5a5a5a5a5a5a5ull

enum { NONE, SHORT, LONG, BUSY };
enum { READ = 1, WRITE };

static uint64_t buffer[SECTORS * SECTOR / 8 + 16] __attribute__((aligned(64)));

static void command(unsigned number, uint32_t argument, unsigned response, unsigned data) {
  uint32_t event;

  sdcard_core_cmd_argument_write(argument);
  sdcard_core_cmd_command_write(number << 8 | data << 5 | response);
  sdcard_core_cmd_send_write(1);
  do
    event = sdcard_core_cmd_event_read();
  while (!(event & 1));
  do
    event |= sdcard_core_data_event_read() << 8;
  while (!(event & 0x100));
  if (event != 0x101) {
    json_begin();
    json_number("command", number);
    json_hex("event", event);
    json_end();
    fail("the card or its controller reports an error");
  }
}

static void receive(void *to, unsigned length, unsigned count) {
  sdcard_block2mem_dma_enable_write(0);
  sdcard_block2mem_dma_base_write((uintptr_t)to);
  sdcard_block2mem_dma_length_write(length * count);
  sdcard_block2mem_dma_enable_write(1);
  sdcard_core_block_length_write(length);
  sdcard_core_block_count_write(count);
}

static void received(void) {
  while (!sdcard_block2mem_dma_done_read())
    ;
  __asm__ volatile("fence" ::: "memory");
}

static void find(void) {
  sdcard_phy_settings_write(0);
  sdcard_phy_clocker_divider_write(4);
  sdcard_phy_init_initialize_write(1);
  for (uint32_t start = cycles_now(); cycles_now() - start < 1000;)
    ;
  command(0, 0, NONE, 0);
  command(8, 0x1aa, SHORT, 0);
  for (unsigned tries = 0; tries < 4; tries++) {
    command(55, 0, SHORT, 0);
    command(41, 0x40ff8000, SHORT, 0);
    if (csr_read_simple(CSR_SDCARD_CORE_CMD_RESPONSE_ADDR + 12) >> 31)
      break;
  }
  command(2, 0, LONG, 0);
  command(3, 0, SHORT, 0);
  command(7, ADDRESS, BUSY, 0);
}

int main(void) {
  volatile uint64_t *const words = buffer;
  uint64_t sum = 0;

  for (unsigned i = 0; i < sizeof(buffer) / 8; i++)
    words[i] = GUARD;
  find();
  command(55, ADDRESS, SHORT, 0);
  /* Eight bytes inside of a cache line that the CPU holds. */
  receive(&buffer[3], 8, 1);
  command(51, 0, SHORT, READ);
  received();
  json_begin();
  json_hex("before", words[2]);
  json_hex("scr", words[3]);
  json_hex("after", words[4]);
  json_end();
  if (words[2] != GUARD || words[4] != GUARD)
    fail("what lies beside the eight bytes that were read is not as it was");
  if (words[3] != 0x0000000002800502ull)
    fail("what the card says of itself does not arrive");
  command(55, ADDRESS, SHORT, 0);
  command(6, 2, SHORT, 0);
  sdcard_phy_settings_write(1);
  for (unsigned i = 0; i < SECTORS * SECTOR / 8; i++)
    words[i] = i * 0x9e3779b97f4a7c15ull;
  sdcard_mem2block_dma_enable_write(0);
  sdcard_mem2block_dma_base_write((uintptr_t)buffer);
  sdcard_mem2block_dma_length_write(SECTORS * SECTOR);
  sdcard_mem2block_dma_enable_write(1);
  sdcard_core_block_length_write(SECTOR);
  sdcard_core_block_count_write(SECTORS);
  command(23, SECTORS, SHORT, 0);
  command(25, 16, SHORT, WRITE);
  for (unsigned i = 0; i < SECTORS * SECTOR / 8; i++)
    words[i] = ~0ull;
  receive(buffer, SECTOR, SECTORS);
  command(23, SECTORS, SHORT, 0);
  command(18, 16, SHORT, READ);
  received();
  for (unsigned i = 0; i < SECTORS * SECTOR / 8; i++)
    sum += words[i] != i * 0x9e3779b97f4a7c15ull;
  json_begin();
  json_number("wrong", sum);
  json_end();
  if (sum)
    fail("what was written to the card is not what is read from it");
  done(0);
}
