// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** On which kind of list a cluster is (the kernel's `enum swap_cluster_flags`); the codes are those of the records. */
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

/** What the engine keeps about a cluster beside its rows: the kernel's `struct swap_cluster_info`.
  *
  *   - count: slots in use, bad and hinted ones included, 0 to 512 (10 bits)
  *   - flag: the list it is on (3 bits)
  *   - order: the order it serves, 0 to 9 (4 bits); 0 when it is FREE
  *   - taken: it is off DISCARD, for the host to discard; its flag stays DISCARD
  */
class ClusterMeta(p: Params) extends Bundle {
  val count = UInt(p.countBits.W)
  val flag = ClusterFlag()
  val order = UInt(p.orderBits.W)
  val taken = Bool()

  /** It is on a list. */
  def listed: Bool = flag =/= ClusterFlag.none && !taken
}

/** What the kernel said about a cluster last (advisory mode): flag and order as they came, sequence number, and whether
  * any record came since the device was prepared.
  */
class KernelMeta extends Bundle {
  val applied = Bool()
  val flag = UInt(MemMap.ClusterState.Meta.Flag.width.W)
  val order = UInt(MemMap.ClusterState.Meta.Order.width.W)
  val seq = UInt(MemMap.ClusterState.Meta.Seq.width.W)
}

/** Slots `start` to `last` of a cluster, 0 to 511; none when `last` is below `start`. */
class SlotRange(p: Params) extends Bundle {
  val start = UInt(p.slotBits.W)
  val last = UInt(p.slotBits.W)

  /** The part of a row that holds the first slot, and the one that holds the last. */
  def firstPart(p: Params): UInt = start(p.slotBits - 1, p.partSlotBits)
  def lastPart(p: Params): UInt = last(p.slotBits - 1, p.partSlotBits)

  /** The slots in the range: bit i is set when slot i is (512 bits). */
  def mask(p: Params): UInt = maskOf((0 until p.slots / p.wordSlots).map(_.U), p)

  /** Those of one part of the row (128 bits). */
  def partMask(p: Params, part: UInt): UInt = {
    val words = p.partSlots / p.wordSlots
    maskOf((0 until words).map(w => part ## w.U(log2Ceil(words).W)), p)
  }

  /** Those of some words of the row.
    *
    * Two thermometers within a word, and two bits a word that say which of them count there: a look-up table a slot.
    */
  private def maskOf(numbers: Seq[UInt], p: Params): UInt = {
    val wordSlots = p.wordSlots
    val wordBits = log2Ceil(wordSlots)
    val firstWord = start >> wordBits
    val lastWord = last >> wordBits
    val inOne = firstWord === lastWord
    val above = SlotRange.from(start(wordBits - 1, 0), wordSlots)
    val upTo = ~SlotRange.beyond(last(wordBits - 1, 0), wordSlots)
    val fromFirst = above & (upTo | Fill(wordSlots, !inOne))
    VecInit(numbers.map { w =>
      val between = w > firstWord && w < lastWord
      val first = between || w === firstWord
      val end = between || (w === lastWord && !inOne)
      (fromFirst & Fill(wordSlots, first)) | (upTo & Fill(wordSlots, end)) | Fill(wordSlots, first && end)
    }).asUInt
  }
}

object SlotRange {

  /** The last slot of the aligned block of 2^order slots that begins at `slot`. */
  def lastOfBlock(slot: UInt, order: UInt, p: Params): UInt = slot | lowSlots(order, p)

  /** 2^order - 1 for the orders 0 to 9, all ones for greater ones (9 bits). */
  def lowSlots(order: UInt, p: Params): UInt = VecInit.tabulate(p.slotBits)(i => order > i.U).asUInt

  /** Bits `low` to `width` - 1. */
  def from(low: UInt, width: Int): UInt = VecInit.tabulate(width)(i => low <= i.U).asUInt

  /** Bits `low` + 1 to `width` - 1. */
  def beyond(low: UInt, width: Int): UInt = VecInit.tabulate(width)(i => low < i.U).asUInt
}

/** Bits `low` to `width` - 1 set, none when `low` is beyond: a shift, which costs less than a comparator a bit. */
object UpFrom {
  def apply(low: UInt, width: Int): UInt = (((BigInt(1) << width) - 1).U(width.W) << low)(width - 1, 0)
}

/** Numbers of a device's lists, 0 to 22. */
object ListId {
  def free(p: Params): UInt = 0.U(p.listBits.W)
  def nonfull(order: Int): Int = 1 + order
  def frag(order: Int, p: Params): Int = 1 + p.orders + order
  def full(p: Params): Int = 1 + 2 * p.orders
  def discard(p: Params): Int = 2 + 2 * p.orders

  /** The list a cluster of this flag and order belongs on. A cluster with flag NONE is on none; FREE's number stands
    * for it.
    */
  def apply(flag: ClusterFlag.Type, order: UInt, p: Params): UInt =
    MuxCase(
      free(p),
      Seq(
        (flag === ClusterFlag.nonfull) -> (nonfull(0).U +& order),
        (flag === ClusterFlag.frag) -> (frag(0, p).U +& order),
        (flag === ClusterFlag.full) -> full(p).U,
        (flag === ClusterFlag.discard) -> discard(p).U
      )
    )(p.listBits - 1, 0)
}

/** Reads a register vector by an index that is at least one bit wide, even when the vector has one element. */
object At {
  def apply[T <: Data](vec: Vec[T], index: UInt): T = if (vec.length == 1) vec.head else vec(index)
}
