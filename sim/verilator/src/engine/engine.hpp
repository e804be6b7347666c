// SPDX-License-Identifier: Apache-2.0
// The engine as the host sees it, whatever simulates it.
#pragma once

#include <cstdint>

namespace hwswap {

/// A simulated engine with its memory behind it. Time passes only inside these calls.
class Engine {
public:
  virtual ~Engine() = default;

  /// Hardware reset: everything back to its state after power-up, transfers under way forgotten.
  virtual void reset() = 0;

  /// Let one clock cycle pass.
  virtual void step() = 0;

  /// One transaction on the register bus, with the cycles it takes. `address` is a multiple of 8 below
  /// HWSWAP_BAR_SIZE. A read answered with an error gives all ones, as on PCI.
  virtual uint64_t read_register(uint32_t address) = 0;

  /// Bit i of `strobes` names byte i of `data`.
  virtual void write_register(uint32_t address, uint64_t data, uint8_t strobes = 0xff) = 0;

  /// The interrupt wire (level), as of the last cycle.
  virtual bool irq() const = 0;

  /// No command, request or transfer under way, and the last look for marks and grants found nothing; as of the last
  /// cycle.
  virtual bool idle() const = 0;

  /// How often a mark that was there before would be served by now, modulo 2^32; 0 without marks and grants.
  virtual uint32_t round() const = 0;

  /// Cycles since the simulation began; resets do not turn it back.
  virtual uint64_t cycles() const = 0;

  /// Beats moved by DMA, 8 bytes each, and bursts or beats answered with an error; since the simulation began.
  virtual uint64_t dma_read_beats() const = 0;
  virtual uint64_t dma_write_beats() const = 0;
  virtual uint64_t dma_errors() const = 0;

  /// Keep the memory from taking or answering anything, until it may again.
  virtual void hold_memory(bool hold) = 0;

  /// Whether irq() rose since the last call.
  virtual bool take_irq_rise() = 0;
};

} // namespace hwswap
