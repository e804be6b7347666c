// SPDX-License-Identifier: Apache-2.0
// The free-run finder against what is wanted of it, for every row, place and order.
//
// Wanted is the first fit upwards: of all runs of 2^order free slots that begin at a multiple of 2^order, behind slot
// `behind` or anywhere, the first. It is put without a search: what is named is such a run (`fits`), no such run lies
// before it (`first`), and if there is one, one is named (`complete`). `other` stands for every slot of the row.
//
// The finder is seen through a thin adapter: it is asked in one cycle and answers LATENCY cycles later.
module finder_proof #(
    parameter int SLOTS = 64,
    parameter int LATENCY = 1
) (
    input logic clock,
    input logic [SLOTS-1:0] used,
    input logic [$clog2(SLOTS)-1:0] behind,
    input logic anywhere,
    input logic [$clog2($clog2(SLOTS) + 1)-1:0] order,
    input logic find,
    input logic [$clog2(SLOTS)-1:0] other
);
  localparam int Bits = $clog2(SLOTS);
  localparam int Orders = Bits + 1;

  // Reset in the first cycle, and in no other one.
  logic running = 1'b0;
  always_ff @(posedge clock) running <= 1'b1;

  logic found;
  logic [Bits-1:0] slot;
  FreeRunFinder dut (
      .clock,
      .reset(!running),
      .io_find(find),
      .io_used(used),
      .io_behind(behind),
      .io_anywhere(anywhere),
      .io_order(order),
      .io_found(found),
      .io_slot(slot)
  );

  // The question that is answered LATENCY cycles later.
  logic [LATENCY-1:0] asked = '0;
  logic [SLOTS-1:0] row;
  logic [Bits-1:0] last;
  logic whole;
  logic [$bits(order)-1:0] size;
  always_ff @(posedge clock) begin
    asked <= LATENCY'({asked, find && running});
    if (find) begin
      row   <= used;
      last  <= behind;
      whole <= anywhere;
      size  <= order;
    end
  end
  // One question at a time.
  always_ff @(posedge clock) if (LATENCY > 1 && |asked[LATENCY-2:0]) assume (!find);

  // A run of 2^size free slots that may begin at `at`.
  function automatic logic candidate(logic [Bits-1:0] at);
    logic [SLOTS-1:0] rest;
    logic [SLOTS-1:0] run;
    logic aligned;
    rest = row >> at;
    run = '0;
    aligned = 1'b0;
    for (int k = 0; k < Orders; k++) begin
      if (32'(size) == k) begin
        for (int i = 0; i < (1 << k); i++) run[i] = 1'b1;
        aligned = at % (1 << k) == 0;
      end
    end
    return aligned && (rest & run) == '0 && (whole || at > last);
  endfunction

  wire answered = asked[LATENCY-1];
  always_ff @(posedge clock) begin
    if (answered && found) fits : assert (candidate(slot));
    if (answered && found && candidate(other)) first : assert (slot <= other);
    if (answered && candidate(other)) complete : assert (found);
  end
endmodule
