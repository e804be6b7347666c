// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._

/** The runs of a bitmap, found while its eight words come in, a cycle each at the most: how many orders find an aligned
  * free run in it, and the first entry's mask of free units of an order, from a word on (free_units() and
  * largest_run() of the golden model). Nothing of the bitmap is kept.
  */
class BitmapRuns extends Module {
  val io = IO(new Bundle {

    /** The next word is the first of a bitmap; `order` and `from` stay until its last one. */
    val start = Input(Bool())
    val word = Flipped(Valid(UInt(64.W)))
    val order = Input(UInt(4.W))

    /** First word that the entry may speak of: a multiple of the words it speaks of. */
    val from = Input(UInt(3.W))

    /** Pulses when all eight came; the rest is right from then on until the next `start`. */
    val done = Output(Bool())

    /** 0: the cluster is full; k + 1: there is a run of order k, and none of more. */
    val run = Output(UInt(4.W))

    /** There is an entry with a free unit: its mask, and its first word. */
    val found = Output(Bool())
    val mask = Output(UInt(64.W))
    val at = Output(UInt(3.W))
  })

  private val count = Reg(UInt(3.W))
  private val number = Mux(io.start, 0.U, count)
  when(io.start)(count := 0.U)
  when(io.word.valid)(count := number + 1.U)

  // One cycle: which units of a word are free, by order, up to a whole word.
  private val there = RegNext(io.word.valid, false.B)
  private val word = RegEnable(io.word.bits, io.word.valid)
  private val place = RegEnable(number, io.word.valid)
  private val units = (1 to 6).scanLeft(~word) { (below, _) =>
    VecInit.tabulate(below.getWidth / 2)(i => below(2 * i) && below(2 * i + 1)).asUInt
  }
  private val within = PriorityMux((6 to 0 by -1).map(k => units(k).orR -> (k + 1).U(4.W)) :+ (true.B -> 0.U(4.W)))

  private val largest = Reg(UInt(4.W))
  private val empty = Reg(UInt(8.W))
  private val units64 = Reg(UInt(64.W))
  private val found = Reg(Bool())
  private val mask = Reg(UInt(64.W))
  private val at = Reg(UInt(3.W))

  // Units move in from above, so that the first is bit 0 when the entry's words are complete.
  private val moved = MuxLookup(io.order, 0.U(64.W))((0 to 5).map { k =>
    val width = 64.min(512 >> k)
    val each = 64 >> k
    k.U -> (if (each == 64) units(0) else units(k) ## units64(width - 1, each)).pad(64)
  })
  private val empties = units(6) ## empty(7, 1)
  private def allOf(words: UInt, size: Int): UInt =
    Cat((0 until 8 / size).reverse.map(i => words(size * i + size - 1, size * i).andR))
  private val ofWords = WireDefault(UInt(64.W), empties)
  for ((k, size) <- Seq(7 -> 2, 8 -> 4, 9 -> 8))
    when(io.order === k.U)(ofWords := allOf(empties, size))
  private val entry = Mux(io.order > 5.U, ofWords, moved)
  private val begins = place & ~(GrantLayout.spanWords(io.order) - 1.U)(2, 0)
  private val complete = (place & (GrantLayout.spanWords(io.order) - 1.U)(2, 0)) ===
    (GrantLayout.spanWords(io.order) - 1.U)(2, 0)
  private val first = place === 0.U

  when(there) {
    units64 := moved
    empty := empties
    largest := Mux(first || within > largest, within, largest)
    when(first)(found := false.B)
    when(complete && entry.orR && begins >= io.from && (first || !found)) {
      found := true.B
      mask := entry
      at := begins
    }
  }
  io.done := RegNext(there && place === 7.U, false.B)
  private def has(size: Int): Bool = allOf(empty, size).orR
  io.run := Mux(has(8), 10.U, Mux(has(4), 9.U, Mux(has(2), 8.U, largest)))
  io.found := found
  io.mask := mask
  io.at := at

  assert(!(there && io.from.orR) || io.order < 3.U, "an entry of a whole cluster begins within it")
}
