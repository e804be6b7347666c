// SPDX-License-Identifier: Apache-2.0
#include "bus/axil_master.hpp"

#include "common/errors.hpp"

#include <utility>

namespace hwswap {

bool AxilMaster::stall() { return stall_percent_ && random_() % 100 < stall_percent_; }

void AxilMaster::start_read(uint32_t address) {
  read_addresses_.push_back(address);
  ++reads_asked_;
  offer();
}

void AxilMaster::start_write(uint32_t address, uint64_t data, uint8_t strobes) {
  write_addresses_.push_back(address);
  write_words_.push_back({data, strobes});
  ++writes_asked_;
  offer();
}

/// An offer stays until it is taken. Each channel makes its offers by itself. An answer is taken in a cycle or not.
void AxilMaster::offer() {
  if (!out_.arvalid && !read_addresses_.empty() && !stall()) {
    out_.araddr = read_addresses_.front();
    out_.arvalid = true;
  }
  if (!out_.awvalid && !write_addresses_.empty() && !stall()) {
    out_.awaddr = write_addresses_.front();
    out_.awvalid = true;
  }
  if (!out_.wvalid && !write_words_.empty() && !stall()) {
    out_.wdata = write_words_.front().data;
    out_.wstrb = write_words_.front().strobes;
    out_.wvalid = true;
  }
  out_.rready = reads_asked_ > reads_.size() && !stall();
  out_.bready = writes_asked_ && !stall();
}

void AxilMaster::clock(const AxilResponse &in) {
  if (in.rvalid && !reads_owed_)
    throw EngineError("AXI4-Lite: the engine answers a read that it has not taken");
  if (in.bvalid && !(write_addresses_owed_ && write_words_owed_))
    throw EngineError("AXI4-Lite: the engine answers a write that it has not taken");
  if (out_.rready && in.rvalid) {
    reads_.push_back({in.rdata, in.rresp});
    --reads_owed_;
  }
  if (out_.bready && in.bvalid) {
    --writes_asked_;
    --write_addresses_owed_;
    --write_words_owed_;
  }
  if (out_.arvalid && in.arready) {
    out_.arvalid = false;
    read_addresses_.pop_front();
    ++reads_owed_;
  }
  if (out_.awvalid && in.awready) {
    out_.awvalid = false;
    write_addresses_.pop_front();
    ++write_addresses_owed_;
  }
  if (out_.wvalid && in.wready) {
    out_.wvalid = false;
    write_words_.pop_front();
    ++write_words_owed_;
  }
  offer();
}

std::deque<AxilMaster::Answer> AxilMaster::take_answers() {
  reads_asked_ -= reads_.size();
  return std::exchange(reads_, {});
}

void AxilMaster::reset() {
  out_ = {};
  read_addresses_.clear();
  write_addresses_.clear();
  write_words_.clear();
  reads_.clear();
  reads_asked_ = writes_asked_ = reads_owed_ = write_addresses_owed_ = write_words_owed_ = 0;
}

} // namespace hwswap
