// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** The writing half of Dma: three places in a transfer move along, each at its own pace: that of the next address,
  * of the next word, and of the next answer.
  *
  * @param bursts
  *   bursts that wait for their answer
  */
class DmaWrites(bursts: Int) extends Module {
  val io = IO(new Bundle {
    val req = Flipped(Decoupled(new DmaWriteReq))
    val data = Flipped(Decoupled(new DmaWriteWord))
    val done = Valid(new DmaWritten)
    val address = Decoupled(new AxiAddress)
    val beat = Decoupled(new AxiWriteBeat)

    /** A burst was answered; with an error. */
    val answer = Flipped(Valid(Bool()))

    /** Ends the transfer with made-up data that writes nothing; held until `idle`. */
    val flush = Input(Bool())
    val idle = Output(Bool())
  })
  private val inBurst = log2Ceil(Axi.MaxBeats)

  val busy = RegInit(false.B)

  /** The bus answered with an error, or a flush came: nothing new begins, and the transfer under way ends. */
  private val stop = Reg(Bool())
  private val goodWords = Reg(UInt(Dma.WordBits.W))

  // The next address, the next word, the next answer.
  private val at = Reg(new DmaWriteReq)
  private val dataLow, answerLow = Reg(UInt(inBurst.W))
  private val dataLeft, answerLeft = Reg(UInt(Dma.WordBits.W))

  private val inFlight = RegInit(0.U(log2Ceil(bursts + 1).W))
  private val owed = RegInit(0.U(log2Ceil(bursts * Axi.MaxBeats + 1).W))
  private val addressValid = RegInit(false.B)
  private val address = Reg(new AxiAddress)

  /** Of the next burst: known one cycle after the place is. */
  private val beats = RegNext(Dma.beats(at.address, at.words))
  private val measured = RegInit(false.B)
  private val issue = busy && measured && !stop && !io.flush && at.words =/= 0.U && inFlight =/= bursts.U &&
    (!addressValid || io.address.ready)
  measured := !(io.req.fire || issue)

  /** Beats of the burst whose address went out one cycle ago. */
  private val issued = RegNext(Mux(issue, beats, 0.U), 0.U)

  // Addresses run ahead.
  when(issue) {
    address := Dma.address(at.address, beats)
    at.address := Dma.nextBurst(at.address)
    at.words := at.words - beats
  }
  when(issue)(addressValid := true.B).elsewhen(io.address.ready)(addressValid := false.B)
  io.address.valid := addressValid
  io.address.bits := address

  // Words follow, for addresses that are out. They pass a register, so that a flush changes no beat on the bus.
  private val out = Module(new Queue(new AxiWriteBeat, 2))
  private val feeding = owed =/= 0.U
  out.io.enq.valid := feeding && (io.data.valid || io.flush)
  out.io.enq.bits.data := io.data.bits.word
  out.io.enq.bits.strb := Fill(Axi.DataBytes, io.data.bits.keep && !io.flush)
  out.io.enq.bits.last := dataLow.andR || dataLeft === 1.U
  io.data.ready := feeding && out.io.enq.ready && !io.flush
  when(out.io.enq.fire) {
    dataLow := dataLow + 1.U
    dataLeft := dataLeft - 1.U
  }
  owed := owed + issued - out.io.enq.fire
  io.beat <> out.io.deq

  // Answers come in order, as all bursts have the same identifier.
  private val answered = Dma.beats(answerLow, answerLeft)
  inFlight := inFlight + issue - io.answer.valid
  when(io.answer.valid) {
    answerLow := 0.U
    answerLeft := answerLeft - answered
    // After a flush nobody knows which words were made up.
    when(io.answer.bits)(stop := true.B).elsewhen(!stop)(goodWords := goodWords + answered)
  }
  when(io.flush)(stop := true.B)

  private val finished = busy && (at.words === 0.U || stop) && !addressValid && inFlight === 0.U
  when(finished)(busy := false.B)
  io.req.ready := !busy && !io.flush
  when(io.req.fire) {
    busy := true.B
    at := io.req.bits
    for (low <- Seq(dataLow, answerLow)) low := io.req.bits.address(inBurst - 1, 0)
    for (wordsLeft <- Seq(dataLeft, answerLeft)) wordsLeft := io.req.bits.words
    goodWords := 0.U
    stop := false.B
  }
  io.done.valid := finished
  io.done.bits.error := stop
  io.done.bits.goodWords := goodWords
  io.idle := !busy

  assert(!io.answer.valid || inFlight =/= 0.U, "AXI4: the slave answers a write nobody asked for")
  assert(!finished || (owed === 0.U && !out.io.deq.valid), "AXI4: a write was answered before its end")
  assert(!io.req.fire || io.req.bits.words =/= 0.U, "a write of no words")
  assert(
    !issue || (at.address(8, 0) +& beats <= 512.U && beats =/= 0.U),
    "AXI4: a burst of no words, or one that crosses 4 KiB"
  )
}
