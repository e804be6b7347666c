// SPDX-License-Identifier: Apache-2.0
// Host side of the register bus: one AXI4-Lite transaction at a time.
#pragma once

#include "axi_signals.hpp"

namespace hwswap {

/// Runs a transaction over as many clock cycles as the engine needs; start one, then clock until !busy().
class AxilMaster {
public:
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
  AxilRequest out_;
  bool busy_ = false;
  uint64_t data_ = 0;
  uint8_t response_ = axi_okay;
};

} // namespace hwswap
