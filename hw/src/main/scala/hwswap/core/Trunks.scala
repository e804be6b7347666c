// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Policy HINT: RANDOM_TRUNK: draws a place to go on, a random trunk of a device. A trunk is 32 clusters (64 MiB).
  *
  * The generator is Marsaglia's xorshift with 32 bits (13, 17, 5); its next number is held ready. The lowest bits that
  * can hold the highest trunk's number are taken; a number too high is reduced by the number of trunks.
  */
class Trunks(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Start from `seed`, or from 1 if it is 0. */
    val reseed = Input(Bool())
    val seed = Input(UInt(32.W))

    /** Clusters of the device, at least 1; the trunk is there one cycle later. */
    val clusters = Input(UInt(p.clusterCountBits.W))

    /** The trunk is used up: the next one shows in the next cycle. */
    val draw = Input(Bool())

    /** First cluster of the trunk, counted from the device's first; it may be the device's first itself. */
    val cluster = Output(UInt(p.clusterBits.W))
    val isFirst = Output(Bool())
  })

  private val drawn = RegInit(Trunks.next(1.U(32.W)))
  when(io.reseed) {
    drawn := Trunks.next(Mux(io.seed === 0.U, 1.U(32.W), io.seed))
  }.elsewhen(io.draw) {
    drawn := Trunks.next(drawn)
  }

  private val size = log2Ceil(Trunks.Clusters)
  private val numberBits = (p.clusterCountBits - size).max(1)
  private val count = RegNext((io.clusters +& (Trunks.Clusters - 1).U) >> size)
  private val last = (io.clusters - 1.U) >> size
  private val highest = RegNext(last)

  // As many bits as the highest trunk's number has.
  private val mask = RegNext(VecInit.tabulate(numberBits)(i => (last >> i) =/= 0.U).asUInt)
  private val trunk = drawn & mask
  private val inside = Mux(trunk > highest, trunk - count, trunk)
  io.isFirst := Mux(trunk > highest, trunk === count, trunk === 0.U)
  io.cluster := (inside << size)(p.clusterBits - 1, 0)
}

object Trunks {

  /** Clusters of a trunk. */
  val Clusters: Int = 32

  /** The number after `state`, which is not 0; 32 bits. */
  def next(state: UInt): UInt = {
    val a = state ^ (state << 13)(31, 0)
    val b = a ^ (a >> 17)
    b ^ (b << 5)(31, 0)
  }
}
