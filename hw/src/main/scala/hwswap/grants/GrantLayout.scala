// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** Where bitmaps and grants lie in host memory, and what their words hold: structures cluster_word, grant_line, no_run
  * and grant of the register map.
  */
object GrantLayout {

  /** Clusters whose bitmaps are in one chunk of 2 MiB. */
  val ChunkClusters: Int = Params.ChunkClusters

  val Orders: Int = 10
  val TopOrder: Int = Orders - 1

  /** 64-bit words of a bitmap. */
  val Words: Int = 8

  /** Bytes of a bitmap, of a WORD, of a CPU line and of an entry, as powers of two. */
  val BitmapLog2: Int = 6
  val WordLog2: Int = 2
  val CpuLineLog2: Int = 6
  val EntryLog2: Int = 3

  /** The CPU line: the word with WANT, and the first of those with HEAD, two orders each. */
  val WantWord: Int = MapAccess.words(MemMap.GrantLine.Want.Offset)
  val HeadWord: Int = MapAccess.words(MemMap.GrantLine.Head.Offset)

  val EpochBits: Int = MemMap.Grant.Place.Epoch.width

  /** An entry: `cluster` of the device `device`, `order`, `epoch`, whether it is a grant, and the phase of the entry
    * with this number (free running) in a ring of 2^log2.
    */
  def entry(cluster: UInt, device: UInt, order: UInt, epoch: UInt, valid: Bool, index: UInt, log2: Int): UInt = {
    val place = MemMap.Grant.Place
    MapAccess.word(
      place.Cluster -> cluster,
      place.Type -> device,
      place.Order -> order,
      place.Epoch -> epoch,
      place.Valid -> valid,
      place.Phase -> !index(log2)
    )
  }

  /** Bytes from the first ring to an entry. */
  def entryOffset(cpu: UInt, order: UInt, index: UInt, log2: Int): UInt =
    (cpu * Orders.U + order) ## index(log2 - 1, 0) ## 0.U(EntryLog2.W)
}

/** WORD of a cluster: the order it is exclusive to, the list it is on (FlagCode), its device's epoch. */
class ClusterWord extends Bundle {
  val order = UInt(4.W)
  val list = UInt(3.W)
  val epoch = UInt(GrantLayout.EpochBits.W)

  def free: Bool = list === FlagCode.Free.U

  /** On a list of clusters that are in use and have room. */
  def partly: Bool = list === FlagCode.Nonfull.U || list === FlagCode.Frag.U
}

object ClusterWord {

  /** Read 32 bits; a list or an order that there is not is taken for no list, which is never granted from. */
  def unpack(value: UInt): ClusterWord = {
    val fields = MemMap.ClusterWord.Word
    val word = Wire(new ClusterWord)
    val order = MapAccess.get(value, fields.Order)
    val list = MapAccess.get(value, fields.List)
    val known = order < GrantLayout.Orders.U && list <= FlagCode.Discard.U
    word.order := Mux(known, order, 0.U)
    word.list := Mux(known, list, FlagCode.None.U)
    word.epoch := MapAccess.get(value, fields.Epoch)
    word
  }
}

/** The engine's summary of a cluster: its word, and how many orders find an aligned free run in it, 0 to 10. */
class Summary extends Bundle {
  val word = new ClusterWord
  val run = UInt(4.W)

  /** Bit k: order k may use the cluster, whatever ring has it now; the device's state and epoch do not count. */
  def orders(open: Bool): UInt =
    VecInit
      .tabulate(GrantLayout.Orders) { k =>
        val own = if (k == 0) true.B else open || word.order === k.U
        run > k.U && (word.free || (word.partly && (k < GrantLayout.TopOrder).B && own))
      }
      .asUInt
}

/** An entry of the engine's table of devices: its clusters, `base` on, and what it is like. */
class GrantDevice(implicit p: Params) extends Bundle {
  val live, file, rotating = Bool()
  val base = UInt(p.clusterBits.W)
  val clusters = UInt(p.clusterCountBits.W)
  val priority = SInt(p.priorityBits.W)
  val epoch = UInt(GrantLayout.EpochBits.W)

  /** Grants of an order may be of it. */
  def serves(order: UInt): Bool = live && !rotating && !(file && order =/= 0.U)
  def holds(cluster: UInt): Bool = cluster >= base && (cluster - base) < clusters
  def last: UInt = (base + clusters - 1.U)(p.clusterBits - 1, 0)
}

/** A device's new entry. */
class DeviceChange(implicit p: Params) extends Bundle {
  val device = UInt(p.deviceBits.W)
  val entry = new GrantDevice
}

/** Settings of the host. Bus addresses are in bytes; all stay while the engine is enabled. */
class GrantSettings(implicit p: Params) extends Bundle {

  /** Clusters are read in rounds; rings are served, which is looked at when a pass over them begins. */
  val read, grant = Bool()

  /** Placement OPEN; another takes effect when no device is live. */
  val open = Bool()

  /** Cycles of rest after a round that found nothing new, or a pass that had nothing to do; and after each burst of a
    * round.
    */
  val pause, pace = UInt(16.W)

  /** WORD, one array, and the chunks of BITMAP; 64-byte aligned, chunks 2 MiB. */
  val words = UInt(Axi.AddrBits.W)
  val chunks = Vec(GrantSettings.chunks, UInt(Axi.AddrBits.W))

  /** CPU lines, the engine line, and the rings; 64-byte aligned. NO_RUN is the engine line's first word. */
  val cpuLines, engineLine, rings = UInt(Axi.AddrBits.W)

  def bitmap(cluster: UInt): UInt =
    if (chunks.length == 1) chunks.head + (cluster ## 0.U(GrantLayout.BitmapLog2.W))
    else {
      val bits = log2Ceil(GrantLayout.ChunkClusters)
      Select(chunks, cluster >> bits) + (cluster(bits - 1, 0) ## 0.U(GrantLayout.BitmapLog2.W))
    }
}

object GrantSettings {

  /** Chunks of bitmaps that so many clusters have. */
  def chunks(implicit p: Params): Int = ((p.clusters - 1) / GrantLayout.ChunkClusters) + 1
}
