// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A walk over the open cluster's row, word by word.
  *
  *   - count: counts the slots used; the row can be read afterwards
  *   - init: everything but the range is used
  *   - probe: counts the slots of the range that are used
  *   - mark: the slots of the range become used
  *   - clear: the slots of the range become free
  */
object RowWalk extends ChiselEnum {
  val none, count, init, probe, mark, clear = Value
}

/** A row in the words of the bus: the reader names one, and has it in the same cycle. */
class BitmapPort(implicit p: Params) extends Bundle {
  val index = Output(UInt(log2Ceil(p.slots / p.dumpBits).W))
  val word = Input(UInt(p.dumpBits.W))
}

/** Carries walks out, one word per cycle: probe, mark and clear over the words that the range touches, the others over
  * all 16. A word passes in five cycles: it is named; it is picked; it is there with its change; it is changed and
  * counted; the counts are added up. So a walk is over 5 cycles after its last word was named.
  */
class RowWalker(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Start of a walk; the cluster is steady until its end. */
    val walk = Input(RowWalk())
    val range = Input(new SlotRange)

    /** Names a word of the open row, which is there two cycles later; replaces one. */
    val pick = Output(UInt(p.wordBits.W))
    val used = Input(UInt(p.wordSlots.W))
    val put = Valid(UInt(p.wordBits.W))
    val newUsed = Output(UInt(p.wordSlots.W))

    /** The row at the last walk that counted, for DUMP. */
    val counted = Flipped(new BitmapPort)

    /** The walk is over (one cycle). From then on there is the count. */
    val walked = Output(Bool())
    val usedCount = Output(UInt(p.countBits.W))
  })

  private val asked = RegNext(io.walk, RowWalk.none)
  private val askedRange = RegNext(io.range)
  private val starts = asked =/= RowWalk.none
  private val walk = RegEnable(asked, starts)
  private val range = RegEnable(askedRange, starts)
  private val walking = RegInit(false.B)
  private val at, last = Reg(UInt(p.wordBits.W))
  when(starts) {
    val part = asked.isOneOf(RowWalk.probe, RowWalk.mark, RowWalk.clear)
    walking := true.B
    at := Mux(part, askedRange.firstWord, 0.U)
    last := Mux(part, askedRange.lastWord, (p.words - 1).U)
  }.elsewhen(walking) {
    at := at + 1.U
    walking := at =/= last
  }

  // First cycle: the word is named. Second: it is picked.
  io.pick := at
  private val picked = RegNext(walking, false.B)
  private val pickedAt = RegNext(at)

  // Third: it is there, and so are the slots the walk is about.
  private val there = RegNext(picked, false.B)
  private val thereAt = RegNext(pickedAt)
  private val inside = RegNext(range.maskOf(thereAt))
  private val used = RegNext(io.used)

  // Fourth: it is changed and counted.
  private val changing = RegNext(there, false.B)
  private val changingAt = RegNext(thereAt)
  private def is(kind: RowWalk.Type): Bool = walk === kind
  io.put.valid := changing && !walk.isOneOf(RowWalk.count, RowWalk.probe)
  io.put.bits := changingAt
  io.newUsed := MuxCase(used & ~inside, Seq(is(RowWalk.init) -> ~inside, is(RowWalk.mark) -> (used | inside)))

  // Fifth: the counts are added up.
  private val adding = RegNext(changing, false.B)
  private val word = Wire(UInt(p.wordSlots.W))
  word := Mux(is(RowWalk.probe), used & inside, used)
  private val ofParts = word.asBools.grouped((p.wordSlots / 4).max(1)).map(part => RegNext(PopCount(part))).toSeq
  private val total = Reg(UInt(p.countBits.W))
  when(starts) {
    total := 0.U
  }.elsewhen(adding) {
    total := total + ofParts.reduceLeft(_ +& _)
  }
  io.usedCount := total
  io.walked := ShiftRegister(walking && at === last, 5, false.B, true.B)

  private val halves = p.dumpBits / p.wordSlots
  private def half(at: Int): UInt = {
    val memory = Mem(p.words / halves, UInt(p.wordSlots.W))
    when(changing && is(RowWalk.count) && changingAt(log2Ceil(halves) - 1, 0) === at.U) {
      memory.write(changingAt >> log2Ceil(halves), used)
    }
    memory.read(io.counted.index)
  }
  io.counted.word := VecInit.tabulate(halves)(half).asUInt

  assert(
    !(starts && (walking || picked || there || changing || adding)),
    "a walk begins before the one before it ended"
  )
}
