// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** Sizes of DMA requests. */
object Dma {

  /** Bits of a request's length; a request moves 1 to 255 words. */
  val WordBits: Int = 8

  /** Bits of a request's offset, in words: the largest structure is the command ring, 4096 * 4 words. */
  val OffsetBits: Int = 14

  /** Lower bits of the number of a word in memory, which are added first. */
  private val LowBits: Int = 30
}

/** What a transfer's offset counts from: the structures whose addresses the host has set, and a command's target. */
object DmaBase extends ChiselEnum {
  val commands, completions, target = Value
}

/** A transfer: `words` (1 to 255) 64-bit words, from `offset` words after the structure's address on. */
class DmaReq extends Bundle {
  val write = Bool()
  val base = DmaBase()
  val offset = UInt(Dma.OffsetBits.W)
  val words = UInt(Dma.WordBits.W)
}

/** Asks for the address of a structure, in bytes; the answer comes in the same cycle. The lowest three bits are taken
  * as 0.
  */
class AddressLookup extends Bundle {
  val base = Output(DmaBase())
  val address = Input(UInt(Axi.AddrBits.W))
}

/** What a DMA client sees. After `req` is taken, either `words` words come on `rdata`, which it has to take at once, or
  * as many are taken from `wdata`; `done` pulses once, not before the last word. After an error
  * response the rest is left out: fewer words are moved, and `done.bits` (error) is true.
  */
class DmaPort extends Bundle {
  val req = Decoupled(new DmaReq)
  val wdata = Decoupled(UInt(Axi.DataBits.W))
  val rdata = Flipped(Valid(UInt(Axi.DataBits.W)))
  val done = Flipped(Valid(Bool()))

  /** Ties off the outputs of a client that only reads. */
  def neverWrites(): Unit = {
    wdata.valid := false.B
    wdata.bits := 0.U
  }
}

/** AXI4 master: one request at a time, cut into INCR bursts of at most 16 beats that do not cross 4 KiB, one burst
  * in flight.
  *
  * `flush` ends whatever is under way without the client: reads are thrown away, missing write data is made up with
  * all byte strobes off, and nothing new is started. It is held until `idle`.
  */
class Dma extends Module {
  val io = IO(new Bundle {
    val axi = new Axi4
    val port = Flipped(new DmaPort)
    val lookup = new AddressLookup
    val flush = Input(Bool())
    val idle = Output(Bool())
    val readBeat = Output(Bool())
    val writeBeat = Output(Bool())
  })

  object State extends ChiselEnum {
    val idle, plan, burst, finish = Value
  }
  private val boundaryWords = Axi.BoundaryBytes / Axi.DataBytes
  private val beatBits = log2Ceil(Axi.MaxBeats + 1)

  val state = RegInit(State.idle)
  val write = Reg(Bool())

  // The address, in words. The upper half of a sum is made one cycle after the lower one, in `plan`.
  private val wordAddrBits = Axi.AddrBits - 3
  val low = Reg(UInt(Dma.LowBits.W))
  val high = Reg(UInt((wordAddrBits - Dma.LowBits).W))
  val carry = Reg(Bool())
  val wordAddr = high ## low
  private def addTo(start: UInt, addend: UInt): Unit = {
    val sum = start +& addend
    low := sum(Dma.LowBits - 1, 0)
    carry := sum(Dma.LowBits)
  }
  val left = Reg(UInt(Dma.WordBits.W))
  val error = Reg(Bool())
  val beats = Reg(UInt(beatBits.W))
  val addrValid = RegInit(false.B)
  val beatsLeft = Reg(UInt(beatBits.W))
  val lastBurst = Reg(Bool())

  // Beats of the next burst: what is left, a burst's limit, and what fits below the 4 KiB line, which is near only in
  // the last 16 words before it.
  private val inBurst = log2Ceil(Axi.MaxBeats)
  val nearBoundary = wordAddr(log2Ceil(boundaryWords) - 1, inBurst).andR
  val limit = Mux(nearBoundary, Axi.MaxBeats.U - wordAddr(inBurst - 1, 0), Axi.MaxBeats.U)
  val planLast = left <= limit
  val plan = Mux(planLast, left, limit)(beatBits - 1, 0)

  // Write data passes through a register, so that a flush never changes a beat that is already on the bus.
  class Beat extends AxiWriteBeat
  val wQueue = Module(new Queue(new Beat, 2))

  when(state === State.plan) {
    high := high + carry
    carry := false.B
    when(io.flush || error || left === 0.U) {
      state := State.finish
    }.otherwise {
      state := State.burst
      beats := plan
      beatsLeft := plan
      lastBurst := planLast
      addrValid := true.B
    }
  }

  // Address channels
  io.axi.aw.valid := addrValid && write
  io.axi.ar.valid := addrValid && !write
  when(io.axi.aw.fire || io.axi.ar.fire)(addrValid := false.B)
  for (address <- Seq(io.axi.aw.bits, io.axi.ar.bits)) {
    address.id := 0.U
    address.addr := Cat(wordAddr, 0.U(3.W))
    address.len := beats - 1.U
  }

  // Write data
  val feeding = state === State.burst && write && beatsLeft =/= 0.U
  wQueue.io.enq.valid := feeding && (io.port.wdata.valid || io.flush)
  wQueue.io.enq.bits.data := io.port.wdata.bits
  wQueue.io.enq.bits.strb := Fill(Axi.DataBytes, !io.flush)
  wQueue.io.enq.bits.last := beatsLeft === 1.U
  io.port.wdata.ready := feeding && wQueue.io.enq.ready && !io.flush
  io.axi.w <> wQueue.io.deq
  io.writeBeat := io.axi.w.fire

  // Read data
  val reading = state === State.burst && !write
  io.axi.r.ready := reading
  io.readBeat := io.axi.r.fire
  io.port.rdata.valid := RegNext(io.readBeat && !io.flush, false.B)
  io.port.rdata.bits := RegNext(io.axi.r.bits.data)

  when(wQueue.io.enq.fire || io.readBeat)(beatsLeft := beatsLeft - 1.U)

  // End of a burst: the last beat read, or the write's answer
  io.axi.b.ready := state === State.burst && write
  val readEnd = io.readBeat && beatsLeft === 1.U
  val writeEnd = io.axi.b.fire
  when(io.readBeat && io.axi.r.bits.isError)(error := true.B)
  when(writeEnd && io.axi.b.bits.isError)(error := true.B)
  when(readEnd || writeEnd) {
    state := Mux(lastBurst, State.finish, State.plan)
    left := left - beats
    addTo(low, beats)
  }

  // The next request may come in while the end of the last one is signalled.
  when(state === State.finish)(state := State.idle)
  io.port.req.ready := (state === State.idle || state === State.finish) && !io.flush
  io.lookup.base := io.port.req.bits.base
  when(io.port.req.fire) {
    state := State.plan
    write := io.port.req.bits.write
    val base = io.lookup.address(Axi.AddrBits - 1, 3)
    high := base >> Dma.LowBits
    addTo(base(Dma.LowBits - 1, 0), io.port.req.bits.offset)
    left := io.port.req.bits.words
    error := false.B
  }
  io.port.done.valid := state === State.finish
  io.port.done.bits := error
  io.idle := state === State.idle

  // The bus rules, checked here so that every simulation checks them.
  private def stable(name: String, channel: ReadyValidIO[Data], payload: UInt): Unit = {
    val waiting = RegNext(channel.valid && !channel.ready, false.B)
    assert(!waiting || channel.valid, s"AXI4: ${name}valid fell before ${name}ready")
    assert(!waiting || payload === RegNext(payload), s"AXI4: $name payload changed before ${name}ready")
  }
  stable("aw", io.axi.aw, Cat(io.axi.aw.bits.addr, io.axi.aw.bits.len))
  stable("ar", io.axi.ar, Cat(io.axi.ar.bits.addr, io.axi.ar.bits.len))
  stable("w", io.axi.w, io.axi.w.bits.asUInt)
  val lastWord = wordAddr(log2Ceil(boundaryWords) - 1, 0) +& beats - 1.U
  assert(!addrValid || (beats =/= 0.U && beats <= Axi.MaxBeats.U), "AXI4: burst of no or more than 16 beats")
  assert(!addrValid || lastWord < boundaryWords.U, "AXI4: burst crosses 4 KiB")
  assert(!io.readBeat || io.axi.r.bits.last === (beatsLeft === 1.U), "AXI4: the slave's rlast is not at the last beat")
  assert(!writeEnd || (beatsLeft === 0.U && !addrValid), "AXI4: the slave answered a write before its end")
}
