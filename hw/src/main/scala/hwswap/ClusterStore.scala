// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** Everything that is held about one cluster: 512 bits K (the slots in use), 512 bits H (the slots in outstanding
  * hints, advisory mode), the engine's own count, flag and order, and what the kernel said last.
  */
class ClusterState(p: Params) extends Bundle {
  val k = UInt(p.slots.W)
  val h = UInt(p.slots.W)
  val meta = new ClusterMeta(p)
  val kernel = new KernelMeta
}

/** The cluster store: one line a cluster in four RAMs that are read together and written one by one.
  *
  * A read takes one cycle. Reading a line in the cycle in which it is written gives nothing defined; the core never
  * does it, and an assertion says so. That leaves synthesis free to use plain block RAM.
  */
class ClusterStore(p: Params) extends Module {
  val io = IO(new Bundle {

    /** Read this line. */
    val read = Flipped(Valid(UInt(p.clusterBits.W)))

    /** The line read, one cycle later. */
    val data = Output(new ClusterState(p))

    /** The line that is written. */
    val cluster = Input(UInt(p.clusterBits.W))
    val k = Flipped(Valid(UInt(p.slots.W)))
    val h = Flipped(Valid(UInt(p.slots.W)))
    val meta = Flipped(Valid(new ClusterMeta(p)))
    val kernel = Flipped(Valid(new KernelMeta))
  })

  private def ram[T <: Data](element: T, write: Valid[T]): T = {
    val mem = SyncReadMem(p.clusters, element, SyncReadMem.Undefined)
    when(write.valid) {
      mem.write(io.cluster, write.bits)
    }
    mem.read(io.read.bits, io.read.valid)
  }

  io.data.k := ram(UInt(p.slots.W), io.k)
  io.data.h := ram(UInt(p.slots.W), io.h)
  io.data.meta := ram(new ClusterMeta(p), io.meta)
  io.data.kernel := ram(new KernelMeta, io.kernel)

  private val writing = io.k.valid || io.h.valid || io.meta.valid || io.kernel.valid
  assert(
    !(io.read.valid && writing && io.read.bits === io.cluster),
    "a cluster is read in the cycle in which it is written"
  )
}
