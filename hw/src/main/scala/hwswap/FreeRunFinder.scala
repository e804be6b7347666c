// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** First fit in a part of a row: the first free run of 2^order slots, at a multiple of 2^order, whose first slot is
  * allowed. It mirrors the loop over `cluster_scan_range()` in the kernel's `alloc_swap_scan_cluster()`.
  *
  * A part is 128 bits, a set bit is a slot in use. Two stages: the answer to a `find` is there in the next cycle, and
  * stays until the next `find`. Runs that are longer than a part are put together by OpenCluster.
  */
class FreeRunFinder(p: Params) extends Module {
  val io = IO(new Bundle {

    /** Look, in this cycle's part. */
    val find = Input(Bool())

    /** Slots in use, 128 bits. */
    val used = Input(UInt(p.partSlots.W))

    /** Slots a run may start at, 128 bits. */
    val allowed = Input(UInt(p.partSlots.W))

    /** 0 to 7; a greater one is never found. */
    val order = Input(UInt(p.orderBits.W))

    /** There is such a run. */
    val found = Output(Bool())

    /** Its first slot, 0 to 127; meaningless when none was found. */
    val slot = Output(UInt(p.partSlotBits.W))
  })

  // Stage 1: bit i of starts(k) says that slots i to i + 2^k - 1 are free and i is a multiple of 2^k. Each order
  // follows from the one below: both halves are free.
  private val starts = (1 to p.partSlotBits).scanLeft((~io.used).asUInt) { (below, order) =>
    val half = 1 << (order - 1)
    val aligned = (0 until p.partSlots by (2 * half)).foldLeft(BigInt(0))((row, slot) => row.setBit(slot))
    below & (below >> half).pad(p.partSlots) & aligned.U(p.partSlots.W)
  }
  private val wanted = starts.zipWithIndex
    .map { case (row, k) => row & Fill(p.partSlots, io.order === k.U) }
    .reduce(_ | _)
  private val candidates = RegEnable(wanted & io.allowed, io.find)

  // Stage 2: the first word with a candidate, and in each word the first candidate.
  private val wordSlots = SlotRange.WordSlots
  private val words = (0 until p.partSlots by wordSlots).map(low => candidates(low + wordSlots - 1, low))
  private val firsts = words.map(PriorityEncoder(_))
  private val word = PriorityEncoder(words.map(_.orR))
  io.found := candidates.orR
  io.slot := word ## VecInit(firsts)(word)
}
