// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** Sizes of transfers. */
object Dma {

  /** Bits of a transfer's length: 1 to 1023 words. */
  val WordBits: Int = 10

  /** Bits of the number of a word in memory. */
  val AddrBits: Int = Axi.AddrBits - log2Ceil(Axi.DataBytes)

  private val inBurst = log2Ceil(Axi.MaxBeats)

  /** Beats of the next burst: to where a multiple of the longest burst ends, so no burst crosses 4 KiB, and those in
    * the middle of a transfer have full length.
    *
    * @param low
    *   number of the burst's first word, or its lowest bits
    * @param wordsLeft
    *   words of the transfer that are left
    */
  def beats(low: UInt, wordsLeft: UInt): UInt = {
    val room = Axi.MaxBeats.U((inBurst + 1).W) - low(inBurst - 1, 0)
    Mux(wordsLeft <= room, wordsLeft, room)(inBurst, 0)
  }

  /** The start of the next burst: a multiple of the longest burst, whatever the length of this one. */
  def nextBurst(wordAddr: UInt): UInt = (wordAddr(AddrBits - 1, inBurst) + 1.U) ## 0.U(inBurst.W)

  /** The address of a burst, in bytes. */
  def address(wordAddr: UInt, beats: UInt): AxiAddress = {
    val out = Wire(new AxiAddress)
    out.id := 0.U
    out.addr := wordAddr ## 0.U(log2Ceil(Axi.DataBytes).W)
    out.len := beats - 1.U
    out
  }
}

/** A read: `words` (1 to 1023) 64-bit words from the word with number `address` on.
  *
  * @param gen
  *   says which of a port's readers they are for; it comes back with each word
  */
class DmaReadReq[R <: Data](gen: R) extends Bundle {
  val reader = gen.cloneType
  val address = UInt(Dma.AddrBits.W)
  val words = UInt(Dma.WordBits.W)
}

/** A word that was read.
  *
  * @param gen
  *   as of the request
  */
class DmaReadWord[R <: Data](gen: R) extends Bundle {
  val reader = gen.cloneType
  val word = UInt(Axi.DataBits.W)

  /** The bus answered with an error: the word means nothing. Those before it are good. */
  val error = Bool()

  /** The transfer's last. */
  val last = Bool()
}

/** A client's port to the reading half. Requests may follow each other while answers are still to come; words come
  * in the order of the requests, every word of each, after an error, too.
  */
class DmaReadPort[R <: Data](gen: R) extends Bundle {
  val req = Decoupled(new DmaReadReq(gen))
  val data = Flipped(Decoupled(new DmaReadWord(gen)))

  /** Throws away all that was asked for. Held until `idle`. */
  val drop = Output(Bool())

  /** All that was asked for has come from the bus; it may still wait in `data`. */
  val settled = Input(Bool())

  /** Nothing is under way. */
  val idle = Input(Bool())
}

/** A write: `words` (1 to 1023) 64-bit words from the word with number `address` on. */
class DmaWriteReq extends Bundle {
  val address = UInt(Dma.AddrBits.W)
  val words = UInt(Dma.WordBits.W)
}

/** A word to write; without `keep` the word in memory stays. */
class DmaWriteWord extends Bundle {
  val word = UInt(Axi.DataBits.W)
  val keep = Bool()
}

/** The end of a write: whether there was an error, and how many words were written for certain. */
class DmaWritten extends Bundle {
  val error = Bool()
  val goodWords = UInt(Dma.WordBits.W)
}

/** A client's port to the writing half: one transfer at a time. `done` comes when memory has answered all of it; after
  * an error fewer words are taken. Once its request is taken, the client gives the data without waiting for any other
  * transfer.
  */
class DmaWritePort extends Bundle {
  val req = Decoupled(new DmaWriteReq)
  val data = Decoupled(new DmaWriteWord)
  val done = Flipped(Valid(new DmaWritten))
}

/** The two halves, independent of each other. */
class DmaPort[R <: Data](gen: R) extends Bundle {
  val read = new DmaReadPort(gen)
  val write = new DmaWritePort
}

/** AXI4 master: reads and writes of one word or many, several bursts in flight, independent of each other.
  *
  * `flush` ends all transfers under way without the client: reads are thrown away, missing write data is made up with
  * all byte strobes off, and nothing new is started. It is held until `idle`.
  *
  * @param gen
  *   tells the port's readers from each other
  * @param bursts
  *   reads in flight, and writes
  */
class Dma[R <: Data](gen: R, bursts: Int) extends Module {
  val io = IO(new Bundle {
    val axi = new Axi4
    val port = Flipped(new DmaPort(gen))
    val flush = Input(Bool())
    val idle = Output(Bool())

    /** A transfer was answered with an error (one cycle). */
    val error = Output(Bool())

    /** A beat goes over the bus, for the statistics. */
    val readBeat = Output(Bool())
    val writeBeat = Output(Bool())
  })
  private val axi = io.axi
  val reads = Module(new DmaReads(gen, bursts))
  val writes = Module(new DmaWrites(bursts))

  reads.io.req <> io.port.read.req
  io.port.read.data <> reads.io.data
  reads.io.flush := io.flush || io.port.read.drop
  io.port.read.settled := reads.io.settled
  io.port.read.idle := reads.io.idle
  axi.ar <> reads.io.address
  axi.r.ready := true.B
  reads.io.beat.valid := axi.r.valid
  reads.io.beat.bits.data := axi.r.bits.data
  reads.io.beat.bits.error := axi.r.bits.isError
  reads.io.beat.bits.last := axi.r.bits.last

  writes.io.req <> io.port.write.req
  writes.io.data <> io.port.write.data
  io.port.write.done := writes.io.done
  writes.io.flush := io.flush
  axi.aw <> writes.io.address
  axi.w <> writes.io.beat
  axi.b.ready := true.B
  writes.io.answer.valid := axi.b.valid
  writes.io.answer.bits := axi.b.bits.isError

  io.idle := reads.io.idle && writes.io.idle
  io.readBeat := axi.r.fire
  io.writeBeat := axi.w.fire
  io.error := (axi.r.valid && axi.r.bits.isError) || (axi.b.valid && axi.b.bits.isError)
}
