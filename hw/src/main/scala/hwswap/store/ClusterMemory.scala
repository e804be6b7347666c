// SPDX-License-Identifier: Apache-2.0
package hwswap
package store

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Axi4}

/** One kind of links of all clusters: a reader and a writer. */
class LinkPort(implicit p: Params) extends Bundle {

  /** Read this cluster's link; it is there one cycle later, for one cycle. */
  val read = Flipped(Valid(UInt(p.clusterBits.W)))
  val data = Output(UInt(p.clusterBits.W))
  val write = Flipped(Valid(UInt(p.clusterBits.W)))
  val newData = Input(UInt(p.clusterBits.W))
}

/** A line of each cluster, read as a whole, written word by word. */
class StorePort(implicit p: Params) extends Bundle {

  /** Read this cluster; it is there one cycle later, for one cycle. */
  val read = Flipped(Valid(UInt(p.clusterBits.W)))
  val line = Output(new StoredCluster)

  /** Write. */
  val write = Input(new StoreWrite)
}

/** All clusters' links in their lists. */
class LinksPort(implicit p: Params) extends Bundle {
  val next, prev = new LinkPort
}

/** The links on chip: block RAM. Reading what is written in the same cycle gives nothing defined. */
class ClusterLinks(implicit p: Params) extends Module {
  val io = IO(new LinksPort)

  for (port <- Seq(io.next, io.prev)) {
    val ram = SyncReadMem(p.clusters, UInt(p.clusterBits.W), SyncReadMem.Undefined)
    port.data := ram.read(port.read.bits)
    when(port.write.valid)(ram.write(port.write.bits, port.newData))
  }
}

/** All that is held of each cluster, by cluster number: what is known of it, and its place in the lists. */
class ClusterMemoryPort(implicit p: Params) extends Bundle {
  val store = new StorePort
  val links = new LinksPort

  /** The row of the cluster that is read is not looked at. */
  val recordOnly = Input(Bool())

  /** All words of this cluster are about to be written: what they were does not matter. */
  val blank = Flipped(Valid(UInt(p.clusterBits.W)))
}

/** One-cycle pulses of a DRAM-backed memory, for the statistics. */
class MemoryEvents extends Bundle {

  /** Accesses to the caches in this cycle, and what they brought: see CacheEvents. */
  val accesses = UInt(4.W)
  val misses, writeBacks = UInt(2.W)

  /** The core is held; and so it is for one more access to memory that depends on the one before. */
  val held, waits = Bool()
}

/** The clusters' memory in DRAM, behind two caches: one of bitmaps, one of records, so that a move in a list fetches
  * its neighbours' records alone.
  *
  * In memory, from `base` on: a bitmap of 64 bytes a cluster, then a record of 16 bytes a cluster
  * (MemMap.StoreRecord).
  *
  * The user works on in cycles in which `run` is high, and only in those are its ports looked at; see LineCache.
  */
class CachedClusterMemory(dram: DramStore)(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val port = new ClusterMemoryPort
    val run = Output(Bool())

    /** One master a cache. */
    val axi = Vec(2, new Axi4)
    val base = Input(UInt(Axi.AddrBits.W))
    val flush = Input(Bool())
    val idle = Output(Bool())
    val error = Output(Bool())
    val events = Output(new MemoryEvents)
  })

  private val map = MemMap.StoreRecord
  private val metaType = new ClusterMeta
  private val fields = Seq(
    CacheField("meta", Axi.DataBits * map.Meta.Offset / Axi.DataBytes, metaType.getWidth),
    CacheField("next", Axi.DataBits * map.Links.Offset / Axi.DataBytes + map.Links.Next.lsb, p.clusterBits),
    CacheField("prev", Axi.DataBits * map.Links.Offset / Axi.DataBytes + map.Links.Prev.lsb, p.clusterBits)
  )
  private val rowShape = CacheShape(
    "bitmap",
    Seq(
      CacheField(
        "used",
        0,
        p.slots,
        p.words,
        chiselTypeOf(io.port.store.line.words(0).orders).getWidth,
        FreeRuns.orders
      )
    ),
    p.clusters,
    p.slots / Axi.DataBits,
    1,
    dram.bitmapLines,
    dram.ways
  )
  private val recordShape =
    CacheShape("record", fields, p.clusters, MapAccess.words(map.Bytes), 4, dram.recordLines, dram.ways)

  private val rows = Module(new LineCache(rowShape))
  private val records = Module(new LineCache(recordShape))
  private val rowMaster = Module(new CacheMaster(rowShape, 0))
  private val recordMaster = Module(new CacheMaster(recordShape, BigInt(p.clusters) * (p.slots / 8)))
  rowMaster.io.memory <> rows.io.memory
  recordMaster.io.memory <> records.io.memory
  io.axi(0) <> rowMaster.io.axi
  io.axi(1) <> recordMaster.io.axi
  for (master <- Seq(rowMaster.io.base, recordMaster.io.base)) master := io.base

  // After an error nothing is right any more: the user stays where it is until a reset.
  private val failed = RegInit(false.B)
  io.error := rowMaster.io.error || recordMaster.io.error
  when(io.error) {
    failed := true.B
  }
  io.run := !rows.io.hold && !records.io.hold && !failed
  for (cache <- Seq(rows, records)) {
    cache.io.run := io.run
    cache.io.flush := io.flush
  }
  io.idle := rows.io.idle && records.io.idle

  private val store = io.port.store
  private val used = rows.io.fields(0)
  private val write = store.write
  used.read.valid := store.read.valid && !io.port.recordOnly
  used.read.bits := store.read.bits
  used.write.valid := write.words.orR || io.port.blank.valid
  used.write.bits := Mux(io.port.blank.valid, io.port.blank.bits, write.cluster)
  used.newData := Fill(p.words, write.word.orders ## write.word.used)
  used.enable := Mux(io.port.blank.valid, Fill(p.words, true.B), write.words)
  private val (meta, next, prev) = (records.io.fields(0), records.io.fields(1), records.io.fields(2))
  meta.read := store.read
  meta.write.valid := write.meta.valid
  meta.write.bits := write.cluster
  meta.newData := write.meta.bits.asUInt
  for ((field, port) <- Seq(next -> io.port.links.next, prev -> io.port.links.prev)) {
    field.read := port.read
    field.write := port.write
    field.newData := port.newData
    port.data := field.data
  }
  for (field <- Seq(meta, next, prev)) field.enable := 1.U
  private val partBits = used.data.getWidth / p.words
  for ((word, w) <- store.line.words.zipWithIndex) {
    word.used := used.data(w * partBits + p.wordSlots - 1, w * partBits)
    word.orders := used.data((w + 1) * partBits - 1, w * partBits + p.wordSlots)
  }
  store.line.meta := suppressEnumCastWarning(meta.data.asTypeOf(metaType))

  // Rounds of both caches go on side by side: the longer chain counts.
  private val chains = Seq(rows, records).map { cache =>
    val rounds = RegInit(0.U(4.W))
    when(io.run) {
      rounds := 0.U
    }.elsewhen(cache.io.events.round) {
      rounds := rounds + 1.U
    }
    (rounds, cache.io.events.round)
  }
  private val longest = chains.map(_._1).reduce((a, b) => Mux(a > b, a, b))
  io.events.waits := chains.map { case (rounds, more) => more && rounds === longest }.reduce(_ || _)
  io.events.held := !io.run
  io.events.accesses := rows.io.events.accesses +& records.io.events.accesses
  io.events.misses := rows.io.events.miss +& records.io.events.miss
  io.events.writeBacks := rows.io.events.writeBack +& records.io.events.writeBack

  assert(!(io.run && io.port.blank.valid && write.words.orR), "a row is made while another is written")
}
