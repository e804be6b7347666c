// SPDX-License-Identifier: Apache-2.0
// Host side of the register bus.
#pragma once

#include "bus/axi_signals.hpp"

#include <deque>
#include <random>

namespace hwswap {

/// Runs transactions over as many clock cycles as the engine needs; start some, then clock until !busy(). Reads are
/// offered one after the other, and so are writes, each as soon as the one before was taken: not when it was answered.
class AxilMaster {
public:
  /// With a chance of `stall_percent` a valid or ready that could be given in a cycle is withheld; `seed` draws.
  explicit AxilMaster(unsigned stall_percent = 0, uint64_t seed = 1)
      : stall_percent_(stall_percent), random_(static_cast<std::minstd_rand::result_type>(seed)) {}

  /// Signals for the coming clock cycle.
  const AxilRequest &signals() const { return out_; }

  /// `address` is a multiple of 8.
  void start_read(uint32_t address);

  /// Bit i of `strobes` names byte i of `data`.
  void start_write(uint32_t address, uint64_t data, uint8_t strobes);

  /// A rising clock edge, at which this master drove signals() and the engine drove `in`. An answer to nothing is an
  /// EngineError.
  void clock(const AxilResponse &in);

  /// Give all transactions up, as after a reset.
  void reset();

  bool busy() const { return reads_asked_ > reads_.size() || writes_asked_; }

  /// A read's word and its response code (2 bits).
  struct Answer {
    uint64_t data;
    uint8_t response;
  };

  /// Results of all reads since the last call, the first one first.
  std::deque<Answer> take_answers();

private:
  /// A write's address, or its data; both may be taken in any order.
  struct Word {
    uint64_t data;
    uint8_t strobes;
  };

  bool stall();
  void offer();

  unsigned stall_percent_;
  std::minstd_rand random_;
  AxilRequest out_;
  /// Not taken yet; the first of each is offered, or withheld.
  std::deque<uint32_t> read_addresses_, write_addresses_;
  std::deque<Word> write_words_;
  std::deque<Answer> reads_;
  /// Reads whose answers were not given away, and writes that are not answered.
  size_t reads_asked_ = 0, writes_asked_ = 0;
  /// Taken by the engine and not answered.
  size_t reads_owed_ = 0, write_addresses_owed_ = 0, write_words_owed_ = 0;
};

} // namespace hwswap
