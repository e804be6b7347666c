// SPDX-License-Identifier: Apache-2.0
#include "axil_master.hpp"

namespace hwswap {

void AxilMaster::start_read(uint32_t address) {
  out_ = {};
  out_.araddr = address;
  out_.arvalid = true;
  out_.rready = true;
  busy_ = true;
}

void AxilMaster::start_write(uint32_t address, uint64_t data, uint8_t strobes) {
  out_ = {};
  out_.awaddr = address;
  out_.awvalid = true;
  out_.wdata = data;
  out_.wstrb = strobes;
  out_.wvalid = true;
  out_.bready = true;
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
  }
}

void AxilMaster::reset() {
  out_ = {};
  busy_ = false;
}

} // namespace hwswap
