// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** All that is held about a cluster: `used`, the slots that are taken (512 bits), `hinted`, those of them that are in
  * outstanding hints (advisory mode), the engine's count, flag and order, and what the kernel said last.
  */
class StoredCluster(p: Params) extends Bundle {
  val used = UInt(p.slots.W)
  val hinted = UInt(p.slots.W)
  val meta = new ClusterMeta(p)
  val kernel = new KernelMeta
}

/** The cluster store: a line a cluster, read and written as a whole.
  *
  * A read takes one cycle, and what was read is there for that cycle only. Reading what is written in the same cycle
  * gives nothing defined; the core never does it, and an assertion says so. That leaves synthesis free to use plain
  * block RAM.
  */
class ClusterStore(p: Params) extends Module {
  val io = IO(new StorePort(p))

  /** The line's bits in RAMs so narrow that each fills a block RAM with its depth: a wider one would be made of
    * several, with multiplexers behind them.
    */
  private val slices = io.newLine.asUInt.asBools.grouped(ClusterStore.width(p.clusters)).map { bits =>
    val data = VecInit(bits).asUInt
    val ram = SyncReadMem(p.clusters, chiselTypeOf(data), SyncReadMem.Undefined)
    when(io.write.valid) {
      ram.write(io.write.bits, data)
    }
    ram.read(io.read.bits, io.read.valid)
  }
  io.line := suppressEnumCastWarning(Cat(slices.toSeq.reverse).asTypeOf(io.line))

  assert(
    !(io.read.valid && io.write.valid && io.read.bits === io.write.bits),
    "a cluster is read in the cycle in which it is written"
  )
}

object ClusterStore {

  /** Width of a block RAM that is `depth` words deep (an 18 kbit one of the ECP5, parity bits included). */
  def width(depth: Int): Int =
    if (depth <= 512) 36 else if (depth <= 1024) 18 else if (depth <= 2048) 9 else (16384 / depth).max(1)
}
