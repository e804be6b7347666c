// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Order in which the slow path looks at a device's lists: the kernel's `cluster_alloc_swap_entry()`.
  *
  * Position 0 is FREE (one cluster) of a device whose free clusters come first, 1 NONFULL[order] (the whole list), 2
  * FREE of any other device, 3 FRAG[order] (one cluster); for order 0 then, o from 1 to 9, position 2 o + 2 is FRAG[o]
  * and 2 o + 3 NONFULL[o] (whole lists). Order 9 has FREE only. From a position and the lists that hold something
  * follows, one cycle later, the next list to take a cluster from.
  */
class AllocWalk(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val order = Input(UInt(p.orderBits.W))

    /** FREE comes before NONFULL, as on a discarding device. */
    val freeFirst = Input(Bool())

    /** FRAG[order] is gone through as a whole list; it is not looked at. */
    val allFrag = Input(Bool())
    val noFrag = Input(Bool())

    /** Lists that are not empty, by ListId. */
    val nonEmpty = Input(UInt(p.lists.W))

    /** The first position to look at. */
    val from = Input(UInt(AllocWalk.bits.W))

    /** One cycle later: there is a list at or after `from` that is not empty; its position, its number, and whether
      * all of it is gone through.
      */
    val valid = Output(Bool())
    val position = Output(UInt(AllocWalk.bits.W))
    val list = Output(UInt(p.listBits.W))
    val whole = Output(Bool())
  })

  private val topOrder = io.order === (p.orders - 1).U

  /** A position: the list there, and whether the order looks at it. */
  private val steps: Seq[(UInt, Bool)] = Seq(
    (ListId.free, io.freeFirst),
    (nonfull(io.order), !topOrder),
    (ListId.free, !io.freeFirst),
    (frag(io.order), !topOrder && !io.noFrag)
  ) ++ (1 until p.orders).flatMap(o =>
    Seq((ListId.frag(o).U(p.listBits.W), io.order === 0.U), (ListId.nonfull(o).U(p.listBits.W), io.order === 0.U))
  )
  require(steps.length == AllocWalk.positions)

  private val present = VecInit(io.nonEmpty.asBools)
  private val ahead = UpFrom(io.from, steps.length)
  private val open = steps.zipWithIndex.map { case ((list, used), at) =>
    RegNext(used && present(list) && ahead(at))
  }
  // The list is an address of a memory in the same cycle: a tree, since a chain would be as long as the walk.
  private val places = 1 << log2Ceil(steps.length)
  private def filled[T <: Data](some: Seq[T], none: T): Seq[T] = some ++ Seq.fill(places - some.length)(none)
  private val choice = FirstSet.choose(filled(open, false.B), filled(steps.map(_._1), 0.U(p.listBits.W)))
  io.valid := choice.found
  io.position := choice.index
  io.list := choice.chosen
  io.whole := AllocWalk.whole(io.position) || (io.allFrag && io.position === AllocWalk.Frag.U)

  private def nonfull(order: UInt): UInt = ListId(ClusterFlag.nonfull, order)
  private def frag(order: UInt): UInt = ListId(ClusterFlag.frag, order)
}

object AllocWalk {
  val FreeFirst: Int = 0
  val Nonfull: Int = 1
  val Free: Int = 2
  val Frag: Int = 3

  /** At this position is FREE. */
  def isFree(position: UInt): Bool = position === FreeFirst.U || position === Free.U

  /** All of the list at this position is gone through, not one cluster only. */
  def whole(position: UInt): Bool = position === Nonfull.U || position > Frag.U

  def positions(implicit p: Params): Int = 4 + 2 * (p.orders - 1)

  /** Width of a position, the one after the last included. */
  def bits(implicit p: Params): Int = log2Ceil(positions + 1)
}
