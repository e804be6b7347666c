// SPDX-License-Identifier: Apache-2.0
// The available list against an order that is written down device by device: for each two devices on the list, which
// of those stands in front. A device comes, and goes after its equals, by its priority alone.
//
// Changes are two cycles apart, an added device is not on the list, a removed or requeued one is (the assumptions).
// Proved for all such uses, of any length:
//   members    the devices on the list
//   first      the first of the list
//   successor  the one after the cursor
//   order      (of the specification itself:) of two devices one stands in front, and not below the other's priority
//   change     the first cycle's notes of a change for the second
//   legal      of the specification alone: one change at a time, of a device that is on the list or not as it needs
//   own        none of the module's own assertions fails
//   places     the list as it is shown: each device on it once, in order, at the lowest places
module available_proof #(
    parameter int DEVICES = 4
) (
    input logic clock,
    input logic add,
    input logic remove,
    input logic requeue,
    input logic [$clog2(DEVICES)-1:0] device,
    input logic signed [15:0] priority_in,
    input logic [$clog2(DEVICES)-1:0] cursor
);
  localparam int Bits = $clog2(DEVICES);

  logic running = 1'b0;
  always_ff @(posedge clock) running <= 1'b1;

  logic first_valid, successor_valid;
  logic [Bits-1:0] first, successor;
  logic [DEVICES-1:0] members;
  logic place_valid[DEVICES];
  logic [Bits-1:0] place_device[DEVICES];
  logic signed [15:0] place_priority[DEVICES];
  AvailableList dut (
      .clock,
      .reset(!running),
      .io_add(add),
      .io_remove(remove),
      .io_requeue(requeue),
      .io_device(device),
      .io_priority(priority_in),
      .io_view_first_valid(first_valid),
      .io_view_first_bits(first),
      .io_cursor(cursor),
      .io_view_successor_valid(successor_valid),
      .io_view_successor_bits(successor),
      .io_view_members(members),
      .io_view_places_0_valid(place_valid[0]),
      .io_view_places_0_device(place_device[0]),
      .io_view_places_0_priority(place_priority[0]),
      .io_view_places_1_valid(place_valid[1]),
      .io_view_places_1_device(place_device[1]),
      .io_view_places_1_priority(place_priority[1]),
      .io_view_places_2_valid(place_valid[2]),
      .io_view_places_2_device(place_device[2]),
      .io_view_places_2_priority(place_priority[2]),
      .io_view_places_3_valid(place_valid[3]),
      .io_view_places_3_device(place_device[3]),
      .io_view_places_3_priority(place_priority[3])
  );

  // The order. A change that is asked for in one cycle is made in the next: then the order changes, too.
  logic [DEVICES-1:0] on = '0;
  logic signed [15:0] level[DEVICES];
  logic [DEVICES-1:0] ahead[DEVICES];
  logic adds = 1'b0;
  logic removes = 1'b0;
  logic requeues = 1'b0;
  logic [Bits-1:0] which;
  logic signed [15:0] wanted;
  wire changing = adds || removes || requeues;
  wire change = add || remove || requeue;
  wire signed [15:0] now = adds ? wanted : level[which];
  always_ff @(posedge clock) begin
    adds <= add;
    removes <= remove;
    requeues <= requeue;
    which <= device;
    wanted <= priority_in;
    if (removes) on[which] <= 1'b0;
    if (adds) begin
      on[which] <= 1'b1;
      level[which] <= wanted;
    end
    if (adds || requeues)
      for (int d = 0; d < DEVICES; d++) begin
        ahead[d][which] <= level[d] >= now;
        ahead[which][d] <= level[d] < now;
      end
  end

  always_ff @(posedge clock) begin
    assume (32'(add) + 32'(remove) + 32'(requeue) <= 1);
    assume (!change || (running && !changing));
    assume (!add || !on[device]);
    assume (!(remove || requeue) || on[device]);
  end

  // Device d is the first one of `among`.
  function automatic logic leads(int d, logic [DEVICES-1:0] among);
    logic result;
    result = among[d];
    for (int e = 0; e < DEVICES; e++) if (e != d && among[e] && ahead[e][d]) result = 1'b0;
    return result;
  endfunction

  logic [DEVICES-1:0] after_cursor;
  always_comb
    for (int d = 0; d < DEVICES; d++) after_cursor[d] = on[d] && 32'(cursor) != d && ahead[cursor][d];
  wire settled = running;
  always_ff @(posedge clock)
    if (settled) begin
      // The first cycle's notes of a change for the second.
      if (changing) begin
        change_device : assert (dut.added_device_REG == which);
        change_priority : assert (removes || dut.added_priority_REG == now);
        legal_change : assert (on[which] != adds);
      end
      change_kind : assert ({dut.adding, dut.removing, dut.requeueing} == {adds, removes, requeues});
      legal_one : assert (32'(adds) + 32'(removes) + 32'(requeues) <= 1);
      members_are_right : assert (members == on);
      first_exists : assert (first_valid == |on);
      first_leads : assert (!first_valid || leads(32'(first), on));
      if (on[cursor]) begin
        successor_exists : assert (successor_valid == |after_cursor);
        successor_leads : assert (!successor_valid || leads(32'(successor), after_cursor));
      end
    end
  wire [DEVICES-1:0] here = {dut.here_3, dut.here_2, dut.here_1, dut.here_0};
  for (genvar d = 0; d < DEVICES; d++) begin : one
    for (genvar e = 0; e < DEVICES; e++) begin : other
      always_ff @(posedge clock)
        if (settled && on[d] && on[e] && d != e) begin
          order_strict : assert (ahead[d][e] != ahead[e][d]);
          order_by_level : assert (!ahead[d][e] || level[d] >= level[e]);
        end
    end
  end
  for (genvar i = 0; i < DEVICES; i++) begin : place
    always_ff @(posedge clock)
      if (settled && changing)
        change_place : assert (here[i] == (place_valid[i] && place_device[i] == which));
    always_ff @(posedge clock)
      if (settled) begin
        places_filled : assert (place_valid[i] == ($countones(on) > i));
        places_on : assert (!place_valid[i] || on[place_device[i]]);
        places_priority : assert (!place_valid[i] || place_priority[i] == level[place_device[i]]);
      end
    for (genvar j = i + 1; j < DEVICES; j++) begin : later_place
      always_ff @(posedge clock)
        if (settled && place_valid[i] && place_valid[j]) begin
          places_in_order : assert (ahead[place_device[i]][place_device[j]]);
          places_differ : assert (place_device[i] != place_device[j]);
        end
    end
  end
endmodule
