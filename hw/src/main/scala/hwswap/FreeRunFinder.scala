// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** First fit in a row: the first free run of 2^order slots, at a multiple of 2^order, behind a given slot. It mirrors
  * the loop over `cluster_scan_range()` in the kernel's `alloc_swap_scan_cluster()`.
  *
  * Two stages: in the cycle in which the row is shown, every run that could be given is marked; in the next one the
  * first of them is named. The answer stays until the next row is shown.
  */
class FreeRunFinder(p: Params) extends Module {
  val io = IO(new Bundle {

    /** Look, in this cycle's row. */
    val find = Input(Bool())

    /** Slots in use, 512 bits. */
    val used = Input(UInt(p.slots.W))

    /** A run begins behind this slot, or anywhere. */
    val behind = Input(UInt(p.slotBits.W))
    val anywhere = Input(Bool())

    /** 0 to 9; nothing is found for a greater one. */
    val order = Input(UInt(p.orderBits.W))

    /** There is such a run. */
    val found = Output(Bool())

    /** Its first slot; meaningless when none was found. */
    val slot = Output(UInt(p.slotBits.W))
  })

  // Stage 1: bit i of starts(k) says that slots i to i + 2^k - 1 are free. It is looked at where i is a multiple of
  // 2^k. Each order follows from the one below: both halves are free.
  private val starts = (1 to p.slotBits).scanLeft((~io.used).asBools) { (below, order) =>
    val half = 1 << (order - 1)
    below.indices.map(i => if (i % (2 * half) == 0) below(i) && below(i + half) else false.B)
  }
  private val isOrder = VecInit.tabulate(p.orders)(k => io.order === k.U)
  private val wordBits = log2Ceil(p.wordSlots)
  private val ahead = SlotRange.beyond(io.behind(wordBits - 1, 0), p.wordSlots)
  private val runs = (0 until p.slots).map { i =>
    val word = (i >> wordBits).U
    val mayStart = io.anywhere || word > (io.behind >> wordBits) ||
      (word === (io.behind >> wordBits) && ahead(i & (p.wordSlots - 1)))
    val fits = (0 until p.orders).filter(k => i % (1 << k) == 0).map(k => starts(k)(i) && isOrder(k)).reduce(_ || _)
    fits && mayStart
  }
  private val candidates = RegEnable(VecInit(runs).asUInt, io.find)

  // Stage 2.
  private val first = FirstSet(candidates)
  io.found := first.valid
  io.slot := first.bits
}

/** The index of the lowest bit that is set. A tree of groups of four, since a chain would be as long as the row. */
object FirstSet {
  def apply(bits: UInt): Valid[UInt] = {
    require(isPow2(bits.getWidth) && bits.getWidth > 1, "the tree wants a power of two of bits")
    tree(bits.asBools)
  }

  private def tree(bits: Seq[Bool]): Valid[UInt] = {
    val result = Wire(Valid(UInt(log2Ceil(bits.length).W)))
    val groups = if (bits.length % 4 == 0) 4 else 2
    val any = bits.grouped(bits.length / groups).map(VecInit(_).asUInt.orR).toSeq
    val group =
      if (groups == 2) !any(0) else (!any(0) && !any(1)) ## (!any(0) && (any(1) || !any(2)))
    result.valid := any.reduce(_ || _)
    result.bits := (
      if (bits.length == groups) group.asUInt
      else group.asUInt ## VecInit(bits.grouped(bits.length / groups).map(tree(_).bits).toSeq)(group.asUInt)
    )
    result
  }
}
