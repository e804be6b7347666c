// SPDX-License-Identifier: Apache-2.0
// The free-run finder against its specification, for every row, place and order.
//
// Wanted is the first fit upwards: of all runs of 2^order free slots that begin at a multiple of 2^order, after slot
// `after` or anywhere, the first. It is put without a search: the place named is such a run (`sound`), no such run lies
// before it (`first`), and if there is one, one is named (`complete`). `other` stands for every slot of the row.
//
// The finder is seen through a thin adapter: it is asked in one cycle and answers LATENCY cycles later. It gets the row
// in words, with one bit per word that says whether a run of the order is in it, or, for an order that no word holds,
// whether it is empty. Where the finder may not look, its inputs are anything: slots of the word of `after` up to it,
// and the bits of that word and those before it (`noise`).
module finder_proof #(
    parameter int SLOTS = 64,
    parameter int WORDS = 4,
    parameter int LATENCY = 1
) (
    input logic clock,
    input logic [SLOTS-1:0] used,
    input logic [$clog2(SLOTS)-1:0] after,
    input logic anywhere,
    input logic [$clog2($clog2(SLOTS) + 1)-1:0] order,
    input logic find,
    input logic [SLOTS/WORDS-1:0] noise,
    input logic [WORDS-1:0] noise_fits,
    input logic [$clog2(SLOTS)-1:0] other
);
  localparam int Bits = $clog2(SLOTS);
  localparam int Orders = Bits + 1;
  localparam int Word = SLOTS / WORDS;
  localparam int WordOrders = $clog2(Word) + 1;

  // Reset in the first cycle, and in no other one.
  logic running = 1'b0;
  always_ff @(posedge clock) running <= 1'b1;

  // The adapter.
  localparam int WordBits = $clog2(Word);
  wire [$clog2(WORDS)-1:0] at_word = after[Bits-1:WordBits];
  wire [Word-1:0] up_to = ~({Word{1'b1}} << after[WordBits-1:0] << 1);
  logic [Word-1:0] row[WORDS];
  logic [WORDS-1:0] fits;
  always_comb begin
    for (int w = 0; w < WORDS; w++) begin
      row[w] = used[w*Word+:Word];
      fits[w] = row[w] == '0;
      for (int k = 0; k < WordOrders; k++)
        if (32'(order) == k) begin
          fits[w] = 1'b0;
          for (int i = 0; i < Word; i += 1 << k)
            if ((used[w*Word+:Word] & (((Word + 1)'(1) << (1 << k)) - 1) << i) == '0) fits[w] = 1'b1;
        end
      if (!anywhere && w <= 32'(at_word)) fits[w] = noise_fits[w];
    end
    if (!anywhere) row[at_word] = row[at_word] ^ (noise & up_to);
  end

  logic [WORDS-1:0] later;
  always_comb for (int w = 0; w < WORDS; w++) later[w] = anywhere || w > 32'(at_word);

  logic found, here;
  logic [Bits-1:0] slot;
  logic [WORDS-1:0] beyond;
  if (WORDS == 4) begin : narrow
    FreeRunFinder dut (
        .clock, .reset(!running), .io_find(find), .io_fits(fits), .io_after(after),
        .io_anywhere(anywhere), .io_order(order), .io_found(found), .io_slot(slot),
        .io_later(later), .io_here(here), .io_beyond(beyond),
        .io_row_0(row[0]), .io_row_1(row[1]), .io_row_2(row[2]), .io_row_3(row[3])
    );
  end else begin : full
    FreeRunFinder dut (
        .clock, .reset(!running), .io_find(find), .io_fits(fits), .io_after(after),
        .io_anywhere(anywhere), .io_order(order), .io_found(found), .io_slot(slot),
        .io_later(later), .io_here(here), .io_beyond(beyond),
        .io_row_0(row[0]), .io_row_1(row[1]), .io_row_2(row[2]), .io_row_3(row[3]),
        .io_row_4(row[4]), .io_row_5(row[5]), .io_row_6(row[6]), .io_row_7(row[7]),
        .io_row_8(row[8]), .io_row_9(row[9]), .io_row_10(row[10]), .io_row_11(row[11]),
        .io_row_12(row[12]), .io_row_13(row[13]), .io_row_14(row[14]), .io_row_15(row[15])
    );
  end

  // The question that is answered LATENCY cycles later.
  logic [LATENCY-1:0] asked = '0;
  logic [SLOTS-1:0] asked_row;
  logic [Bits-1:0] last;
  logic whole;
  logic [$bits(order)-1:0] size;
  always_ff @(posedge clock) begin
    asked <= LATENCY'({asked, find && running});
    if (find) begin
      asked_row <= used;
      last <= after;
      whole <= anywhere;
      size <= order;
    end
  end
  // One question at a time.
  always_ff @(posedge clock) if (LATENCY > 1 && |asked[LATENCY-2:0]) assume (!find);

  // A run of 2^size free slots that may begin at `at`.
  function automatic logic candidate(logic [Bits-1:0] at);
    logic [SLOTS-1:0] rest;
    logic [SLOTS-1:0] run;
    logic aligned;
    rest = asked_row >> at;
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
  wire [$clog2(WORDS)-1:0] other_word = other[Bits-1:WordBits];
  wire [Bits-1:0] last_slot = slot | Bits'((1 << size) - 1);
  wire [$clog2(WORDS)-1:0] last_word = last_slot[Bits-1:WordBits];
  always_ff @(posedge clock) begin
    if (answered && found) sound : assert (candidate(slot));
    if (answered && found && candidate(other)) first : assert (slot <= other);
    if (answered && candidate(other)) complete : assert (found);
    // The words after the run; `other` is a slot of any word.
    if (answered && found && !here) after_run : assert (beyond[other_word] == (other_word > last_word));
  end
endmodule
