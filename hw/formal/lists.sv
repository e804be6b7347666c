// SPDX-License-Identifier: Apache-2.0
// The clusters' lists against queues that are written down in another way: for each cluster the list it is on, and for
// each two clusters which one came first. No links, no heads, no tails.
//
// Users of the lists keep to their contract (the assumptions): a cluster is taken off the list it is on; the head is
// named only if it is one, with the cluster after it; it is put on a list only when it is on none, and not on the one
// it leaves, except from the head to the tail. A move counts from its start on. Proved for all such uses, of any
// length:
//   filled  a list is said to hold a cluster exactly if one is on it
//   ends    head and tail of each list are the first and the last cluster of its queue, in the memories and as read
//   links   each cluster's links name the one before it and the one after it, in the memories (of ClusterLinks: `ram`
//           holds the next ones, `ram_1` the previous ones) and as read
//   order   (of the specification itself:) of two clusters on a list one came before the other
//   move    a move that waits or is under way is one that may be asked for
//   fault   no link is ever said to be broken
//   own     none of the module's own assertions fails
// So no cluster is lost, is on two lists, or overtakes another one.
module lists_proof #(
    parameter int CLUSTERS = 4,
    parameter int LISTS = 11,
    parameter int USED_CLUSTERS = CLUSTERS,
    parameter int USED_LISTS = LISTS
) (
    input logic clock,
    input logic move,
    input logic [$clog2(CLUSTERS)-1:0] cluster,
    input logic unlink,
    input logic from_head,
    input logic [3:0] from,
    input logic [$clog2(CLUSTERS)-1:0] next,
    input logic alone,
    input logic push,
    input logic [3:0] to,
    input logic peek,
    input logic [3:0] peek_list,
    input logic look,
    input logic [$clog2(CLUSTERS)-1:0] look_cluster,
    input logic forget
);
  localparam int Bits = $clog2(CLUSTERS);
  typedef logic [Bits-1:0] cluster_t;

  logic running = 1'b0;
  always_ff @(posedge clock) running <= 1'b1;

  // The queues. on[c]: c is on list where[c]. ahead[c][d]: c came before d (both on the same list).
  logic [CLUSTERS-1:0] on = '0;
  logic [3:0] where[CLUSTERS];
  logic [CLUSTERS-1:0] ahead[CLUSTERS];

  function automatic logic together(int c, int d);
    return c != d && on[c] && on[d] && where[c] == where[d];
  endfunction
  // d stands right after c.
  function automatic logic follows(int c, int d);
    logic between;
    between = 1'b0;
    for (int e = 0; e < CLUSTERS; e++)
      if (e != c && e != d && together(c, e) && ahead[c][e] && ahead[e][d]) between = 1'b1;
    return together(c, d) && ahead[c][d] && !between;
  endfunction
  function automatic logic is_first(int c);
    logic result;
    result = on[c];
    for (int d = 0; d < CLUSTERS; d++) if (together(c, d) && ahead[d][c]) result = 1'b0;
    return result;
  endfunction
  function automatic logic is_last(int c);
    logic result;
    result = on[c];
    for (int d = 0; d < CLUSTERS; d++) if (together(c, d) && ahead[c][d]) result = 1'b0;
    return result;
  endfunction

  logic room, idle, fault;
  cluster_t head, tail, after, in_front;
  logic [LISTS-1:0] nonempty;
  ClusterLists dut (
      .clock,
      .reset(!running),
      .io_move_valid(move),
      .io_move_bits_device(1'b0),
      .io_move_bits_cluster(cluster),
      .io_move_bits_unlink(unlink),
      .io_move_bits_fromHead(from_head),
      .io_move_bits_from(from),
      .io_move_bits_next(next),
      .io_move_bits_alone(alone),
      .io_move_bits_push(push),
      .io_move_bits_to(to),
      .io_room(room),
      .io_view_idle(idle),
      .io_query_peek(peek),
      .io_query_peekDevice(1'b0),
      .io_query_peekList(peek_list),
      .io_view_ends_head(head),
      .io_view_ends_tail(tail),
      .io_query_look_valid(look),
      .io_query_look_bits(look_cluster),
      .io_view_next(after),
      .io_view_prev(in_front),
      .io_forget_valid(forget),
      .io_forget_bits(1'b0),
      .io_view_nonEmpty_0(nonempty),
      .io_fault(fault)
  );

  // The move that starts, and whether the lists are at rest: then the memories say what the queues say.
  wire starts = running && dut.starting;
  wire rest = running && dut.step == 0;
  wire cluster_t moved = dut.request_cluster;
  logic has_next;
  cluster_t right;
  always_comb begin
    right = '0;
    has_next = 1'b0;
    for (int d = 0; d < CLUSTERS; d++)
      if (follows(32'(moved), d)) begin
        right = cluster_t'(d);
        has_next = 1'b1;
      end
  end

  // The permitted uses of lists.
  always_ff @(posedge clock) begin
    assume (!move || (running && room));
    assume (!move || unlink || push);
    assume (!move || !from_head || (unlink && push));
    assume (!move || !unlink || from_head || !push || from != to);
    assume (32'(from) < USED_LISTS && 32'(to) < USED_LISTS && 32'(peek_list) < LISTS);
    assume (32'(cluster) < USED_CLUSTERS);
    assume (!starts || dut.request_unlink == on[moved]);
    assume (!starts || !dut.request_unlink || where[moved] == dut.request_from);
    assume (!starts || !dut.request_fromHead || is_first(32'(moved)));
    assume (!starts || !dut.request_fromHead || dut.request_alone == !has_next);
    assume (!starts || !dut.request_fromHead || !has_next || dut.request_next == right);
    // Ends and links are read, and a device's lists forgotten, when nothing is under way.
    assume (!(peek || look || forget) || (idle && running && !move));
    assume (!(peek && look) && !(forget && (peek || look)));
  end

  always_ff @(posedge clock) begin
    if (forget) on <= '0;
    else if (starts) begin
      on[moved] <= dut.request_push;
      if (dut.request_push) begin
        where[moved] <= dut.request_to;
        for (int d = 0; d < CLUSTERS; d++) begin
          ahead[d][moved] <= 1'b1;
          ahead[moved][d] <= 1'b0;
        end
      end
    end
  end

  // A query is answered two cycles later; nothing moves meanwhile, by another assumption.
  logic [1:0] peeked = '0;
  logic [1:0] looked = '0;
  logic [3:0] asked_list;
  cluster_t asked_cluster;
  always_ff @(posedge clock) begin
    peeked <= {peeked[0], peek};
    looked <= {looked[0], look};
    if (peek) asked_list <= peek_list;
    if (look) asked_cluster <= look_cluster;
    assume (!(peeked[0] || looked[0] || peeked[1] || looked[1]) || !(move || peek || look || forget));
  end

  for (genvar l = 0; l < LISTS; l++) begin : list
    logic holds;
    always_comb begin
      holds = 1'b0;
      for (int c = 0; c < CLUSTERS; c++) if (on[c] && 32'(where[c]) == l) holds = 1'b1;
    end
    always_ff @(posedge clock) if (rest) filled : assert (nonempty[l] == holds);
  end
  for (genvar c = 0; c < CLUSTERS; c++) begin : member
    if (c >= USED_CLUSTERS) begin : unused
      always_ff @(posedge clock) if (running) move_unused : assert (!on[c]);
    end
    always_ff @(posedge clock) begin
      if (rest && on[c]) begin
        ends_list : assert (32'(where[c]) < USED_LISTS);
        if (is_first(c)) ends_head_kept : assert (dut.headRam_ext.Memory[where[c]] == cluster_t'(c));
        if (is_last(c)) ends_tail_kept : assert (dut.tailRam_ext.Memory[where[c]] == cluster_t'(c));
      end
      if (peeked[1] && on[c] && where[c] == asked_list) begin
        ends_head : assert (is_first(c) == (head == cluster_t'(c)));
        ends_tail : assert (is_last(c) == (tail == cluster_t'(c)));
      end
      if (looked[1] && follows(32'(asked_cluster), c)) links_next : assert (after == cluster_t'(c));
      if (looked[1] && follows(c, 32'(asked_cluster))) links_prev : assert (in_front == cluster_t'(c));
    end
    for (genvar d = 0; d < CLUSTERS; d++) begin : other
      always_ff @(posedge clock) begin
        if (rest && follows(c, d)) begin
          links_next_kept : assert (dut.ClusterLinks.ram_ext.Memory[c] == cluster_t'(d));
          links_prev_kept : assert (dut.ClusterLinks.ram_1_ext.Memory[d] == cluster_t'(c));
        end
        if (running && together(c, d)) order_strict : assert (ahead[c][d] != ahead[d][c]);
      end
      for (genvar e = 0; e < CLUSTERS; e++) begin : third
        always_ff @(posedge clock)
          if (running && together(c, d) && together(d, e) && c != e && ahead[c][d] && ahead[d][e])
            order_transitive : assert (ahead[c][e]);
      end
    end
  end
  // The state of a move that waits, or is under way: the proof by induction is shorter when it knows that.
  function automatic logic well_formed(logic off, logic head_of, logic onto, logic [3:0] old, logic [3:0] fresh);
    return (off || onto) && (!head_of || (off && onto)) && (!off || head_of || !onto || old != fresh) &&
        32'(old) < USED_LISTS && 32'(fresh) < USED_LISTS;
  endfunction
  always_ff @(posedge clock)
    if (running) begin
      move_step : assert (dut.step <= 4);
      if (dut.waiting)
        move_waits : assert (32'(dut.request_cluster) < USED_CLUSTERS &&
                             well_formed(dut.request_unlink, dut.request_fromHead, dut.request_push,
                                         dut.request_from, dut.request_to));
      if (dut.step != 0)
        move_goes : assert (well_formed(dut.move_unlink, dut.move_fromHead, dut.move_push, dut.move_from,
                                        dut.move_to) && on[dut.move_cluster] == dut.move_push);
    end
  always_ff @(posedge clock) if (running) fault_never : assert (!fault);
endmodule
