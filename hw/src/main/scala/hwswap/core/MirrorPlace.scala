// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._

/** Where a cluster belongs in the engine's lists after the kernel's record of it was applied (no state).
  *
  * The kernel's place is taken over, as far as it can be: hinted slots count as in use for the engine, and a cluster
  * the kernel still has as FREE is where the engine's own hints have put it.
  */
class MirrorPlace(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** The engine's present flag and order. */
    val flag = Input(ClusterFlag())
    val order = Input(UInt(p.orderBits.W))

    /** The kernel's, as they came. */
    val kernelFlag = Input(UInt(MemMap.ClusterState.Meta.Flag.width.W))
    val kernelOrder = Input(UInt(MemMap.ClusterState.Meta.Order.width.W))

    /** Slots in K or H, 0 to 512. */
    val count = Input(UInt(p.countBits.W))

    /** H is not empty. */
    val hinted = Input(Bool())
    val newFlag = Output(ClusterFlag())
    val newOrder = Output(UInt(p.orderBits.W))
  })

  private def kernelSays(code: Int): Bool = io.kernelFlag === code.U

  // A record that makes no sense keeps its cluster out of the lists.
  private val sane = io.kernelFlag <= FlagCode.Discard.U && io.kernelOrder < p.orders.U
  private val offList = kernelSays(FlagCode.None) || !sane
  private val listed = io.flag.isOneOf(ClusterFlag.nonfull, ClusterFlag.frag)

  // The kernel does not know yet what the engine's hints will make of the cluster.
  private val predicted = io.hinted && sane && (kernelSays(FlagCode.Free) || kernelSays(FlagCode.None))

  private val unusable = (offList && !predicted) || (sane && kernelSays(FlagCode.Discard))
  private val full = io.count === p.slots.U
  private val empty = io.count === 0.U
  private val stays = predicted && (listed || (kernelSays(FlagCode.None) && io.flag =/= ClusterFlag.full))

  io.newOrder := Mux(predicted, io.order, Mux(sane, io.kernelOrder, 0.U))
  when(unusable) {
    io.newFlag := Mux(offList, ClusterFlag.none, ClusterFlag.discard)
  }.elsewhen(full) {
    io.newFlag := ClusterFlag.full
  }.elsewhen(empty) {
    io.newFlag := ClusterFlag.free
    io.newOrder := 0.U
  }.elsewhen(stays) {
    io.newFlag := io.flag
  }.elsewhen(predicted || kernelSays(FlagCode.Frag)) {
    io.newFlag := ClusterFlag.frag
  }.otherwise {
    io.newFlag := ClusterFlag.nonfull
  }
}
