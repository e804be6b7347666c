// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import hwswap.bus.AxiMemory

/** The kernel's side of grants in host memory, for tests: stores what it would store, and finds entries. */
class GrantMemory(memory: AxiMemory) {
  import GrantMemory._

  /** A cluster's state. */
  def change(cluster: Int, used: BigInt, list: Int, order: Int, epoch: Int): Unit = {
    for ((word, i) <- Bitmaps.words(used).zipWithIndex) memory(Chunk + 64L * cluster + 8 * i) = word.toLong
    val at = Words + 4L * cluster & ~7L
    val shift = 32 * (cluster & 1)
    memory(at) = memory(at) & ~(0xffffffffL << shift) | (order | list << 4 | epoch << 8).toLong << shift
  }

  def want(cpu: Int, orders: Int): Unit = memory(CpuLines + 64L * cpu + 8) = orders.toLong

  /** Where an entry is. */
  def place(cpu: Int, order: Int, index: Int): Long =
    Rings + ((cpu * 10 + order) * (1L << Params.GrantRingLog2) + index) * 8

  /** An entry that grants. */
  def entry(cluster: Int, device: Int, order: Int, epoch: Int, phase: Int): Long =
    cluster | device.toLong << 32 | order.toLong << 37 | epoch.toLong << 41 | 1L << 62 | phase.toLong << 63
}

object GrantMemory {
  val Words: Long = 0x44000L
  val Chunk: Long = 0x200000L
  val CpuLines: Long = 0x46000L
  val NoRun: Long = 0x47000L
  val Rings: Long = 0x48000L
}
