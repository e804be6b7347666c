// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A walk over the open cluster's row and its hinted slots, word by word.
  *
  *   - count: the slots used, and those hinted; what the kernel has in use can be read afterwards
  *   - load: the bitmap of a record is what the kernel uses; its slots are hinted no more. Counts the slots used
  *     afterwards, and the hinted ones that the bitmap does away with
  *   - release: the hinted slots of the range become free. Counts them
  *   - init: everything but the range is used, nothing is hinted
  *   - probe: counts the slots of the range that are used
  *   - mark: the slots of the range become used
  *   - clear: the slots of the range become free
  */
object RowWalk extends ChiselEnum {
  val none, count, load, release, init, probe, mark, clear = Value
}

/** A cluster's bitmap in somebody else's hands: the reader names a word, and has it in the same cycle. */
class BitmapPort(bits: Int)(implicit p: Params) extends Bundle {
  val index = Output(UInt(log2Ceil(p.slots / bits).W))
  val word = Input(UInt(bits.W))
}

/** Carries walks out, a word a cycle: release, probe, mark and clear over the words that the range touches, the others
  * over all 16. A word passes in five cycles: it is named; it is picked; it is there, and what changes; it is changed
  * and counted; the counts are added up. So a walk is over 5 cycles after its last word was named.
  */
class RowWalker(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Start of a walk; the cluster and a record's bitmap are steady until its end. */
    val walk = Input(RowWalk())
    val range = Input(new SlotRange)

    /** Names a word of the open row, which is there two cycles later; replaces one. */
    val pick = Output(UInt(p.wordBits.W))
    val used = Input(UInt(p.wordSlots.W))
    val put = Valid(UInt(p.wordBits.W))
    val newUsed = Output(UInt(p.wordSlots.W))

    /** The same for the hinted slots, there three cycles later. Which these are is looked up in the cycle before the
      * first word is named.
      */
    val lookUpHinted = Output(Bool())
    val readHinted = Valid(UInt(p.wordBits.W))
    val hinted = Input(UInt(p.wordSlots.W))
    val writeHinted = Valid(UInt(p.wordBits.W))
    val newHinted = Output(UInt(p.wordSlots.W))

    /** The record's bitmap. */
    val record = new BitmapPort(p.wordSlots)

    /** What the kernel had in use (used and not hinted) at the last walk that counted. */
    val kernel = Flipped(new BitmapPort(p.dumpBits))

    /** The walk is over (one cycle). From then on there are the counts; whether hinted slots are left outside of the
      * bitmap or range; whether a slot is hinted and not used.
      */
    val walked = Output(Bool())
    val usedCount = Output(UInt(p.countBits.W))
    val hintedCount = Output(UInt(p.countBits.W))
    val hintedLeft = Output(Bool())
    val stray = Output(Bool())
  })

  private val asked = RegNext(io.walk, RowWalk.none)
  private val askedRange = RegNext(io.range)
  private val starts = asked =/= RowWalk.none
  private val walk = RegEnable(asked, starts)
  private val range = RegEnable(askedRange, starts)
  private val walking = RegInit(false.B)
  private val at, last = Reg(UInt(p.wordBits.W))
  when(starts) {
    val part = asked.isOneOf(RowWalk.release, RowWalk.probe, RowWalk.mark, RowWalk.clear)
    walking := true.B
    at := Mux(part, askedRange.firstWord, 0.U)
    last := Mux(part, askedRange.lastWord, (p.words - 1).U)
  }.elsewhen(walking) {
    at := at + 1.U
    walking := at =/= last
  }
  io.lookUpHinted := starts

  // First cycle: the word is named. Second: it is picked.
  io.pick := at
  private val picked = RegNext(walking, false.B)
  private val pickedAt = RegNext(at)
  io.readHinted.valid := walking
  io.readHinted.bits := at

  // Third: it is there, and so is what the walk is about.
  private val there = RegNext(picked, false.B)
  private val thereAt = RegNext(pickedAt)
  io.record.index := thereAt
  private val inside = RegNext(Mux(walk === RowWalk.load, io.record.word, range.maskOf(thereAt)))
  private val used = RegNext(io.used)
  private val hinted = io.hinted

  // Fourth: it is changed and counted.
  private val changing = RegNext(there, false.B)
  private val changingAt = RegNext(thereAt)
  private val hintedInside = hinted & inside
  private val loaded = inside | hinted
  private def is(kind: RowWalk.Type): Bool = walk === kind
  io.put.valid := changing && !walk.isOneOf(RowWalk.count, RowWalk.probe)
  io.put.bits := changingAt
  io.newUsed := MuxCase(
    used & ~hintedInside,
    Seq(
      is(RowWalk.load) -> loaded,
      is(RowWalk.init) -> ~inside,
      is(RowWalk.mark) -> (used | inside),
      is(RowWalk.clear) -> (used & ~inside)
    )
  )
  io.writeHinted.valid := changing && walk.isOneOf(RowWalk.load, RowWalk.release, RowWalk.init)
  io.writeHinted.bits := changingAt
  io.newHinted := Mux(is(RowWalk.init), 0.U, hinted & ~inside)
  private val left, stray = Reg(Bool())
  when(starts) {
    left := false.B
    stray := false.B
  }.elsewhen(changing) {
    left := left || (hinted & ~inside).orR
    stray := stray || (hinted & ~used).orR
  }
  io.hintedLeft := left
  io.stray := stray

  // Fifth: the counts are added up.
  private val adding = RegNext(changing, false.B)
  private def count(slots: UInt): UInt = {
    val word = Wire(UInt(p.wordSlots.W))
    word := slots
    val ofParts = word.asBools.grouped((p.wordSlots / 4).max(1)).map(part => RegNext(PopCount(part))).toSeq
    val total = Reg(UInt(p.countBits.W))
    when(starts) {
      total := 0.U
    }.elsewhen(adding) {
      total := total + ofParts.reduceLeft(_ +& _)
    }
    total
  }
  io.usedCount := count(MuxCase(used, Seq(is(RowWalk.load) -> loaded, is(RowWalk.probe) -> (used & inside))))
  io.hintedCount := count(Mux(is(RowWalk.count), hinted, hintedInside))
  io.walked := ShiftRegister(walking && at === last, 5, false.B, true.B)

  // What a dump shows, in the words of whoever reads it.
  private val halves = p.dumpBits / p.wordSlots
  io.kernel.word := VecInit
    .tabulate(halves) { half =>
      val memory = Mem(p.words / halves, UInt(p.wordSlots.W))
      when(changing && is(RowWalk.count) && changingAt(log2Ceil(halves) - 1, 0) === half.U) {
        memory.write(changingAt >> log2Ceil(halves), used & ~hinted)
      }
      memory.read(io.kernel.index)
    }
    .asUInt

  assert(
    !(starts && (walking || picked || there || changing || adding)),
    "a walk begins before the one before it ended"
  )
}
