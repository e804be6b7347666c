// SPDX-License-Identifier: Apache-2.0
// AXI4 slave in front of a BusMemory, with latency, back-pressure and a protocol check.
#pragma once

#include "bus/axi_signals.hpp"
#include "bus/bus_memory.hpp"

#include <deque>
#include <optional>
#include <random>
#include <vector>

namespace hwswap {

/// Timing of the modelled memory, in engine clock cycles.
struct AxiTiming {
  /// From the address handshake to the first beat read, and from the last beat written to its response; at least 1.
  unsigned latency = 16;
  /// Chance, in percent, that a ready or valid that could be given in a cycle is withheld; 0 to 90.
  unsigned stall_percent = 0;
  /// Seed of the withholding.
  uint64_t seed = 1;
  /// Answers of different identifiers overtake each other, and beats read for them are mixed, at random.
  bool reorder = false;
};

/// Serves the engine's bursts, reads and writes side by side: in order of their addresses, or, where asked to, in any
/// order that AXI4 allows, which is that of the addresses among bursts of one identifier.
///
/// Words are written when the response becomes visible and read when the beat becomes visible, each word by one
/// access of the BusMemory. Beats outside the memory are answered with SLVERR. A breach of the rules the engine was
/// built to (INCR bursts of 8-byte beats, at most 16, inside 4 KiB, signals steady until ready) throws EngineError.
class AxiMemory {
public:
  AxiMemory(BusMemory &memory, AxiTiming timing);

  /// The slave's signals for the coming clock cycle.
  const AxiResponse &signals() const { return out_; }

  /// A rising clock edge, at which the engine drove `in` and this slave drove signals().
  void clock(const AxiRequest &in);

  /// Take and answer nothing from here on, or again; visible answers stay.
  void hold(bool on) {
    held_ = on;
    if (on)
      out_.awready = out_.wready = out_.arready = false;
  }

  /// Forget all transfers.
  void reset();

  /// Whether a transfer is under way.
  bool busy() const { return !reads_.empty() || !writes_.empty() || !beats_.empty(); }

  uint64_t read_beats() const { return read_beats_; }
  uint64_t write_beats() const { return write_beats_; }
  /// Beats and write responses answered with SLVERR.
  uint64_t errors() const { return errors_; }

private:
  struct WriteBeat {
    uint64_t data;
    uint8_t strobes;
    bool last;
  };
  struct Burst {
    uint8_t id;
    uint64_t address;
    unsigned beats;
    /// Beats read, or written into the queue, so far.
    unsigned done = 0;
    /// First cycle in which the answer may be visible.
    uint64_t due = 0;
    /// The beats to write.
    std::vector<WriteBeat> data = {};
  };

  void check(const AxiRequest &in) const;
  void accept(const AxiRequest &in);
  void assign_beats();
  template <typename Ready> std::optional<size_t> choose(const std::deque<Burst> &bursts, Ready ready);
  void present_read();
  void present_write();
  bool stall();

  BusMemory &memory_;
  AxiTiming timing_;
  std::minstd_rand random_;
  uint64_t now_ = 0;
  /// First cycles in which the next beat may be read and written.
  uint64_t next_read_ = 0;
  uint64_t next_write_ = 0;
  AxiRequest last_;
  AxiResponse out_;
  std::deque<Burst> reads_;
  std::deque<Burst> writes_;
  /// The bursts that the visible beat and the visible answer belong to.
  size_t reading_ = 0, answering_ = 0;
  /// Data beats that have arrived and belong to no burst yet, in order.
  std::deque<WriteBeat> beats_;
  /// Data beats that have arrived and are not yet in memory.
  size_t waiting_beats_ = 0;
  bool held_ = false;
  /// Channels on which the engine was kept waiting in the last cycle: it must repeat itself.
  bool held_aw_ = false, held_w_ = false, held_ar_ = false;
  uint64_t read_beats_ = 0;
  uint64_t write_beats_ = 0;
  uint64_t errors_ = 0;
};

} // namespace hwswap
