// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** The gate between the engine's masters and the bus. A burst whose first and last beat are not in one page of a DMA
  * window with its permission is not made: it is answered here, with SLVERR. So is any burst after a stop, but for
  * those that end something already begun. The gate also ends bursts that are open on the bus when the masters are
  * reset: it makes up missing write data with all byte strobes off, throws answers away, and makes no other burst
  * until all have come, so that no late answer is taken for that of another burst.
  *
  * An address waits three cycles here: one channel's address at a time is compared with all windows, in registers
  * before and after. A burst of four beats and more costs the bus no beat.
  *
  * @param endsWrite
  *   identifiers of writes that are made after a stop, too
  */
class AxiGate(endsWrite: Seq[Int] = Nil) extends Module {
  val io = IO(new Bundle {
    val inner = Flipped(new Axi4)
    val axi = new Axi4
    val windows = Input(Vec(RegMap.DmaWindow.Count, new DmaWindow))

    /** The engine has stopped; stays until the masters are reset. */
    val stop = Input(Bool())

    /** The masters are reset at the end of this cycle. */
    val abandon = Input(Bool())

    /** The bus owes answers to masters that were reset. */
    val owed = Output(Bool())

    /** Pulse: a burst is refused. */
    val refused = Valid(new RefusedBurst)

    /** The beats that masters see are not the bus's, but a refusal's. */
    val answersRead = Output(Bool())
    val takesWrite = Output(Bool())
    val idle = Output(Bool())

    /** A burst waits here or is on the bus, those aside that the bus owes. */
    val busy = Output(Bool())
  })

  object State extends ChiselEnum {
    val empty, compare, decide, pass, refuse, answer = Value
  }

  /** An address channel's address and where it has got to; bursts the bus has still to answer. */
  private class Channel {
    val state = RegInit(State.empty)
    val held = Reg(new AxiAddress)
    val owed = RegInit(0.U(AxiGate.OwedBits.W))
    val room = !owed.andR
    def page: UInt = held.addr >> DmaWindow.PageBits

    /** Its last beat is in another page than its first. */
    def leavesPage: Bool =
      (held.addr(DmaWindow.PageBits - 1, Axi.AddrBits - Dma.AddrBits) +& held.len)(DmaWindow.PageBits - 3)
  }
  private val read, write = new Channel
  private val draining = RegInit(false.B)

  // Write data of bursts that are made follow in the sequence of their addresses.
  private val lengths = Module(new Queue(UInt(8.W), AxiGate.Bursts))

  // The comparisons: a read before a write; a channel is in `decide` for one cycle.
  private val readTurn = read.state === State.compare && read.room
  private val writeTurn = write.state === State.compare && write.room && lengths.io.enq.ready && !readTurn
  private val page = Mux(readTurn, read.page, write.page)
  private val inside = io.windows.map { window =>
    val permits = Mux(readTurn, window.read, window.write)
    RegNext(page >= window.start) && RegNext(page < window.limit) && RegNext(permits)
  }
  private val permitted = inside.reduce(_ || _) && !RegNext(Mux(readTurn, read.leavesPage, write.leavesPage))
  private val madeRead = permitted && !io.stop
  private val madeWrite = permitted && endsWrite.map(write.held.id === _.U).foldLeft(!io.stop)(_ || _)

  private def move(channel: Channel, turn: Bool, made: Bool, taken: Bool): Unit =
    switch(channel.state) {
      is(State.compare)(when(turn)(channel.state := State.decide))
      is(State.decide)(channel.state := Mux(made, State.pass, State.refuse))
      is(State.pass)(when(taken)(channel.state := State.empty))
      // All bursts before it, so that those of one identifier are answered in their sequence.
      is(State.refuse)(when(channel.owed === 0.U)(channel.state := State.answer))
    }
  private def take(channel: Channel, offered: ReadyValidIO[AxiAddress]): Unit = {
    offered.ready := channel.state === State.empty && !draining && !io.abandon
    when(offered.fire) {
      channel.state := State.compare
      channel.held := offered.bits
    }
  }
  private def offer(channel: Channel, out: ReadyValidIO[AxiAddress]): Unit = {
    out.valid := channel.state === State.pass
    out.bits := channel.held
  }

  move(read, readTurn, madeRead, io.axi.ar.ready)
  move(write, writeTurn, madeWrite, io.axi.aw.ready)
  take(read, io.inner.ar)
  take(write, io.inner.aw)
  offer(read, io.axi.ar)
  offer(write, io.axi.aw)

  private def decided(channel: Channel): Bool = channel.state === State.decide && !io.abandon
  private val makesRead = decided(read) && madeRead
  private val makesWrite = decided(write) && madeWrite
  io.refused.valid := (decided(read) || decided(write)) && !permitted
  io.refused.bits.write := decided(write)
  io.refused.bits.address := Mux(decided(write), write.held.addr, read.held.addr)

  // Write data: those of a burst that is made pass a register, so that a beat on the bus stays as it is.
  class Beat extends AxiWriteBeat
  private val out = Module(new Queue(new Beat, 2))
  private val beat = RegInit(0.U(8.W))
  private val feeding = lengths.io.deq.valid
  private val swallowing = write.state === State.answer
  lengths.io.enq.valid := makesWrite
  lengths.io.enq.bits := write.held.len
  out.io.enq.valid := feeding && (io.inner.w.valid || draining)
  out.io.enq.bits.data := io.inner.w.bits.data
  out.io.enq.bits.strb := Mux(draining, 0.U, io.inner.w.bits.strb)
  out.io.enq.bits.last := beat === lengths.io.deq.bits
  lengths.io.deq.ready := out.io.enq.fire && out.io.enq.bits.last
  when(out.io.enq.fire)(beat := Mux(out.io.enq.bits.last, 0.U, beat + 1.U))

  // All beats of a refused write are taken, then it is answered.
  private val swallowed = RegInit(false.B)
  private val answersWrite = swallowing && swallowed
  io.inner.w.ready := !draining && Mux(feeding, out.io.enq.ready, swallowing && !swallowed)
  when(swallowing && io.inner.w.fire && io.inner.w.bits.last)(swallowed := true.B)
  io.axi.w <> out.io.deq

  io.axi.b.ready := io.inner.b.ready || draining
  io.inner.b.valid := Mux(answersWrite, true.B, io.axi.b.valid && !draining)
  io.inner.b.bits.id := Mux(answersWrite, write.held.id, io.axi.b.bits.id)
  io.inner.b.bits.resp := Mux(answersWrite, AxiGate.SlaveError.U, io.axi.b.bits.resp)
  when(answersWrite && io.inner.b.ready) {
    swallowed := false.B
    write.state := State.empty
  }

  // Read data.
  private val answersRead = read.state === State.answer
  private val count = RegInit(0.U(8.W))
  private val last = count === read.held.len
  io.axi.r.ready := io.inner.r.ready || draining
  io.inner.r.valid := Mux(answersRead, true.B, io.axi.r.valid && !draining)
  io.inner.r.bits.id := Mux(answersRead, read.held.id, io.axi.r.bits.id)
  io.inner.r.bits.data := io.axi.r.bits.data
  io.inner.r.bits.resp := Mux(answersRead, AxiGate.SlaveError.U, io.axi.r.bits.resp)
  io.inner.r.bits.last := Mux(answersRead, last, io.axi.r.bits.last)
  when(answersRead && io.inner.r.ready) {
    count := Mux(last, 0.U, count + 1.U)
    when(last)(read.state := State.empty)
  }

  private val readEnd = io.axi.r.fire && io.axi.r.bits.last
  private val writeEnd = io.axi.b.fire
  read.owed := read.owed + makesRead - readEnd
  write.owed := write.owed + makesWrite - writeEnd

  // The masters are gone: bursts that the bus has not seen are forgotten.
  private val nothingOwed = read.owed === 0.U && write.owed === 0.U
  when(draining && nothingOwed)(draining := false.B)
  when(io.abandon) {
    draining := true.B
    for (channel <- Seq(read, write)) when(channel.state =/= State.pass)(channel.state := State.empty)
    count := 0.U
    swallowed := false.B
  }
  io.owed := draining && !nothingOwed
  io.answersRead := answersRead
  io.takesWrite := swallowing
  io.busy := !draining && (Seq(read, write).map(_.state =/= State.empty).reduce(_ || _) || !nothingOwed)
  io.idle := !io.busy && !draining

  assert(
    !(out.io.enq.fire && !draining) || io.inner.w.bits.last === out.io.enq.bits.last,
    "AXI4: wlast is not at the end"
  )
  assert(!readEnd || read.owed =/= 0.U, "AXI4: the slave answers a read nobody asked for")
  assert(!writeEnd || write.owed =/= 0.U, "AXI4: the slave answers a write nobody asked for")
}

object AxiGate {

  /** Bits of the number of bursts that the bus has still to answer, of reads and of writes. */
  val OwedBits: Int = 6

  /** Write bursts whose data are still to come. */
  val Bursts: Int = 4

  /** The answer to a burst that is not made. */
  val SlaveError: Int = 2
}
