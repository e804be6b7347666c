// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import hwswap.bus.AxiMemory

/** The kernel's side of marks and grants in host memory, for tests: stores what it would store, and finds entries. */
class MarksMemory(memory: AxiMemory) {
  import MarksMemory._

  private def byte(address: Long): Unit = {
    val at = address & ~7L
    memory(at) = memory(at) | 1L << (8 * (address & 7))
  }

  /** A cluster's state, and its mark. */
  def change(cluster: Int, used: BigInt, list: Int, order: Int, epoch: Int): Unit = {
    for ((word, i) <- Bitmaps.words(used).zipWithIndex) memory(Chunk + 64L * cluster + 8 * i) = word.toLong
    val at = Words + 4L * cluster & ~7L
    val shift = 32 * (cluster & 1)
    memory(at) = memory(at) & ~(0xffffffffL << shift) | (order | list << 4 | epoch << 8).toLong << shift
    byte(Dirty + cluster)
    byte(Groups + cluster / 64)
  }

  def want(cpu: Int, orders: Int): Unit = memory(CpuLines + 64L * cpu + 8) = orders.toLong

  /** Where an entry is. */
  def place(cpu: Int, order: Int, index: Int): Long =
    Rings + ((cpu * 10 + order) * (1L << Params.GrantRingLog2) + index) * 16

  /** Word 1 of an entry that grants. */
  def word1(slot: Int, device: Int, order: Int, epoch: Int, phase: Int): Long =
    slot | device.toLong << 32 | order.toLong << 37 | epoch.toLong << 41 | 1L << 62 | phase.toLong << 63
}

object MarksMemory {
  val Groups: Long = 0x41000L
  val Dirty: Long = 0x42000L
  val Words: Long = 0x44000L
  val Chunk: Long = 0x200000L
  val CpuLines: Long = 0x46000L
  val NoRun: Long = 0x47000L
  val Rings: Long = 0x48000L
}
