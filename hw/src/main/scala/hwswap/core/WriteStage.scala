// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** The stage `write`, the cycle after the commit: the hint that an allocation leaves. The commit makes it.
  *
  *   - searched: a cluster counts as searched: the hint of `key` is written
  *   - key: the CPU's for the order, or the rotating device's
  *   - hint: the place after the allocated slots; invalid where there are none, or where the cluster ends there
  *   - draws: a random trunk may take the place of a hint that is invalid (policy RANDOM_TRUNK)
  */
class WriteStage(implicit p: Params) extends Bundle {
  val searched = Bool()
  val key = new HintKey
  val hint = new CpuHint
  val draws = Bool()
}

/** Carries the stage `write` out. */
class HintWriter(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val commit = Input(new WriteStage)

    /** The device of the look and the commit: its first cluster, and how many it has. */
    val base = Input(UInt(p.clusterBits.W))
    val clusters = Input(UInt(p.clusterCountBits.W))

    /** Of the random trunks' generator: see Trunks. */
    val reseed = Input(Bool())
    val seed = Input(UInt(RegMap.Policy.Seed.width.W))

    /** One cycle after the commit. */
    val newHint = Valid(new HintWrite)
  })
  private val none = Wire(new WriteStage)
  none := DontCare
  none.searched := false.B
  none.draws := false.B
  private val write = RegNext(io.commit, none)

  // Without a hint, it is a random trunk, unless that is the device's first.
  private val trunks = Module(new Trunks)
  trunks.io.reseed := io.reseed
  trunks.io.seed := io.seed
  trunks.io.clusters := io.clusters
  private val draws = write.draws && !write.hint.valid
  trunks.io.draw := draws
  private val trunk = Wire(new CpuHint)
  trunk.valid := RegNext(!trunks.io.isFirst)
  trunk.device := write.hint.device
  trunk.cluster := RegNext((RegNext(io.base) + trunks.io.cluster)(p.clusterBits - 1, 0))
  trunk.last := DontCare
  trunk.whole := true.B

  io.newHint.valid := write.searched
  io.newHint.bits.key := write.key
  io.newHint.bits.hint := Mux(draws, trunk, write.hint)
}
