// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._

/** Chooses the cluster that a ring's next grant is of (choose(), best() and rank() of the golden model): of the
  * devices with the best priority that has a slot left, that whose turn it is; there, what placement takes first.
  *
  * The kernel puts a large folio on a device of that priority or nowhere (swap_alloc_slow()), and refuses what is
  * granted of a lower one. So nothing is found where only a lower one has a cluster for the order.
  */
class DeviceChooser(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Choose for an order; `done` pulses, with `found`. The device's turn is over then. `alone`: nothing is on offer
      * in the ring.
      */
    val start = Flipped(Valid(UInt(4.W)))
    val alone = Input(Bool())
    val done = Output(Bool())
    val found = Output(Valid(UInt(p.clusterBits.W)))
    val device = Output(UInt(p.deviceBits.W))

    /** A device goes after all others; not while it chooses. */
    val last = Flipped(Valid(UInt(p.deviceBits.W)))

    val devices = Input(Vec(p.devices, new GrantDevice))
    val orders = Input(Vec(p.devices, UInt(GrantLayout.Orders.W)))

    /** With INDEXED, a device that has FREE clusters to spare: see ClusterSummaries. */
    val spare = Input(Vec(p.devices, Bool()))
    val open = Input(Bool())
    val request = Decoupled(new SummaryRequest)
    val answer = Flipped(Valid(new SummaryAnswer))
  })

  private object State extends ChiselEnum {
    val idle, pick, picked, ask, asked, done = Value
  }

  /** The next question: clusters of the order itself; of other orders, the nearest first (OPEN); for order 0
    * with INDEXED those whose order finds no run there any more, then the others, the highest order first; FREE ones.
    */
  private object Kinds extends ChiselEnum {
    val own, near, spent, others, free = Value
  }
  private val state = RegInit(State.idle)
  private val order = Reg(UInt(4.W))
  private val kinds = Reg(Kinds())

  // Turns: the first is the one that waits longest.
  private val turn = RegInit(VecInit.tabulate(p.devices)(_.U(p.deviceBits.W)))
  private val tried = Reg(Vec(p.devices, Bool()))
  private val number = Reg(UInt(log2Ceil(p.devices + 1).W))
  private val best = Reg(Valid(UInt(p.deviceBits.W)))
  private val priority = Reg(SInt(p.priorityBits.W))

  /** The best priority that has a slot left, also on a device that serves no large orders, or none by grants. */
  private val least = Reg(Valid(SInt(p.priorityBits.W)))

  // A device is looked up in one cycle and compared in the next: both at once were an engine's longest path.
  private class Candidate extends Bundle {
    val device = UInt(p.deviceBits.W)
    val priority = SInt(p.priorityBits.W)
    val eligible, hasRoom = Bool()
  }
  private val lookup = Wire(Valid(new Candidate))
  private val entry = At(io.devices, lookup.bits.device)
  private val finds = At(io.orders, lookup.bits.device)
  lookup.valid := state === State.pick && number =/= p.devices.U
  lookup.bits.device := At(turn, number(p.deviceBits - 1, 0))
  lookup.bits.priority := entry.priority
  lookup.bits.eligible := entry.serves(order) && finds(order) && !At(tried, lookup.bits.device)
  lookup.bits.hasRoom := entry.live && finds(0)
  private val candidate = Pipe(lookup)

  private val toLast = WireDefault(io.last)
  private val passed = turn.scanLeft(false.B)((before, d) => before || d === toLast.bits).tail
  when(toLast.valid) {
    for (i <- turn.indices)
      when(passed(i))(turn(i) := (if (i == p.devices - 1) toLast.bits else turn(i + 1)))
  }

  // For `near`: how far, and whether above. For `others`: the order.
  private val distance = Reg(UInt(4.W))
  private val above = Reg(Bool())
  private val nearby = Mux(above, order + distance, order - distance)
  private val exists = Mux(above, order +& distance < GrantLayout.Orders.U, order >= distance)
  private val kind = MuxLookup(kinds, order)(
    Seq(
      Kinds.near -> nearby,
      Kinds.spent -> RunTree.Spent.U,
      Kinds.others -> distance,
      Kinds.free -> RunTree.Free.U
    )
  )

  /** A FREE cluster may be granted (may_open() of the golden model). It is this order's then until all of it is free
    * again, which hardly happens while swap is nearly full: not in advance, and the last ones are left to the kernel's
    * own search. Order 9 finds room nowhere else, and for order 0 FREE is the last choice.
    */
  private val alone = Reg(Bool())
  private val mayOpen =
    io.open || (alone && (order === 0.U || order === GrantLayout.TopOrder.U || At(io.spare, best.bits)))
  private val found = Reg(Valid(UInt(p.clusterBits.W)))
  io.found := found
  io.device := best.bits
  io.done := state === State.done

  io.request.valid := state === State.ask && MuxLookup(kinds, true.B)(Seq(Kinds.near -> exists, Kinds.free -> mayOpen))
  io.request.bits := 0.U.asTypeOf(io.request.bits)
  io.request.bits.op := SummaryOp.own
  io.request.bits.kind := kind
  io.request.bits.order := order
  io.request.bits.device := best.bits

  private def next(): Unit = {
    state := State.ask
    val lastOrder = distance === GrantLayout.TopOrder.U
    switch(kinds) {
      is(Kinds.own) {
        kinds := Mux(io.open, Kinds.near, Mux(order === 0.U, Kinds.spent, Kinds.free))
        distance := 1.U
        above := false.B
      }
      is(Kinds.near) {
        above := !above
        when(above) {
          distance := distance + 1.U
          when(lastOrder)(kinds := Kinds.free)
        }
      }
      is(Kinds.spent) {
        kinds := Kinds.others
        distance := GrantLayout.TopOrder.U
      }
      is(Kinds.others) {
        distance := distance - 1.U
        when(distance === 1.U)(kinds := Kinds.free)
      }
      is(Kinds.free)(giveUp())
    }
  }
  private def take(): Unit = {
    state := State.done
    toLast.valid := true.B
    toLast.bits := best.bits
  }
  private def again(): Unit = {
    state := State.pick
    number := 0.U
    best.valid := false.B
    least.valid := false.B
  }
  private def giveUp(): Unit = {
    At(tried, best.bits) := true.B
    again()
  }

  switch(state) {
    is(State.idle) {
      when(io.start.valid) {
        order := io.start.bits
        alone := io.alone
        tried := 0.U.asTypeOf(tried)
        found.valid := false.B
        again()
      }
    }
    is(State.pick) {
      when(lookup.valid)(number := number + 1.U).otherwise(state := State.picked)
      when(candidate.valid) {
        val seen = candidate.bits
        when(seen.eligible && (!best.valid || seen.priority > priority)) {
          best.valid := true.B
          best.bits := seen.device
          priority := seen.priority
        }
        when(seen.hasRoom && (!least.valid || seen.priority > least.bits)) {
          least.valid := true.B
          least.bits := seen.priority
        }
      }
    }
    is(State.picked) {
      kinds := Mux(order === GrantLayout.TopOrder.U, Kinds.free, Kinds.own)
      state := Mux(best.valid && !(least.valid && priority < least.bits), State.ask, State.done)
    }
    is(State.ask) {
      when(io.request.fire)(state := State.asked)
        .elsewhen(!io.request.valid)(next())
    }
    is(State.asked) {
      when(io.answer.valid) {
        found.valid := io.answer.bits.found
        found.bits := io.answer.bits.cluster
        when(io.answer.bits.found)(take()).otherwise(next())
      }
    }
    is(State.done)(state := State.idle)
  }
  assert(!(io.last.valid && state =/= State.idle), "a device's turn is set while it is chosen")
}
