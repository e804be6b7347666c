// SPDX-License-Identifier: Apache-2.0
// The gate at the engine's AXI4 master against the rules of AXI4, with any masters and any memory that keep these
// rules, any window that stays, with any permissions, and stops and resets of the masters at any time.
//
// Assumed: both sides keep an offer until it is taken; masters' bursts have at most 16 beats of whole words, also
// across 4 KiB; their data come in the order of the addresses, with wlast at each end; memory answers each request, a
// write not before it has all data.
//
// For all cycles of the bound:
//   hold      an address or data that were offered on the bus stay until they are taken
//   reset     nothing is offered in the first cycle after reset
//   window    a burst on the bus lies in a window that permits it, has at most 16 beats and does not cross 4 KiB
//   stop      no burst is begun after a stop: no identifier is set here that ends something begun before
//   data      data on the bus belong to a burst that was offered, with wlast at its end and nowhere else
//   answer    masters get answers to their own requests alone, and no other's after a reset
//   fence     between a reset of the masters and the last answer that was owed then, no burst is begun
//   own       none of the module's own assertions fails
module gate_proof (
    input logic clock,
    input logic abandon,
    input logic stop,
    input logic [51:0] any_start,
    input logic [51:0] any_limit,
    input logic [3:0] any_reads,
    input logic [3:0] any_writes,
    input logic inner_awvalid,
    input logic [3:0] inner_awid,
    input logic [63:0] inner_awaddr,
    input logic [7:0] inner_awlen,
    input logic inner_wvalid,
    input logic [63:0] inner_wdata,
    input logic [7:0] inner_wstrb,
    input logic inner_wlast,
    input logic inner_bready,
    input logic inner_arvalid,
    input logic [3:0] inner_arid,
    input logic [63:0] inner_araddr,
    input logic [7:0] inner_arlen,
    input logic inner_rready,
    input logic awready,
    input logic wready,
    input logic [3:0] bid,
    input logic [1:0] bresp,
    input logic bvalid,
    input logic arready,
    input logic [3:0] rid,
    input logic [63:0] rdata,
    input logic [1:0] rresp,
    input logic rlast,
    input logic rvalid
);
  logic running = 1'b0;
  logic ran = 1'b0;
  always_ff @(posedge clock) begin
    running <= 1'b1;
    ran <= running;
  end

  // Any windows, which stay. All begin and end at the same places, so that only their permissions tell them apart: that
  // leaves a quarter of the comparisons.
  logic [51:0] start, limit;
  logic [3:0] reads, writes;
  always_ff @(posedge clock)
    if (!running) begin
      start <= any_start;
      limit <= any_limit;
      reads <= any_reads;
      writes <= any_writes;
    end

  logic inner_awready, inner_wready, inner_bvalid, inner_arready, inner_rvalid, inner_rlast;
  logic [1:0] inner_bresp, inner_rresp;
  logic awvalid, wvalid, wlast, bready, arvalid, rready, owed;
  logic [63:0] awaddr, wdata, araddr;
  logic [7:0] awlen, wstrb, arlen;
  logic [3:0] awid, arid;

  AxiGate dut (
      .clock,
      .reset(!running),
      .io_inner_aw_bits_id(inner_awid),
      .io_inner_aw_bits_addr(inner_awaddr),
      .io_inner_aw_bits_len(inner_awlen),
      .io_inner_aw_valid(inner_awvalid),
      .io_inner_aw_ready(inner_awready),
      .io_inner_w_bits_data(inner_wdata),
      .io_inner_w_bits_strb(inner_wstrb),
      .io_inner_w_bits_last(inner_wlast),
      .io_inner_w_valid(inner_wvalid),
      .io_inner_w_ready(inner_wready),
      .io_inner_b_bits_resp(inner_bresp),
      .io_inner_b_valid(inner_bvalid),
      .io_inner_b_ready(inner_bready),
      .io_inner_ar_bits_id(inner_arid),
      .io_inner_ar_bits_addr(inner_araddr),
      .io_inner_ar_bits_len(inner_arlen),
      .io_inner_ar_valid(inner_arvalid),
      .io_inner_ar_ready(inner_arready),
      .io_inner_r_bits_resp(inner_rresp),
      .io_inner_r_bits_last(inner_rlast),
      .io_inner_r_valid(inner_rvalid),
      .io_inner_r_ready(inner_rready),
      .io_axi_aw_bits_id(awid),
      .io_axi_aw_bits_addr(awaddr),
      .io_axi_aw_bits_len(awlen),
      .io_axi_aw_valid(awvalid),
      .io_axi_aw_ready(awready),
      .io_axi_w_bits_data(wdata),
      .io_axi_w_bits_strb(wstrb),
      .io_axi_w_bits_last(wlast),
      .io_axi_w_valid(wvalid),
      .io_axi_w_ready(wready),
      .io_axi_b_bits_id(bid),
      .io_axi_b_bits_resp(bresp),
      .io_axi_b_valid(bvalid),
      .io_axi_b_ready(bready),
      .io_axi_ar_bits_id(arid),
      .io_axi_ar_bits_addr(araddr),
      .io_axi_ar_bits_len(arlen),
      .io_axi_ar_valid(arvalid),
      .io_axi_ar_ready(arready),
      .io_axi_r_bits_id(rid),
      .io_axi_r_bits_data(rdata),
      .io_axi_r_bits_resp(rresp),
      .io_axi_r_bits_last(rlast),
      .io_axi_r_valid(rvalid),
      .io_axi_r_ready(rready),
      .io_windows_0_start(start),
      .io_windows_0_limit(limit),
      .io_windows_0_read(reads[0]),
      .io_windows_0_write(writes[0]),
      .io_windows_1_start(start),
      .io_windows_1_limit(limit),
      .io_windows_1_read(reads[1]),
      .io_windows_1_write(writes[1]),
      .io_windows_2_start(start),
      .io_windows_2_limit(limit),
      .io_windows_2_read(reads[2]),
      .io_windows_2_write(writes[2]),
      .io_windows_3_start(start),
      .io_windows_3_limit(limit),
      .io_windows_3_read(reads[3]),
      .io_windows_3_write(writes[3]),
      .io_stop(stop),
      .io_abandon(abandon),
      .io_owed(owed)
  );

  // The signals one cycle before.
  logic aw_held = 1'b0, w_held = 1'b0, ar_held = 1'b0, b_held = 1'b0, r_held = 1'b0;
  logic iaw_held = 1'b0, iw_held = 1'b0, iar_held = 1'b0, was_abandon = 1'b0;
  logic [75:0] aw_was, ar_was, iaw_was, iar_was;
  logic [72:0] w_was, iw_was;
  logic [5:0] b_was;
  logic [70:0] r_was;
  wire [75:0] aw_now = {awid, awaddr, awlen};
  wire [75:0] ar_now = {arid, araddr, arlen};
  wire [72:0] w_now = {wdata, wstrb, wlast};
  wire [75:0] iaw_now = {inner_awid, inner_awaddr, inner_awlen};
  wire [75:0] iar_now = {inner_arid, inner_araddr, inner_arlen};
  wire [72:0] iw_now = {inner_wdata, inner_wstrb, inner_wlast};
  wire [5:0] b_now = {bid, bresp};
  wire [70:0] r_now = {rid, rdata, rresp, rlast};
  always_ff @(posedge clock) begin
    aw_held <= running && awvalid && !awready;
    w_held <= running && wvalid && !wready;
    ar_held <= running && arvalid && !arready;
    b_held <= running && bvalid && !bready;
    r_held <= running && rvalid && !rready;
    iaw_held <= running && inner_awvalid && !inner_awready && !abandon;
    iw_held <= running && inner_wvalid && !inner_wready && !abandon;
    iar_held <= running && inner_arvalid && !inner_arready && !abandon;
    aw_was <= aw_now;
    w_was <= w_now;
    ar_was <= ar_now;
    b_was <= b_now;
    r_was <= r_now;
    iaw_was <= iaw_now;
    iw_was <= iw_now;
    iar_was <= iar_now;
    was_abandon <= abandon;
  end

  // Masters: bursts whose data are still to come, the oldest first, and beats of it that were given.
  logic [3:0] inner_lengths[8];
  logic [3:0] inner_count = '0, inner_beat = '0;
  wire inner_aw = inner_awvalid && inner_awready;
  wire inner_w = inner_wvalid && inner_wready;
  wire inner_end = inner_w && inner_lengths[0] == inner_beat;
  logic [6:0] inner_reads = '0, inner_writes = '0;
  always_ff @(posedge clock) begin
    if (inner_end) for (int i = 0; i < 7; i++) inner_lengths[i] <= inner_lengths[i+1];
    if (inner_aw) inner_lengths[3'(inner_count-4'(inner_end))] <= inner_awlen[3:0];
    inner_count <= inner_count + 4'(inner_aw) - 4'(inner_end);
    if (inner_w) inner_beat <= inner_end ? '0 : inner_beat + 4'd1;
    inner_reads <= inner_reads + 7'(inner_arvalid && inner_arready) - 7'(inner_rvalid && inner_rready && inner_rlast);
    inner_writes <= inner_writes + 7'(inner_aw) - 7'(inner_bvalid && inner_bready);
    if (abandon || !running) begin
      inner_count <= '0;
      inner_beat <= '0;
      inner_reads <= '0;
      inner_writes <= '0;
    end
  end

  // The bus: the same of bursts that were offered, and requests that memory has still to answer.
  logic [3:0] lengths[8];
  logic [3:0] count = '0, beat = '0;
  wire offers = awvalid && !aw_held;
  wire takes = wvalid && wready;
  wire [3:0] length = count == '0 ? awlen[3:0] : lengths[0];
  wire ends = takes && length == beat;
  logic [6:0] taken_reads = '0, taken_writes = '0, full_writes = '0;
  always_ff @(posedge clock) begin
    if (ends) for (int i = 0; i < 7; i++) lengths[i] <= lengths[i+1];
    if (offers) lengths[3'(count-4'(ends))] <= awlen[3:0];
    count <= count + 4'(offers) - 4'(ends);
    if (takes) beat <= ends ? '0 : beat + 4'd1;
    taken_reads <= taken_reads + 7'(arvalid && arready) - 7'(rvalid && rready && rlast);
    taken_writes <= taken_writes + 7'(awvalid && awready) - 7'(bvalid && bready);
    full_writes <= full_writes + 7'(ends) - 7'(bvalid && bready);
    if (!running) begin
      count <= '0;
      beat <= '0;
      taken_reads <= '0;
      taken_writes <= '0;
      full_writes <= '0;
    end
  end

  // A burst that was offered before the masters' reset is not answered yet.
  logic fenced = 1'b0;
  wire under_way = aw_held || ar_held || taken_reads != '0 || taken_writes != '0 || count != '0;
  always_ff @(posedge clock) fenced <= running && (abandon || (fenced && under_way));

  function automatic logic fits(input logic [63:0] addr, input logic [7:0] len);
    fits = len <= 8'd15 && {1'b0, addr[11:3]} + 10'(len) < 10'd512 && addr[2:0] == '0;
  endfunction

  // A burst is decided about in the cycle before it is offered.
  logic stopped = 1'b0;
  always_ff @(posedge clock) stopped <= running && stop;

  always_comb begin
    assume (running || !abandon);
    assume (!iaw_held || (inner_awvalid && iaw_was == iaw_now));
    assume (!iw_held || (inner_wvalid && iw_was == iw_now));
    assume (!iar_held || (inner_arvalid && iar_was == iar_now));
    assume (!was_abandon || !(inner_awvalid || inner_wvalid || inner_arvalid));
    assume (running || !(inner_awvalid || inner_wvalid || inner_arvalid));
    assume (!inner_awvalid || (inner_awlen <= 8'd15 && inner_awaddr[2:0] == '0));
    assume (!inner_arvalid || (inner_arlen <= 8'd15 && inner_araddr[2:0] == '0));
    assume (!inner_awvalid || inner_count < 4'd7);
    assume (!inner_wvalid || (inner_count != '0 && inner_wlast == (inner_beat == inner_lengths[0])));
    assume (!b_held || (bvalid && b_was == b_now));
    assume (!r_held || (rvalid && r_was == r_now));
    assume (!rvalid || (running && taken_reads != '0));
    assume (!bvalid || (running && taken_writes != '0 && full_writes != '0));
  end

  wire reads_here = reads != '0 && araddr[63:12] >= start && araddr[63:12] < limit;
  wire writes_here = writes != '0 && awaddr[63:12] >= start && awaddr[63:12] < limit;

  always_ff @(posedge clock)
    if (running) begin
      hold_aw : assert (!aw_held || (awvalid && aw_was == aw_now));
      hold_ar : assert (!ar_held || (arvalid && ar_was == ar_now));
      hold_w : assert (!w_held || (wvalid && w_was == w_now));
      reset_quiet : assert (ran || !(awvalid || arvalid || wvalid));
      window_read : assert (!arvalid || (reads_here && fits(araddr, arlen)));
      window_write : assert (!awvalid || (writes_here && fits(awaddr, awlen)));
      stop_read : assert (!stopped || !arvalid || ar_held);
      stop_write : assert (!stopped || !awvalid || aw_held);
      data_owned : assert (!wvalid || offers || count != '0);
      data_last : assert (!wvalid || wlast == (beat == length));
      answer_read : assert (!inner_rvalid || inner_reads != '0);
      answer_write : assert (!inner_bvalid || inner_writes != '0);
      fence_read : assert (!(fenced && under_way) || !arvalid || ar_held || was_abandon);
      fence_write : assert (!(fenced && under_way) || !awvalid || aw_held || was_abandon);
      fence_said : assert (!fenced || !under_way || was_abandon || owed);
    end
endmodule
