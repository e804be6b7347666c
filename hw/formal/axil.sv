// SPDX-License-Identifier: Apache-2.0
// The engine's AXI4-Lite slave against the rules of AXI4-Lite, with any master that keeps them before it and any
// registers after it.
//
// Assumed: the master keeps an offer until it is taken.
//
// For all cycles:
//   hold      an answer that was offered stays until it is taken
//   reset     nothing is offered in the first cycle after reset
//   answer    a write is answered once, and not before both its address and its data came; so is a read
//   access    a register is written once for each write
//   own       none of the module's own assertions fails
module axil_proof (
    input logic clock,
    input logic awvalid,
    input logic [16:0] awaddr,
    input logic wvalid,
    input logic [63:0] wdata,
    input logic [7:0] wstrb,
    input logic bready,
    input logic arvalid,
    input logic [16:0] araddr,
    input logic rready,
    input logic [63:0] read_data
);
  logic running = 1'b0;
  logic ran = 1'b0;
  always_ff @(posedge clock) begin
    running <= 1'b1;
    ran <= running;
  end

  logic awready, wready, bvalid, arready, rvalid, write_valid, read_valid;
  logic [1:0] bresp, rresp;
  logic [63:0] rdata;
  AxiLiteSlave dut (
      .clock,
      .reset(!running),
      .io_axil_aw_bits(awaddr),
      .io_axil_aw_valid(awvalid),
      .io_axil_aw_ready(awready),
      .io_axil_w_bits_data(wdata),
      .io_axil_w_bits_strb(wstrb),
      .io_axil_w_valid(wvalid),
      .io_axil_w_ready(wready),
      .io_axil_b_valid(bvalid),
      .io_axil_b_ready(bready),
      .io_axil_ar_bits(araddr),
      .io_axil_ar_valid(arvalid),
      .io_axil_ar_ready(arready),
      .io_axil_r_bits_data(rdata),
      .io_axil_r_valid(rvalid),
      .io_axil_r_ready(rready),
      .io_regs_write_valid(write_valid),
      .io_regs_read_valid(read_valid),
      .io_regs_readData(read_data)
  );

  logic aw_held = 1'b0, w_held = 1'b0, ar_held = 1'b0, b_held = 1'b0, r_held = 1'b0;
  logic [16:0] aw_was, ar_was;
  logic [71:0] w_was;
  logic [63:0] r_was;
  logic [2:0] addresses = '0, data = '0, reads = '0, written = '0;
  always_ff @(posedge clock) begin
    aw_held <= running && awvalid && !awready;
    w_held <= running && wvalid && !wready;
    ar_held <= running && arvalid && !arready;
    b_held <= running && bvalid && !bready;
    r_held <= running && rvalid && !rready;
    aw_was <= awaddr;
    ar_was <= araddr;
    w_was <= {wdata, wstrb};
    r_was <= rdata;
    if (running) begin
      addresses <= addresses + 3'(awvalid && awready) - 3'(bvalid && bready);
      data <= data + 3'(wvalid && wready) - 3'(bvalid && bready);
      reads <= reads + 3'(arvalid && arready) - 3'(rvalid && rready);
      written <= written + 3'(write_valid) - 3'(bvalid && bready);
    end
  end

  always_comb begin
    assume (!aw_held || (awvalid && aw_was == awaddr));
    assume (!w_held || (wvalid && w_was == {wdata, wstrb}));
    assume (!ar_held || (arvalid && ar_was == araddr));
    assume (running || !(awvalid || wvalid || arvalid));
  end

  always_ff @(posedge clock)
    if (running) begin
      hold_b : assert (!b_held || bvalid);
      hold_r : assert (!r_held || (rvalid && r_was == rdata));
      reset_quiet : assert (ran || !(bvalid || rvalid));
      answer_write : assert (!bvalid || (addresses != '0 && data != '0 && written != '0));
      answer_read : assert (!rvalid || reads != '0);
      access_write : assert (!write_valid || (written == '0 && addresses != '0 && data != '0));
    end
endmodule
