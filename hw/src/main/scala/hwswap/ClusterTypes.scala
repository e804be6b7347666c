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

/** Slots `start` to `end` - 1 of a cluster, both 0 to 512. */
class SlotRange(p: Params) extends Bundle {
  val start = UInt(p.countBits.W)
  val end = UInt(p.countBits.W)

  /** The range as a row: bit i is set when slot i is inside (512 bits). */
  def mask(p: Params): UInt = SlotRange.upFrom(start, p) & ~SlotRange.upFrom(end, p)
}

object SlotRange {

  /** The slot `length` slots behind `slot`, which the caller knows to be at most 512. */
  def end(slot: UInt, length: UInt, p: Params): UInt = (slot +& length)(p.countBits - 1, 0)

  /** A row with the bits `slot` to 511 set; none for 512 (512 bits). */
  def upFrom(slot: UInt, p: Params): UInt = (Fill(p.slots, 1.U(1.W)) << slot)(p.slots - 1, 0)
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
