// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** First fit in a row: the first free run of 2^order slots at or above a slot, at a multiple of 2^order. It mirrors the
  * loop over `cluster_scan_range()` in the kernel's `alloc_swap_scan_cluster()`.
  *
  * The row is 512 bits, a set bit is a slot in use. Two stages: the answer to a `find` is there in the next cycle, and
  * stays until the next `find`.
  */
class FreeRunFinder(p: Params) extends Module {
  val io = IO(new Bundle {

    /** Look, in this cycle's row. */
    val find = Input(Bool())

    /** Slots in use, 512 bits. */
    val used = Input(UInt(p.slots.W))

    /** 0 to 9; a greater one is never found. */
    val order = Input(UInt(p.orderBits.W))

    /** The lowest slot allowed, 0 to 511. */
    val from = Input(UInt(p.slotBits.W))

    /** There is such a run. */
    val found = Output(Bool())

    /** Its first slot, 0 to 511; meaningless when none was found. */
    val slot = Output(UInt(p.slotBits.W))
  })

  // Stage 1: bit i of starts(k) says that slots i to i + 2^k - 1 are free and i is a multiple of 2^k. Each order
  // follows from the one below: both halves are free.
  private val starts = (1 until p.orders).scanLeft((~io.used).asUInt) { (below, order) =>
    val half = 1 << (order - 1)
    val aligned = (0 until p.slots by (2 * half)).foldLeft(BigInt(0))((row, slot) => row.setBit(slot))
    below & (below >> half).pad(p.slots) & aligned.U(p.slots.W)
  }
  private val wanted = MuxLookup(io.order, 0.U(p.slots.W))(starts.zipWithIndex.map { case (row, k) => k.U -> row })
  private val candidates = RegEnable(wanted & SlotRange.upFrom(io.from, p), io.find)

  // Stage 2: the first word with a candidate, then the first candidate in that word.
  private val wordBits = FreeRunFinder.WordBits
  private val words = VecInit.tabulate(p.slots / wordBits)(w => candidates(w * wordBits + wordBits - 1, w * wordBits))
  private val word = PriorityEncoder(words.map(_.orR))
  io.found := candidates.orR
  io.slot := word ## PriorityEncoder(words(word))
}

object FreeRunFinder {

  /** A row is looked at in words of so many slots. */
  val WordBits: Int = 32
}
