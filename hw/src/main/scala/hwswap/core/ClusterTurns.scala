// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Decides whose turn it is: the intake, the executor, the slow path and the units share the open cluster and the
  * store's one port.
  */
object ClusterTurns {

  /** Joins them.
    *
    * @param unitTurn
    *   a unit carries a request out, in all cycles in which it asks for something
    * @param unitOpen
    *   a unit asks for this cluster. It is noted in one cycle, read in the next and opened in the one after that
    * @param unitMeta
    *   a unit's new record of the open cluster
    * @return
    *   a unit's cluster was opened in the cycle before
    */
  def join(cluster: OpenCluster, intake: Intake, executor: Executor, slowPath: SlowPath)(
      unitTurn: Bool,
      unitOpen: Valid[UInt],
      unitMeta: Valid[ClusterMeta]
  )(implicit p: Params): Bool = {
    val nothing = 0.U.asTypeOf(Valid(UInt(p.clusterBits.W)))
    val read = RegNext(unitOpen, nothing)
    val open = RegNext(read, nothing)
    cluster.io.read.valid := intake.io.read.valid || slowPath.io.read.valid || read.valid
    // The intake's cluster comes last, and it is far from here to the store.
    cluster.io.read.bits := Mux(
      read.valid || executor.io.next.exclusive,
      Mux(read.valid, read.bits, slowPath.io.read.bits),
      intake.io.read.bits
    )
    cluster.io.open.valid := executor.io.open.valid || slowPath.io.open.valid || open.valid
    cluster.io.open.bits := Mux(
      open.valid,
      open.bits,
      Mux(slowPath.io.open.valid, slowPath.io.open.bits, executor.io.open.bits)
    )
    cluster.io.newMeta.valid := unitMeta.valid || executor.io.newMeta.valid
    cluster.io.newMeta.bits := Mux(unitTurn, unitMeta.bits, executor.io.newMeta.bits)
    cluster.io.newEmpty := Mux(unitTurn, unitMeta.bits.count === 0.U, executor.io.newEmpty)
    // For a unit it does not matter.
    cluster.io.nextOrder := Mux(executor.io.onSlowPath, executor.io.search.order, intake.io.next.op.bits.order)
    RegNext(open.valid, false.B)
  }
}
