// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._

/** How many orders find an aligned free run in a bitmap (largest_run() of the golden model), counted while its eight
  * words come in, a cycle each at the most. Nothing of the bitmap is kept.
  */
class BitmapRuns extends Module {
  val io = IO(new Bundle {

    /** The next word is the first of a bitmap. */
    val start = Input(Bool())
    val word = Flipped(Valid(UInt(64.W)))

    /** Pulses when all eight came; `run` is right from then on until the next `start`. */
    val done = Output(Bool())

    /** 0: the cluster is full; k + 1: there is a run of order k, and none of more. */
    val run = Output(UInt(4.W))
  })

  private val count = Reg(UInt(3.W))
  private val number = Mux(io.start, 0.U, count)
  when(io.start)(count := 0.U)
  when(io.word.valid)(count := number + 1.U)

  // One cycle: the largest run within a word, up to all of it.
  private val there = RegNext(io.word.valid, false.B)
  private val word = RegEnable(io.word.bits, io.word.valid)
  private val place = RegEnable(number, io.word.valid)
  private val units = (1 to 6).scanLeft(~word) { (below, _) =>
    VecInit.tabulate(below.getWidth / 2)(i => below(2 * i) && below(2 * i + 1)).asUInt
  }
  private val within = PriorityMux((6 to 0 by -1).map(k => units(k).orR -> (k + 1).U(4.W)) :+ (true.B -> 0.U(4.W)))

  // The next: the largest of all words until now, and which are free as a whole.
  private val largest = Reg(UInt(4.W))
  private val empty = Reg(UInt(8.W))
  when(there) {
    empty := units(6) ## empty(7, 1)
    largest := Mux(place === 0.U || within > largest, within, largest)
  }
  io.done := RegNext(there && place === 7.U, false.B)
  private def has(words: Int): Bool =
    (0 until 8 by words).map(first => empty(first + words - 1, first).andR).reduce(_ || _)
  io.run := Mux(has(8), 10.U, Mux(has(4), 9.U, Mux(has(2), 8.U, largest)))
}
