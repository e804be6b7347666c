// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** Where a part of a cluster's rows is. */
class RowAddress(p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val part = UInt(p.partBits.W)
}

/** A part of a cluster's rows, 128 slots: K (the slots in use) and H (slots in outstanding hints, advisory mode). */
class RowPart(p: Params) extends Bundle {
  val k = UInt(p.partSlots.W)
  val h = UInt(p.partSlots.W)
}

/** What is held about a cluster beside its rows: the engine's own count, flag and order, and what the kernel said last.
  */
class ClusterRecords(p: Params) extends Bundle {
  val meta = new ClusterMeta(p)
  val kernel = new KernelMeta
}

/** The cluster store: two RAMs of rows, four parts a cluster, and two of records. Rows are read together and so are
  * records; all are written one by one.
  *
  * A read takes one cycle. Reading what is written in the same cycle gives nothing defined; the core never does it, and
  * assertions say so. That leaves synthesis free to use plain block RAM.
  */
class ClusterStore(p: Params) extends Module {
  val io = IO(new Bundle {

    /** Read this part of the rows; it is there one cycle later. */
    val readRows = Flipped(Valid(new RowAddress(p)))
    val rows = Output(new RowPart(p))

    /** Read the records of this cluster; they are there one cycle later. */
    val readRecords = Flipped(Valid(UInt(p.clusterBits.W)))
    val records = Output(new ClusterRecords(p))

    /** The part of the rows that is written. */
    val rowAddress = Input(new RowAddress(p))
    val k = Flipped(Valid(UInt(p.partSlots.W)))
    val h = Flipped(Valid(UInt(p.partSlots.W)))

    /** The cluster whose records are written. */
    val cluster = Input(UInt(p.clusterBits.W))
    val meta = Flipped(Valid(new ClusterMeta(p)))
    val kernel = Flipped(Valid(new KernelMeta))
  })

  private def ram[T <: Data](size: Int, element: T, at: UInt, write: Valid[T], readAt: UInt, read: Bool): T = {
    val mem = SyncReadMem(size, element, SyncReadMem.Undefined)
    when(write.valid) {
      mem.write(at, write.bits)
    }
    mem.read(readAt, read)
  }

  /** A RAM of rows, as RAMs so narrow that each fills a block RAM with its depth: a wider one would be made of several,
    * with multiplexers behind them.
    */
  private def rowRam(write: Valid[UInt]): UInt = {
    val size = p.clusters * p.parts
    val width = (ClusterStore.BlockBits / size).max(1).min(p.partSlots)
    VecInit
      .tabulate(p.partSlots / width) { i =>
        val slice = Wire(Valid(UInt(width.W)))
        slice.valid := write.valid
        slice.bits := write.bits((i + 1) * width - 1, i * width)
        ram(size, UInt(width.W), io.rowAddress.asUInt, slice, io.readRows.bits.asUInt, io.readRows.valid)
      }
      .asUInt
  }
  private def recordRam[T <: Data](element: T, write: Valid[T]): T =
    ram(p.clusters, element, io.cluster, write, io.readRecords.bits, io.readRecords.valid)

  io.rows.k := rowRam(io.k)
  io.rows.h := rowRam(io.h)
  io.records.meta := recordRam(new ClusterMeta(p), io.meta)
  io.records.kernel := recordRam(new KernelMeta, io.kernel)

  assert(
    !(io.readRows.valid && (io.k.valid || io.h.valid) && io.readRows.bits.asUInt === io.rowAddress.asUInt),
    "a part of a cluster's rows is read in the cycle in which it is written"
  )
  assert(
    !(io.readRecords.valid && (io.meta.valid || io.kernel.valid) && io.readRecords.bits === io.cluster),
    "a cluster's records are read in the cycle in which they are written"
  )
}

object ClusterStore {

  /** Bits of a block RAM, in all widths that are powers of two. */
  val BlockBits: Int = 16384
}
