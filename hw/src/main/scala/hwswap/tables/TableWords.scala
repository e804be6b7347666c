// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, DmaReadWord}
import hwswap.tables.TableCommand.Mark

/** A job on the words of a range of slots. */
class WordsJob extends Bundle {
  val op = TableOp()

  /** scan: the kinds looked for; fill, clear: the kinds expected. */
  val kinds = UInt(TableEntry.Kinds.W)

  /** replace: the page that each word has to be of. */
  val pfn = UInt(TableEntry.PfnBits.W)

  /** scan: the bitmap of the whole cluster is wanted. */
  val bitmap = Bool()
}

/** The result of a WordsJob. */
class WordsFound(implicit p: Params) extends Bundle {

  /** The bus answered with an error; nothing else means anything then. */
  val error = Bool()

  /** A cluster had no table, and how many had one. */
  val noTable = Bool()
  val tables = UInt(p.clusterCountBits.W)

  /** Slots by kind, and those in use. */
  val counts = Vec(TableEntry.Kinds, UInt(p.usedBits.W))
  val used = UInt(p.usedBits.W)

  /** There is a slot that is looked for, or one that is not as expected: the first, and its cluster, from the range's
    * first on.
    */
  val hit = Bool()
  val cluster = UInt(p.clusterBits.W)
  val slot = UInt(p.slotBits.W)

  /** The word of the range's first slot. */
  val first = UInt(Axi.DataBits.W)
}

/** Looks at the words of a range of slots, one per cycle: tells kinds, compares with what is expected, counts, collects
  * bitmaps, and keeps the flags of those that may be written anew.
  *
  * A word's kind is known one cycle after it was taken, and counts one later. A cluster without table takes one cycle,
  * or one per slot where a bitmap of it is wanted.
  */
class TableWords(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val start = Flipped(Decoupled(new WordsJob))
    val pieces = Flipped(Decoupled(new TablePiece))
    val words = Flipped(Decoupled(new DmaReadWord(TableReader())))

    /** All has been looked at, or enough; `found` stays until the next start. */
    val done = Output(Bool())

    /** All words have come, and none with an error; rows can be read from the next cycle on, counts from the one after
      * that on.
      */
    val ends = Output(Bool())
    val found = Output(new WordsFound)

    /** Bitmaps of the last cluster: of the slots looked for, or not as expected; all of the range by kind (range). */
    val rowIndex = Input(UInt(log2Ceil(p.slots / Axi.DataBits).W))
    val row = Output(new SlotMarkRow)

    /** The flags of a slot's word; one cycle later. */
    val flagsIndex = Input(UInt(p.slotBits.W))
    val flags = Output(UInt(TableEntry.FlagBits.W))
  })
  object State extends ChiselEnum {
    val idle, next, words, blank, settle, done = Value
  }
  val state = RegInit(State.idle)
  private val job = Reg(new WordsJob)
  private val piece = Reg(new TablePiece)
  private val slot = Reg(UInt(p.slotBits.W))
  private val slotsLeft = Reg(UInt(p.countBits.W))
  private val begun = Reg(Bool())
  private val settled = Reg(UInt(2.W))
  private val found = Reg(new WordsFound)
  io.found := found

  io.start.ready := state === State.idle || state === State.done
  io.pieces.ready := state === State.next
  io.words.ready := state === State.words
  io.done := state === State.done
  io.ends := state === State.settle && settled === (TableWords.Settle - 1).U && piece.last

  // A word is taken: its kind, and whether it is that of the page expected.
  private val taken = io.words.fire || state === State.blank
  private val last = slotsLeft === 1.U
  private val word = io.words.bits.word
  private val wordIn = RegNext(taken && !(io.words.fire && io.words.bits.error), false.B)
  private val kind = RegNext(Mux(state === State.blank, TableKindCode.Free.U, TableEntry.kind(word)))
  private val same = RegNext(TableEntry.value(word) === TableEntry.page(job.pfn))
  private val at = RegNext(slot)
  private val end = RegNext(last)
  private val flags = SyncReadMem(p.slots, UInt(TableEntry.FlagBits.W), SyncReadMem.Undefined)
  io.flags := flags.read(io.flagsIndex, true.B)
  when(taken) {
    slot := slot + 1.U
    slotsLeft := slotsLeft - 1.U
    begun := true.B
  }
  when(io.words.fire) {
    flags.write(slot, TableEntry.flags(word))
    when(!begun)(found.first := word)
  }

  // It counts.
  private val listed = TableEntry.has(job.kinds, kind)
  private val marked = Seq(
    Mark.all -> true.B,
    Mark.listed -> listed,
    Mark.unlisted -> !listed,
    Mark.otherPage -> !same
  ).map { case (mark, met) => TableCommand.has(job.op)(_.mark == mark) && met }.reduce(_ || _)
  private val marks = Module(new SlotMarks)
  marks.io.clear := io.start.fire
  marks.io.in.valid := wordIn
  marks.io.in.bits.slot := at
  marks.io.in.bits.kind := kind
  marks.io.in.bits.mark := marked
  marks.io.in.bits.end := end
  marks.io.index := io.rowIndex
  io.row := marks.io.row
  when(wordIn) {
    for ((count, k) <- found.counts.zipWithIndex) when(kind === k.U)(count := count + 1.U)
    when(TableEntry.inUse(kind))(found.used := found.used + 1.U)
    when(marked && !found.hit) {
      found.hit := true.B
      found.cluster := piece.cluster
      found.slot := at
    }
  }

  private val isScan = job.op === TableOp.scan
  private val isEnough = found.hit && isScan
  private val free = found.counts(TableKindCode.Free)
  switch(state) {
    is(State.next) {
      settled := 0.U
      when(io.pieces.fire) {
        val now = io.pieces.bits
        val onward = Mux(now.last, State.done, State.next)
        piece := now
        slot := now.first
        slotsLeft := now.count
        when(now.table) {
          found.tables := found.tables + 1.U
          state := State.words
        }.otherwise {
          found.noTable := true.B
          state := State.done
          switch(job.op) {
            is(TableOp.count) {
              free := free + now.count
              state := onward
            }
            is(TableOp.scan) {
              // The slots are free, so the first is a hit, or none.
              when(!job.kinds(TableKindCode.Free)) {
                state := onward
              }.elsewhen(job.bitmap) {
                state := State.blank
              }.otherwise {
                found.hit := true.B
                found.cluster := now.cluster
                found.slot := now.first
              }
            }
            is(TableOp.range)(state := State.blank)
          }
        }
      }
    }
    is(State.words) {
      when(io.words.fire && io.words.bits.error) {
        found.error := true.B
        state := State.done
      }.elsewhen(isEnough && !job.bitmap) {
        state := State.done
      }.elsewhen(io.words.fire && last)(state := State.settle)
    }
    is(State.blank)(when(last)(state := State.settle))
    is(State.settle) {
      settled := settled + 1.U
      when(settled === TableWords.Settle.U)(state := Mux(isEnough || piece.last, State.done, State.next))
    }
  }
  when(io.start.fire) {
    state := State.next
    job := io.start.bits
    begun := false.B
    found := 0.U.asTypeOf(found)
  }
  assert(!io.words.fire || io.words.bits.reader === TableReader.words, "words of somebody else's read")
  assert(!io.words.fire || io.words.bits.last === last, "a read of more or fewer words than the range has")
}

object TableWords {

  /** Cycles until the last word has counted and its row can be read. */
  private val Settle = 2
}
