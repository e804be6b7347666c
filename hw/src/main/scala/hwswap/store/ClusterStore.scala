// SPDX-License-Identifier: Apache-2.0
package hwswap
package store

import chisel3._
import chisel3.util._

/** One word of a row as it is stored: the slots that are taken (32 bits), and for how many orders there is a free run
  * (see FreeRuns.orders).
  */
class StoredWord(implicit p: Params) extends Bundle {
  val used = UInt(p.wordSlots.W)
  val orders = UInt(log2Ceil(p.wordOrders + 1).W)
}

/** All that is read of a cluster at once: its row, word by word, and its count, flag and order. */
class StoredCluster(implicit p: Params) extends Bundle {
  val words = Vec(p.words, new StoredWord)
  val meta = new ClusterMeta
}

/** A write of one cluster: the same word at each of the places that `words` names, and count, flag and order, if
  * they are valid.
  */
class StoreWrite(implicit p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val words = UInt(p.words.W)
  val word = new StoredWord
  val meta = Valid(new ClusterMeta)

  /** It writes something. */
  def any: Bool = words.orR || meta.valid
}

/** A line of each cluster, read as a whole, written word by word. */
class StorePort(implicit p: Params) extends Bundle {

  /** Read this cluster; it is there one cycle later, for one cycle. */
  val read = Flipped(Valid(UInt(p.clusterBits.W)))
  val line = Output(new StoredCluster)

  /** Write. */
  val write = Input(new StoreWrite)
}

/** The cluster store: one line per cluster, read as a whole, written word by word.
  *
  * A read takes one cycle, and its data is there for that cycle only. A word that is written in the cycle in which its
  * cluster is read is undefined in that data; the reader puts the new word in its place.
  */
class ClusterStore(implicit p: Params) extends Module {
  val io = IO(new StorePort)

  /** RAMs so narrow that each fills a block RAM with its depth: a wider one would be made of several, with multiplexers
    * after them.
    */
  private def bank[T <: Data](data: T, write: Bool): T = {
    val slices = data.asUInt.asBools.grouped(ClusterStore.width(p.clusters)).map { bits =>
      val slice = VecInit(bits).asUInt
      val ram = SyncReadMem(p.clusters, chiselTypeOf(slice), SyncReadMem.Undefined)
      when(write) {
        ram.write(io.write.cluster, slice)
      }
      ram.read(io.read.bits)
    }
    suppressEnumCastWarning(Cat(slices.toSeq.reverse).asTypeOf(data))
  }
  for (w <- 0 until p.words) io.line.words(w) := bank(io.write.word, io.write.words(w))
  io.line.meta := bank(io.write.meta.bits, io.write.meta.valid)
}

object ClusterStore {

  /** Width of a block RAM that is `depth` words deep (an 18 kbit one of the ECP5, parity bits included). */
  def width(depth: Int): Int =
    if (depth <= 512) 36 else if (depth <= 1024) 18 else if (depth <= 2048) 9 else (16384 / depth).max(1)
}
