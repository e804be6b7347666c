// SPDX-License-Identifier: Apache-2.0
// Host side of the register bus: one AXI4-Lite transaction at a time.
#pragma once

#include "bus/axi_signals.hpp"

#include <random>

namespace hwswap {

/// Runs a transaction over as many clock cycles as the engine needs; start one, then clock until !busy().
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

  /// A rising clock edge, at which this master drove signals() and the engine drove `in`.
  void clock(const AxilResponse &in);

  /// Give the transaction up, as after a reset.
  void reset();

  bool busy() const { return busy_; }

  /// The word read by the last transaction.
  uint64_t data() const { return data_; }

  /// Response code of the last transaction (2 bits).
  uint8_t response() const { return response_; }

private:
  bool stall();

  unsigned stall_percent_;
  std::minstd_rand random_;
  AxilRequest out_;
  bool reads_ = false;
  /// What a write still has to offer.
  bool late_address_ = false;
  bool late_data_ = false;
  bool busy_ = false;
  uint64_t data_ = 0;
  uint8_t response_ = axi_okay;
};

} // namespace hwswap
