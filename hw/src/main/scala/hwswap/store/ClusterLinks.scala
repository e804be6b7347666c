// SPDX-License-Identifier: Apache-2.0
package hwswap
package store

import chisel3._
import chisel3.util._

/** One kind of links of all clusters: a reader and a writer. */
class LinkPort(implicit p: Params) extends Bundle {

  /** Read this cluster's link; it is there one cycle later, for one cycle. */
  val read = Flipped(Valid(UInt(p.clusterBits.W)))
  val data = Output(UInt(p.clusterBits.W))
  val write = Flipped(Valid(UInt(p.clusterBits.W)))
  val newData = Input(UInt(p.clusterBits.W))
}

/** All clusters' links in their lists. */
class LinksPort(implicit p: Params) extends Bundle {
  val next, prev = new LinkPort
}

/** The links, in block RAM. Reading a link that is written in the same cycle gives nothing defined. */
class ClusterLinks(implicit p: Params) extends Module {
  val io = IO(new LinksPort)

  for (port <- Seq(io.next, io.prev)) {
    val ram = SyncReadMem(p.clusters, UInt(p.clusterBits.W), SyncReadMem.Undefined)
    port.data := ram.read(port.read.bits)
    when(port.write.valid)(ram.write(port.write.bits, port.newData))
  }
}
