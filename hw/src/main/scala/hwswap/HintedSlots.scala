// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** A word of some cluster's row. */
class WordAddress(p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val word = UInt(p.wordBits.W)
}

/** Which slots are in outstanding hints (advisory mode): a bit a slot, in words of 32.
  *
  * `mark` sets the bits of an allocation's slots on its own, after the allocation: a word that changes in part is read,
  * changed and written, which takes 5 cycles, whole words are written one a cycle. Nobody else uses the memory until
  * `busy` is low again. There are registers in front of the memory, since it is spread over many block RAMs. Reading
  * what is written in the same cycle gives nothing defined; an assertion says that it does not happen. An engine
  * without advisory mode has no such memory: no slot is ever hinted.
  */
class HintedSlots(p: Params) extends Module {
  val io = IO(new Bundle {

    /** All slots of this range of the cluster are hinted from now on: in one word, or whole words. */
    val mark = Flipped(Valid(new SlotRange(p)))
    val cluster = Input(UInt(p.clusterBits.W))
    val busy = Output(Bool())

    /** In the next cycle slots may be marked, unless some are in this. */
    val nextRoom = Output(Bool())

    /** A unit reads a word; it is there three cycles later. */
    val read = Flipped(Valid(new WordAddress(p)))
    val word = Output(UInt(p.wordSlots.W))

    /** A unit writes a word. */
    val write = Flipped(Valid(new WordAddress(p)))
    val newWord = Input(UInt(p.wordSlots.W))
  })

  private object State extends ChiselEnum {
    val idle, fetch, wait_, change, put = Value
  }
  private val state = RegInit(State.idle)
  private val range = Reg(new SlotRange(p))
  private val at = Reg(new WordAddress(p))
  private val lastWord = Reg(UInt(p.wordBits.W))
  private val whole = range.ofWholeWords(p)
  io.busy := state =/= State.idle
  private val last = state === State.put && at.word === lastWord
  io.nextRoom := !io.busy || last

  private val depth = p.clusters * p.words
  private val banks = (depth / HintedSlots.BankDepth).max(1)
  private val reads = RegNext(Mux(io.busy, state === State.fetch, io.read.valid), false.B)
  private val readAt = RegNext(Mux(io.busy, at, io.read.bits))
  private val writes = RegNext(Mux(io.busy, state === State.put, io.write.valid), false.B)
  private val writeAt = RegNext(Mux(io.busy, at, io.write.bits))
  private val data = RegNext(Mux(io.busy, Mux(whole, 0.U, io.word) | range.maskIn(p), io.newWord))
  io.word := 0.U
  if (p.advisory) {
    def bankOf(at: WordAddress): UInt = at.asUInt >> log2Ceil(depth / banks)
    def placeOf(at: WordAddress): UInt = at.asUInt(log2Ceil(depth / banks) - 1, 0)
    // What a bank shows comes late and from far away: it is chosen among when it is in registers.
    val words = Seq.tabulate(banks) { bank =>
      val ram = SyncReadMem(depth / banks, UInt(p.wordSlots.W), SyncReadMem.Undefined)
      when(writes && bankOf(writeAt) === bank.U)(ram.write(placeOf(writeAt), data))
      RegNext(ram.read(placeOf(readAt)))
    }
    io.word := Select(words, RegNext(RegNext(bankOf(readAt))))
  }

  when(!io.busy) {
    range := io.mark.bits
    at.cluster := io.cluster
    at.word := io.mark.bits.firstWord(p)
    lastWord := io.mark.bits.lastWord(p)
  }
  switch(state) {
    is(State.idle) {
      when(io.mark.valid)(state := State.fetch)
    }
    is(State.fetch)(state := Mux(whole, State.put, State.wait_))
    is(State.wait_)(state := State.change)
    is(State.change)(state := State.put)
    is(State.put) {
      at.word := at.word + 1.U
      when(last)(state := State.idle)
    }
  }

  assert(!(io.mark.valid && io.busy), "slots are hinted while others still are being noted")
  assert(!(io.busy && (io.read.valid || io.write.valid)), "a unit uses hinted slots that are being noted")
  assert(!(reads && writes && readAt.asUInt === writeAt.asUInt), "hinted slots are read while they are written")
}

object HintedSlots {

  /** Words in one bank: the greatest depth of an ECP5's block RAM, which then is one bit wide. */
  private val BankDepth = 16384
}
