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
  */
class ClusterMeta(p: Params) extends Bundle {
  val count = UInt(p.countBits.W)
  val flag = ClusterFlag()
  val order = UInt(p.orderBits.W)
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

/** Slots `start` to `end` - 1 of a cluster, `start` 0 to 511, `end` 0 to 512. */
class SlotRange(p: Params) extends Bundle {
  val start = UInt(p.countBits.W)
  val end = UInt(p.countBits.W)

  /** The part of a row that holds the first slot, and the one that holds the last. */
  def firstPart(p: Params): UInt = start(p.slotBits - 1, p.partSlotBits)
  def lastPart(p: Params): UInt = (end - 1.U)(p.slotBits - 1, p.partSlotBits)

  /** The slots of this part of a row that are in the range: bit i is set when slot i of the part is (128 bits).
    *
    * Two thermometers within a word, and two bits a word that say which of them count there: a look-up table a slot.
    */
  def mask(part: UInt, p: Params): UInt = {
    val wordBits = log2Ceil(SlotRange.WordSlots)
    val firstWord = start >> wordBits
    val endWord = end >> wordBits
    val inOne = firstWord === endWord
    val below = ~UpFrom(end(wordBits - 1, 0), SlotRange.WordSlots)
    val above = UpFrom(start(wordBits - 1, 0), SlotRange.WordSlots)
    val fromFirst = above & (below | Fill(SlotRange.WordSlots, !inOne))
    val words = (0 until p.partSlots / SlotRange.WordSlots).map { w =>
      val word = part ## w.U(log2Ceil(p.partSlots / SlotRange.WordSlots).W)
      val between = word > firstWord && word < endWord
      val first = between || word === firstWord
      val last = between || (word === endWord && !inOne)
      (fromFirst & Fill(SlotRange.WordSlots, first)) | (below & Fill(SlotRange.WordSlots, last)) |
        Fill(SlotRange.WordSlots, first && last)
    }
    VecInit(words).asUInt
  }
}

object SlotRange {

  /** A row is looked at in words of so many slots. */
  val WordSlots: Int = 32

  /** The slot `length` slots behind `slot`, which the caller knows to be at most 512. */
  def end(slot: UInt, length: UInt, p: Params): UInt = (slot +& length)(p.countBits - 1, 0)
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
