// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** A beat that was read, as the bus gives it. */
class DmaReadBeat extends Bundle {
  val data = UInt(Axi.DataBits.W)
  val error, last = Bool()
}

/** The reading half of Dma. A burst is asked for when there is a place for each of its beats in the queue, so that
  * the bus never waits for the reader of the words: others share it, and some buses let no write pass a waiting read.
  *
  * @param gen
  *   tells readers from each other
  * @param bursts
  *   bursts in flight; the queue holds as many full ones
  */
class DmaReads[R <: Data](gen: R, bursts: Int) extends Module {
  val io = IO(new Bundle {
    val req = Flipped(Decoupled(new DmaReadReq(gen)))
    val data = Decoupled(new DmaReadWord(gen))
    val address = Decoupled(new AxiAddress)
    val beat = Flipped(Valid(new DmaReadBeat))

    /** Throws all away and asks for nothing more; held until `idle`. */
    val flush = Input(Bool())

    /** All that was asked for has come; nothing waits in `data` either. */
    val settled = Output(Bool())
    val idle = Output(Bool())
  })

  /** A burst that was asked for. */
  class ReadBurst extends Bundle {
    val reader = gen.cloneType
    val last = Bool()
  }
  private val places = bursts * Axi.MaxBeats

  // The transfer whose bursts are being asked for.
  private val asking = RegInit(false.B)
  private val at = Reg(new DmaReadReq(gen))

  /** Of the next burst: known one cycle after the place is. */
  private val beats = RegNext(Dma.beats(at.address, at.words))
  private val measured = RegInit(false.B)
  private val lastBurst = beats === at.words

  private val free = RegInit(places.U(log2Ceil(places + 1).W))
  private val inFlight = Module(new Queue(new ReadBurst, bursts))
  private val addressValid = RegInit(false.B)
  private val address = Reg(new AxiAddress)
  private val issue = asking && measured && !io.flush && free >= Axi.MaxBeats.U && inFlight.io.enq.ready &&
    (!addressValid || io.address.ready)
  measured := !(io.req.fire || issue)

  io.req.ready := !asking && !io.flush
  when(io.req.fire) {
    asking := true.B
    at := io.req.bits
  }
  when(issue) {
    address := Dma.address(at.address, beats)
    at.address := Dma.nextBurst(at.address)
    at.words := at.words - beats
    when(lastBurst)(asking := false.B)
  }
  when(io.flush)(asking := false.B)
  when(issue)(addressValid := true.B).elsewhen(io.address.ready)(addressValid := false.B)
  io.address.valid := addressValid
  io.address.bits := address

  inFlight.io.enq.valid := issue
  inFlight.io.enq.bits.reader := at.reader
  inFlight.io.enq.bits.last := lastBurst
  inFlight.io.deq.ready := io.beat.valid && io.beat.bits.last

  private val queue = Module(new BlockFifo(new DmaReadWord(gen), places))
  queue.io.clear := io.flush
  queue.io.enq.valid := io.beat.valid && !io.flush
  queue.io.enq.bits.reader := inFlight.io.deq.bits.reader
  queue.io.enq.bits.word := io.beat.bits.data
  queue.io.enq.bits.error := io.beat.bits.error
  queue.io.enq.bits.last := io.beat.bits.last && inFlight.io.deq.bits.last

  // So that neither the reader of a word nor the word itself decides about the RAM's next address in the same cycle.
  private val front = Module(new Queue(new DmaReadWord(gen), 2, hasFlush = true))
  front.io.flush.get := io.flush
  front.io.enq <> queue.io.deq
  io.data <> front.io.deq

  // The places of a burst are taken one cycle after it was asked for, before the next one can be.
  private val issued = RegNext(Mux(issue, beats, 0.U), 0.U)
  free := Mux(io.flush, places.U, free - issued + io.data.fire)

  io.settled := !asking && !addressValid && !inFlight.io.deq.valid
  io.idle := io.settled && queue.io.empty && !front.io.deq.valid

  assert(!io.beat.valid || inFlight.io.deq.valid, "AXI4: the slave answers a read nobody asked for")
  assert(!queue.io.enq.valid || queue.io.enq.ready, "a word that was read finds no place")
  assert(!io.req.fire || io.req.bits.words =/= 0.U, "a read of no words")
  assert(
    !issue || (at.address(8, 0) +& beats <= 512.U && beats =/= 0.U),
    "AXI4: a burst of no words, or one that crosses 4 KiB"
  )
}
