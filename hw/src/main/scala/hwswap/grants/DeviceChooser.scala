// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._

/** Chooses the cluster that a ring's next grants are of (choose(), best() and rank() of the golden model): of the
  * devices with the best priority that have one, that whose turn it is; there, what placement takes first.
  */
class DeviceChooser(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Choose for an order; `done` pulses, with `found`. The device's turn is over then. */
    val start = Flipped(Valid(UInt(4.W)))
    val done = Output(Bool())
    val found = Output(Valid(UInt(p.clusterBits.W)))
    val device = Output(UInt(p.deviceBits.W))

    /** A device goes behind all others; not while it chooses. */
    val last = Flipped(Valid(UInt(p.deviceBits.W)))

    val devices = Input(Vec(p.devices, new GrantDevice))
    val orders = Input(Vec(p.devices, UInt(GrantLayout.Orders.W)))
    val open = Input(Bool())
    val request = Decoupled(new SummaryRequest)
    val answer = Flipped(Valid(new SummaryAnswer))
  })

  private object State extends ChiselEnum {
    val idle, pick, picked, ask, asked, done = Value
  }

  /** What is asked about next: clusters of the order itself; of other orders, the nearest first (OPEN); FREE ones; any
    * (order 0 with INDEXED).
    */
  private object Kinds extends ChiselEnum {
    val own, near, free, any = Value
  }
  private val state = RegInit(State.idle)
  private val order = Reg(UInt(4.W))
  private val kinds = Reg(Kinds())
  private val open = if (p.openPlacement) io.open else false.B

  // Turns: the first is the one that waits longest.
  private val turn = RegInit(VecInit.tabulate(p.devices)(_.U(p.deviceBits.W)))
  private val tried = Reg(Vec(p.devices, Bool()))
  private val number = Reg(UInt(log2Ceil(p.devices + 1).W))
  private val best = Reg(Valid(UInt(p.deviceBits.W)))
  private val priority = Reg(SInt(p.priorityBits.W))
  private val candidate = At(turn, number(p.deviceBits - 1, 0))
  private val entry = At(io.devices, candidate)
  private val eligible = entry.serves(order) && At(io.orders, candidate)(order) && !At(tried, candidate)

  private val toLast = WireDefault(io.last)
  private val passed = turn.scanLeft(false.B)((before, d) => before || d === toLast.bits).tail
  when(toLast.valid) {
    for (i <- turn.indices)
      when(passed(i))(turn(i) := (if (i == p.devices - 1) toLast.bits else turn(i + 1)))
  }

  // For `near`: how far, and whether above.
  private val distance = Reg(UInt(4.W))
  private val above = Reg(Bool())
  private val kind = Wire(UInt(RunTree.KindBits.W))
  private val nearby = Mux(above, order + distance, order - distance)
  private val exists = Mux(above, order +& distance < GrantLayout.Orders.U, order >= distance)
  kind := Mux(
    kinds === Kinds.own,
    order,
    Mux(kinds === Kinds.free, RunTree.Free.U, Mux(kinds === Kinds.any, distance, nearby))
  )
  private val found = Reg(Valid(UInt(p.clusterBits.W)))
  io.found := found
  io.device := best.bits
  io.done := state === State.done

  /** With all orders asked about, it is known which cluster is the lowest of all. */
  private val asksAny = distance =/= GrantLayout.Orders.U
  io.request.valid := state === State.ask && MuxLookup(kinds, true.B)(Seq(Kinds.near -> exists, Kinds.any -> asksAny))
  io.request.bits := 0.U.asTypeOf(io.request.bits)
  io.request.bits.op := SummaryOp.find
  io.request.bits.kind := kind
  io.request.bits.run := order
  io.request.bits.device := best.bits

  private def next(): Unit = {
    state := State.ask
    val lastOrder = distance === GrantLayout.TopOrder.U
    switch(kinds) {
      is(Kinds.own) {
        kinds := Mux(open, Kinds.near, Kinds.free)
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
      is(Kinds.free) {
        // Any cluster with a free slot, whatever its order: the lowest of all.
        when(order === 0.U && !open) {
          kinds := Kinds.any
          distance := 1.U
        }.otherwise(giveUp())
      }
      is(Kinds.any) {
        when(asksAny)(distance := distance + 1.U).elsewhen(found.valid)(take()).otherwise(giveUp())
      }
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
  }
  private def giveUp(): Unit = {
    At(tried, best.bits) := true.B
    again()
  }

  switch(state) {
    is(State.idle) {
      when(io.start.valid) {
        order := io.start.bits
        tried := 0.U.asTypeOf(tried)
        found.valid := false.B
        again()
      }
    }
    is(State.pick) {
      when(number === p.devices.U) {
        state := State.picked
      }.otherwise {
        number := number + 1.U
        when(eligible && (!best.valid || entry.priority > priority)) {
          best.valid := true.B
          best.bits := candidate
          priority := entry.priority
        }
      }
    }
    is(State.picked) {
      kinds := Mux(order === GrantLayout.TopOrder.U, Kinds.free, Kinds.own)
      state := Mux(best.valid, State.ask, State.done)
    }
    is(State.ask) {
      when(io.request.fire)(state := State.asked)
        .elsewhen(!io.request.valid)(next())
    }
    is(State.asked) {
      when(io.answer.valid) {
        val lower = io.answer.bits.found && (!found.valid || io.answer.bits.cluster < found.bits)
        when(lower) {
          found.valid := true.B
          found.bits := io.answer.bits.cluster
        }
        when(io.answer.bits.found && kinds =/= Kinds.any)(take()).otherwise(next())
      }
    }
    is(State.done)(state := State.idle)
  }
  assert(!(io.last.valid && state =/= State.idle), "a device's turn is set while it is chosen")
}
