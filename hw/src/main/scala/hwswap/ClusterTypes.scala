// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** On which kind of list a cluster is (the kernel's `enum swap_cluster_flags`); the codes are those of DUMP. */
object ClusterFlag extends ChiselEnum {
  val none, free, nonfull, frag, full, discard = Value

  require(
    Seq(none, free, nonfull, frag, full, discard).map(_.litValue.toInt) == Seq(
      FlagCode.None,
      FlagCode.Free,
      FlagCode.Nonfull,
      FlagCode.Frag,
      FlagCode.Full,
      FlagCode.Discard
    ),
    "the cluster flags differ from the register map's: change one of them"
  )
}

/** The engine's record of a cluster, beside its rows: the kernel's `struct swap_cluster_info`.
  *
  *   - count: slots in use, bad ones included, 0 to 512 (10 bits)
  *   - flag: the list it is on (3 bits)
  *   - order: the order it serves, 0 to 9 (4 bits); 0 when it is FREE
  *   - taken: it is off DISCARD, for the host to discard; its flag stays DISCARD
  */
class ClusterMeta(implicit p: Params) extends Bundle {
  val count = UInt(p.countBits.W)
  val flag = ClusterFlag()
  val order = UInt(p.orderBits.W)
  val taken = Bool()

  /** It is on a list. */
  def listed: Bool = flag =/= ClusterFlag.none && !taken
}

/** Slots `start` to `last` of a cluster, 0 to 511; none when `last` is below `start`. */
class SlotRange(implicit p: Params) extends Bundle {
  val start = UInt(p.slotBits.W)
  val last = UInt(p.slotBits.W)

  /** The word that holds the first slot, and the one that holds the last. */
  def firstWord: UInt = start(p.slotBits - 1, p.wordSlotBits)
  def lastWord: UInt = last(p.slotBits - 1, p.wordSlotBits)

  /** The same two slots, within their words. */
  def startIn: UInt = start(p.wordSlotBits - 1, 0)
  def lastIn: UInt = last(p.wordSlotBits - 1, 0)

  /** All slots are in one word. */
  def inOneWord: Bool = firstWord === lastWord

  /** It begins and ends at the ends of words. */
  def ofWholeWords: Bool = !startIn.orR && lastIn.andR

  /** The words it touches: bit w is set for word w. */
  def touched: UInt = VecInit.tabulate(p.words)(w => firstWord <= w.U && lastWord >= w.U).asUInt

  /** In each of those words: the slots from `startIn` to `lastIn`. */
  def maskIn: UInt = SlotRange.from(startIn, p.wordSlots) & ~SlotRange.beyond(lastIn, p.wordSlots)

  /** The slots of word `word` that are in the range. */
  def maskOf(word: UInt): UInt = {
    val above = SlotRange.from(startIn, p.wordSlots) | Fill(p.wordSlots, word > firstWord)
    val upTo = ~SlotRange.beyond(lastIn, p.wordSlots) | Fill(p.wordSlots, word < lastWord)
    above & upTo & Fill(p.wordSlots, word >= firstWord && word <= lastWord)
  }
}

object SlotRange {

  /** 2^order - 1 for the orders 0 to 9, all ones for greater ones (9 bits). */
  def lowSlots(order: UInt)(implicit p: Params): UInt = VecInit.tabulate(p.slotBits)(i => order > i.U).asUInt

  /** Bits `low` to `width` - 1. */
  def from(low: UInt, width: Int): UInt = VecInit.tabulate(width)(i => upTo(low, i)).asUInt

  /** Bits `low` + 1 to `width` - 1. */
  def beyond(low: UInt, width: Int): UInt =
    VecInit.tabulate(width)(i => if (i == 0) false.B else upTo(low, i - 1)).asUInt

  /** `low` is at most `bound`: bit by bit, since of a comparison of five bits Yosys makes a carry chain. */
  private def upTo(low: UInt, bound: Int): Bool =
    low.asBools.zipWithIndex.foldLeft(true.B) { case (rest, (bit, i)) =>
      if ((bound >> i & 1) == 1) !bit || rest else !bit && rest
    }
}

/** Picks an element by a binary index: a tree of two-to-one multiplexers, one index bit a level. */
object Select {
  def apply[T <: Data](elements: Seq[T], index: UInt): T =
    if (elements.length == 1) elements.head
    else {
      val (low, high) = elements.splitAt(elements.length / 2)
      val top = log2Ceil(elements.length) - 1
      Mux(index(top), apply(high, index(top - 1 max 0, 0)), apply(low, index(top - 1 max 0, 0)))
    }
}

/** Bits `low` to `width` - 1 set, none when `low` is beyond: a shift, which costs less than a comparator a bit. */
object UpFrom {
  def apply(low: UInt, width: Int): UInt = (((BigInt(1) << width) - 1).U(width.W) << low)(width - 1, 0)
}

/** Numbers of a device's lists, 0 to 22. */
object ListId {
  def free(implicit p: Params): UInt = 0.U(p.listBits.W)
  def nonfull(order: Int): Int = 1 + order
  def frag(order: Int)(implicit p: Params): Int = 1 + p.orders + order
  def full(implicit p: Params): Int = 1 + 2 * p.orders
  def discard(implicit p: Params): Int = 2 + 2 * p.orders

  /** The list a cluster of this flag and order belongs on. A cluster with flag NONE is on none; FREE's number stands
    * for it.
    */
  def apply(flag: ClusterFlag.Type, order: UInt)(implicit p: Params): UInt =
    MuxCase(
      free,
      Seq(
        (flag === ClusterFlag.nonfull) -> ofOrder(nonfull(0), order),
        (flag === ClusterFlag.frag) -> ofOrder(frag(0), order),
        (flag === ClusterFlag.full) -> full.U,
        (flag === ClusterFlag.discard) -> discard.U
      )
    )(p.listBits - 1, 0)

  /** Looked up, as a sum would be a carry chain. */
  private def ofOrder(first: Int, order: UInt)(implicit p: Params): UInt =
    VecInit.tabulate(1 << p.orderBits)(k => ((first + k) % (1 << p.listBits)).U(p.listBits.W))(order)
}

/** Reads a register vector by an index that is at least one bit wide, even when the vector has one element. */
object At {
  def apply[T <: Data](vec: Vec[T], index: UInt): T = if (vec.length == 1) vec.head else vec(index)
}
