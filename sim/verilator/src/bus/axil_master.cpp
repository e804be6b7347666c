// SPDX-License-Identifier: Apache-2.0
#include "bus/axil_master.hpp"

namespace hwswap {

bool AxilMaster::stall() { return stall_percent_ && random_() % 100 < stall_percent_; }

void AxilMaster::start_read(uint32_t address) {
  out_ = {};
  out_.araddr = address;
  out_.arvalid = true;
  out_.rready = !stall();
  reads_ = true;
  busy_ = true;
}

void AxilMaster::start_write(uint32_t address, uint64_t data, uint8_t strobes) {
  out_ = {};
  out_.awaddr = address;
  out_.wdata = data;
  out_.wstrb = strobes;
  // Address and data may come one after the other, either first.
  out_.awvalid = !stall();
  out_.wvalid = !stall();
  late_address_ = !out_.awvalid;
  late_data_ = !out_.wvalid;
  out_.bready = !stall();
  reads_ = false;
  busy_ = true;
}

void AxilMaster::clock(const AxilResponse &in) {
  if (!busy_)
    return;
  if (in.awready)
    out_.awvalid = false;
  if (in.wready)
    out_.wvalid = false;
  if (in.arready)
    out_.arvalid = false;
  if (out_.rready && in.rvalid) {
    data_ = in.rdata;
    response_ = in.rresp;
    reset();
  } else if (out_.bready && in.bvalid) {
    response_ = in.bresp;
    reset();
  } else {
    (reads_ ? out_.rready : out_.bready) = !stall();
    if (late_address_ && !stall()) {
      out_.awvalid = true;
      late_address_ = false;
    }
    if (late_data_ && !stall()) {
      out_.wvalid = true;
      late_data_ = false;
    }
  }
}

void AxilMaster::reset() {
  out_ = {};
  busy_ = late_address_ = late_data_ = false;
}

} // namespace hwswap
