// SPDX-License-Identifier: Apache-2.0
// The core with one small device: no slot is given twice, and slots freed were given.
//
// The device is prepared and switched on by the fixed requests below; then any allocations and frees come, of any
// order, range and number, as fast as the core takes them, and its answers are taken whenever the host likes. `held`
// are the slots that the host was given and has not freed. Proved:
//   twice     slots that are given were not held, are in the device, and are not the header's
//   shape     a run given begins at a multiple of its size
//   freed     slots whose free is answered with OK were all held
//   refused   a free whose slots are all held is answered with OK
//   own       the assertions in the core's own modules
module core_proof #(
    parameter int SLOTS = 8,
    parameter int CLUSTERS = 2,
    parameter int PAGES = 14,
    parameter bit STEADY = 0
) (
    input logic clock,
    input logic want,
    input logic want_free,
    input logic [$clog2($clog2(SLOTS) + 1)-1:0] order,
    input logic [$clog2(SLOTS*CLUSTERS)-1:0] offset,
    input logic [$clog2(SLOTS):0] nr,
    input logic accept
);
  localparam int Bits = $clog2(SLOTS * CLUSTERS);
  localparam int Orders = $clog2(SLOTS) + 1;
  localparam logic [6:0] Ok = 0;

  logic running = 1'b0;
  always_ff @(posedge clock) running <= 1'b1;

  // SWAPON_PREPARE, SWAPON, and then any requests of the host.
  logic [1:0] setup = 0;
  wire free_to_ask = setup == 2'd2;
  logic ready, resp_valid, fault;
  logic [6:0] status;
  logic [31:0] resp_offset;
  wire ask = running && (!free_to_ask || want);
  wire [$bits(core_op::Alloc)-1:0] op =
      setup == 0 ? core_op::Prepare : setup == 1 ? core_op::Swapon : want_free ? core_op::Free : core_op::Alloc;
  wire take = !free_to_ask || accept;
  wire sent = ask && ready;
  wire answered = resp_valid && take && running;
  Core dut (
      .clock,
      .reset(!running),
      .io_req_ready(ready),
      .io_req_valid(ask),
      .io_req_bits_op(op),
      .io_req_bits_cpu('0),
      .io_req_bits_order(4'(order)),
      .io_req_bits_device('0),
      .io_req_bits_offset(32'(offset)),
      .io_req_bits_nr(10'(nr)),
      .io_req_bits_pages(32'(PAGES)),
      .io_req_bits_base('0),
      .io_req_bits_flags(4'b0011),
      .io_req_bits_priority('0),
      .io_req_bits_node('0),
      .io_req_bits_cluster('0),
      .io_resp_ready(take),
      .io_resp_valid(resp_valid),
      .io_resp_bits_status(status),
      .io_resp_bits_offset(resp_offset),
      .io_dumped_bitmap_index('0),
      .io_policy_scan('0),
      .io_policy_device('0),
      .io_policy_hint('0),
      .io_policy_placement('0),
      .io_policy_seed('0),
      .io_policy_reseed(1'b0),
      .io_nodes_0('0),
      .io_clear(1'b0),
      .io_fault(fault)
  );

  // Requests that are not answered yet, in order.
  typedef struct packed {
    logic is_free;
    logic [$bits(order)-1:0] order;
    logic [Bits-1:0] offset;
    logic [$bits(nr)-1:0] nr;
  } ask_t;
  localparam int Depth = 8;
  ask_t asked[Depth];
  logic [3:0] first = 0;
  logic [3:0] next = 0;
  wire ask_t now = '{is_free: want_free, order: order, offset: offset, nr: nr};
  wire ask_t mine = asked[first[2:0]];
  always_ff @(posedge clock) begin
    if (sent && free_to_ask) begin
      asked[next[2:0]] <= now;
      next <= next + 1;
    end
    if (answered && free_to_ask) first <= first + 1;
    if (answered && !free_to_ask) setup <= setup + 1;
  end
  always_ff @(posedge clock) begin
    assume (!STEADY || (want && accept));
    assume (32'(order) < Orders);
    // A free of no slots, or of none there are, is refused for its form; this proof does not cover that.
    assume (!want_free || (nr != 0 && offset != 0 && 32'(offset % SLOTS) + 32'(nr) <= SLOTS &&
            32'(offset) + 32'(nr) <= PAGES));
  end

  wire [Bits:0] size = {{Bits{1'b0}}, 1'b1} << mine.order;
  wire answer = answered && free_to_ask;
  wire good = answer && status == Ok;

  // The slots the host holds, and those this answer is about.
  logic [(1<<Bits)-1:0] held = '0;
  logic [(1<<Bits)-1:0] touched;
  always_comb
    for (int s = 0; s < (1 << Bits); s++)
      touched[s] = mine.is_free ? s >= 32'(mine.offset) && s < 32'(mine.offset) + 32'(mine.nr)
          : s >= resp_offset && s < resp_offset + 32'(size);
  always_ff @(posedge clock) if (good) held <= mine.is_free ? held & ~touched : held | touched;

  always_ff @(posedge clock) begin
    if (good && !mine.is_free) begin
      shape : assert (resp_offset % 32'(size) == 0);
      twice_inside : assert (resp_offset != 0 && resp_offset + 32'(size) <= PAGES);
      twice : assert ((touched & held) == '0);
    end
    if (good && mine.is_free) freed : assert ((touched & ~held) == '0);
    if (answer && mine.is_free && (touched & ~held) == '0) refused : assert (status == Ok);
    if (running) fault_never : assert (!fault);
  end
endmodule
