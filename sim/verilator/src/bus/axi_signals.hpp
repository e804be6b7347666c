// SPDX-License-Identifier: Apache-2.0
// The wires of the engine's two buses, as the engine (AXI4 master, AXI4-Lite slave) and the harness drive them.
#pragma once

#include <cstdint>

namespace hwswap {

/// Channel AW or AR.
struct AxiAddress {
  uint8_t id = 0;
  uint64_t address = 0;
  uint8_t len = 0;
  uint8_t size = 0;
  uint8_t burst = 0;
  bool valid = false;

  bool operator==(const AxiAddress &) const = default;
};

/// Driven by the engine's AXI4 master: 64 bits of data and address, 4 bits of id.
struct AxiRequest {
  AxiAddress aw, ar;
  uint64_t wdata = 0;
  uint8_t wstrb = 0;
  bool wlast = false;
  bool wvalid = false;
  bool bready = false;
  bool rready = false;
};

/// Driven by the memory.
struct AxiResponse {
  bool awready = false;
  bool wready = false;
  uint8_t bid = 0;
  uint8_t bresp = 0;
  bool bvalid = false;
  bool arready = false;
  uint8_t rid = 0;
  uint64_t rdata = 0;
  uint8_t rresp = 0;
  bool rlast = false;
  bool rvalid = false;
};

/// Driven by the host on the register bus: 17 bits of address, 64 of data.
struct AxilRequest {
  uint32_t awaddr = 0;
  bool awvalid = false;
  uint64_t wdata = 0;
  uint8_t wstrb = 0;
  bool wvalid = false;
  bool bready = false;
  uint32_t araddr = 0;
  bool arvalid = false;
  bool rready = false;
};

/// Driven by the engine's register slave.
struct AxilResponse {
  bool awready = false;
  bool wready = false;
  uint8_t bresp = 0;
  bool bvalid = false;
  bool arready = false;
  uint64_t rdata = 0;
  uint8_t rresp = 0;
  bool rvalid = false;
};

/// AXI response codes (2 bits).
constexpr uint8_t axi_okay = 0;
constexpr uint8_t axi_slverr = 2;

} // namespace hwswap
