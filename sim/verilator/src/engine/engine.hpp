// SPDX-License-Identifier: Apache-2.0
// The engine as the host sees it, whatever simulates it.
#pragma once

#include <cstdint>
#include <vector>

namespace hwswap {

/// A transaction on the register bus. Bit i of `strobes` names byte i of `data`; a read has neither.
struct RegisterAccess {
  bool write;
  uint32_t address;
  uint64_t data = 0;
  uint8_t strobes = 0xff;
};

/// A simulated engine with its memory. Time passes only inside these calls.
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

  /// Make several accesses, without waiting for answers where the bus can have more than one under way: reads come in
  /// their sequence, and so do writes, but a read and a write may come in either order. Returns each read's word.
  virtual std::vector<uint64_t> access_registers(const std::vector<RegisterAccess> &accesses) {
    std::vector<uint64_t> words;
    for (const RegisterAccess &access : accesses) {
      if (access.write)
        write_register(access.address, access.data, access.strobes);
      else
        words.push_back(read_register(access.address));
    }
    return words;
  }

  /// The interrupt wire (level), as of the last cycle.
  virtual bool irq() const = 0;

  /// No command, request or transfer under way, and the last pass over the rings found nothing to do; as of the last
  /// cycle.
  virtual bool idle() const = 0;

  /// Passes over the rings of grants, modulo 2^32; 0 without grants.
  virtual uint32_t passes() const = 0;

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
