// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A row of HintedSlots, or none. */
class HintRow(implicit p: Params) extends Bundle {
  val valid = Bool()
  val number = UInt(log2Ceil(p.hintRows).W)
}

/** Which slots are in outstanding hints (advisory mode).
  *
  * Only a cluster with hinted slots has a row: a bit a slot, in words of 32. A directory says which row a cluster has,
  * and for each row a bit a word says which of its words are not 0: the others hold anything. A row without such a word
  * goes back to the free ones, which are a list through the same memory. There are as many rows as hints can be
  * outstanding (Params.hintRows), and each row has a slot of a hint of its own, so there always is a free one.
  *
  * `mark` sets the bits of an allocation's slots on its own, after the allocation: 6 cycles for a word that changes in
  * part, 3 and one for each word for whole ones. A unit has the open cluster looked up, then reads words and takes bits
  * out of them. Nobody uses the memories until `busy` is low. After reset the directory is gone through, a cluster a
  * cycle, and `busy` is high meanwhile. Reading what is written in the same cycle gives nothing defined; assertions say
  * that it does not happen. An engine without advisory mode has no such memories: no slot is ever hinted.
  */
class HintedSlots(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** All slots of this range of the cluster are hinted from now on: in one word, or whole words. */
    val mark = Flipped(Valid(new SlotRange))
    val cluster = Input(UInt(p.clusterBits.W))
    val busy = Output(Bool())

    /** In the next cycle slots may be marked, unless some are in this. */
    val nextRoom = Output(Bool())

    /** A unit's work on the cluster begins, which has been this one in the last cycle and is until the work's end. */
    val lookUp = Input(Bool())

    /** A unit reads a word, from the cycle after `lookUp` on; it is there three cycles later. */
    val read = Flipped(Valid(UInt(p.wordBits.W)))
    val word = Output(UInt(p.wordSlots.W))

    /** A unit replaces a word by what is left of it. Two cycles later that is noted, and the unit's work may end. */
    val write = Flipped(Valid(UInt(p.wordBits.W)))
    val newWord = Input(UInt(p.wordSlots.W))

    /** There was no row for a cluster with hinted slots (one cycle). */
    val fault = Output(Bool())
  })

  io.busy := false.B
  io.nextRoom := true.B
  io.word := 0.U
  io.fault := false.B
  if (p.advisory) body()

  private def body(): Unit = {
    object State extends ChiselEnum {
      val idle, find, fetch, wait_, change, put = Value
    }
    val state = RegInit(State.idle)
    val range = Reg(new SlotRange)
    val cluster = Reg(UInt(p.clusterBits.W))
    val at, lastWord = Reg(UInt(p.wordBits.W))
    val whole = range.ofWholeWords
    val marking = state =/= State.idle
    val last = state === State.put && at === lastWord
    val sweeping = RegInit(true.B)
    val sweepAt = RegInit(0.U(p.clusterBits.W))
    when(sweeping) {
      sweepAt := sweepAt + 1.U
      sweeping := sweepAt =/= (p.clusters - 1).U
    }
    io.busy := marking || sweeping
    io.nextRoom := (!marking || last) && !sweeping

    when(!marking) {
      range := io.mark.bits
      cluster := io.cluster
      at := io.mark.bits.firstWord
      lastWord := io.mark.bits.lastWord
    }
    switch(state) {
      is(State.idle) {
        when(io.mark.valid)(state := State.find)
      }
      is(State.find)(state := State.fetch)
      is(State.fetch)(state := Mux(whole, State.put, State.wait_))
      is(State.wait_)(state := State.change)
      is(State.change)(state := State.put)
      is(State.put) {
        at := at + 1.U
        when(last)(state := State.idle)
      }
    }

    // Which row. In the cycle after it was found it may be used, and is replaced by a free one if there was none.
    val directory = SyncReadMem(p.clusters, new HintRow, SyncReadMem.Undefined)
    val entry = directory.read(io.cluster)
    val row = Reg(new HintRow)
    val found = io.lookUp || state === State.find
    val free = RegInit(HintedSlots.rowOf(0.U, true.B))
    val taking = state === State.fetch && !row.valid
    val took = RegNext(taking, false.B)

    // Two cycles after it was found there is what is known of it: its words that are not 0, or the next free row.
    val known = SyncReadMem(p.hintRows, UInt(p.words.max(free.getWidth).W), SyncReadMem.Undefined)
    val knownWords = known.read(Mux(taking, free.number, row.number))
    val mask = Reg(UInt(p.words.W))
    when(RegNext(RegNext(found, false.B), false.B)) {
      mask := Mux(took || !row.valid, 0.U, knownWords)
    }

    // The words. There is a register before the memory, and one behind it.
    val depth = HintedSlots.depth
    val banks = (p.hintRows * p.words + depth - 1) / depth
    val placeBits = log2Ceil(depth)
    def addressOf(word: UInt): UInt = (row.number ## word).pad(placeBits)
    def placeOf(word: UInt): UInt = addressOf(word)(placeBits - 1, 0)
    def isIn(bank: Int, word: UInt): Bool = (addressOf(word) >> placeBits) === bank.U
    val readAt = RegNext(Mux(marking, at, io.read.bits))
    val writes = RegNext(Mux(marking, state === State.put, io.write.valid), false.B) && row.valid
    val writeAt = RegNext(Mux(marking, at, io.write.bits))
    val data = RegNext(Mux(marking, Mux(whole, 0.U, io.word) | range.maskIn, io.newWord))
    val words = Seq.tabulate(banks) { bank =>
      val ram = SyncReadMem(depth, UInt(p.wordSlots.W), SyncReadMem.Undefined)
      when(writes && isIn(bank, writeAt))(ram.write(placeOf(writeAt), data))
      ram.read(placeOf(readAt)) & Fill(p.wordSlots, RegNext(isIn(bank, readAt)))
    }
    val isSet = RegNext(mask(RegNext(readAt)))
    io.word := RegNext(words.reduce(_ | _)) & Fill(p.wordSlots, isSet)

    // What was written is noted one cycle later. A row without a word is free.
    when(writes) {
      mask := VecInit.tabulate(p.words)(w => Mux(writeAt === w.U, data.orR, mask(w))).asUInt
    }
    val noting = RegNext(writes, false.B) && row.valid
    val emptied = noting && mask === 0.U
    val nextFree = HintedSlots.rowOf(sweepAt + 1.U, sweepAt =/= (p.hintRows - 1).U)
    when((sweeping && sweepAt < p.hintRows.U) || noting) {
      known.write(
        Mux(sweeping, sweepAt(row.number.getWidth - 1, 0), row.number),
        Mux(sweeping, nextFree.asUInt, Mux(emptied, free.asUInt, mask))
      )
    }
    val relinking = sweeping || taking || emptied
    when(relinking) {
      directory.write(Mux(sweeping, sweepAt, cluster), HintedSlots.rowOf(free.number, taking))
    }
    when(taking) {
      row := free
    }.elsewhen(found) {
      row := entry
    }.elsewhen(emptied) {
      row.valid := false.B
    }
    when(took) {
      free := knownWords.asTypeOf(free)
    }.elsewhen(emptied) {
      free := row
    }
    io.fault := taking && !free.valid

    assert(!io.fault, "more clusters have hinted slots than hints can be outstanding")
    assert(!(io.mark.valid && io.busy), "slots are hinted while others still are being noted")
    assert(
      !(io.busy && (io.lookUp || io.read.valid || io.write.valid)),
      "a unit uses hinted slots that are being noted"
    )
    assert(!(found && writes), "a row is looked up while another is written")
    assert(!(found && (relinking || RegNext(relinking, false.B))), "a row is looked up while one changes hands")
    assert(!io.lookUp || RegNext(io.cluster) === io.cluster, "the cluster changes when its row is looked up")
    assert(
      !(RegNext(io.read.valid || state === State.fetch, false.B) && writes && readAt === writeAt),
      "hinted slots are read while they are written"
    )
    assert(!(RegNext(io.write.valid, false.B) && data.orR && !(row.valid && mask(writeAt))), "a unit hints slots")
  }
}

object HintedSlots {
  private def rowOf(number: UInt, valid: Bool)(implicit p: Params): HintRow = {
    val row = Wire(new HintRow)
    row.valid := valid
    row.number := number(row.number.getWidth - 1, 0)
    row
  }

  /** Words in one bank. An ECP5's block RAM is 512 words of 32 bits, 2^k times as deep when it is 2^k times as narrow,
    * and never deeper than 16,384; of few banks the right word is soon picked.
    */
  private def depth(implicit p: Params): Int = {
    val words = p.hintRows * p.words
    LazyList.iterate(512)(_ * 2).find(depth => words <= 8 * depth || depth == 16384).get
  }
}
