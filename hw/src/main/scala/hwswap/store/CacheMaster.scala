// SPDX-License-Identifier: Apache-2.0
package hwswap
package store

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Axi4}

/** A cache's AXI4 master: a line is one burst.
  *
  * @param regionOffset
  *   where the cache's lines begin, in bytes from `base` on
  */
class CacheMaster(shape: CacheShape, regionOffset: BigInt) extends Module {
  private val lineBytes = shape.beats * Axi.DataBytes
  require(isPow2(lineBytes) && regionOffset % lineBytes == 0, s"lines of the ${shape.name} cache may cross 4 KiB")

  val io = IO(new Bundle {
    val memory = Flipped(new CacheMemoryPort(shape))
    val axi = new Axi4

    /** The region's address, 4 KiB aligned. */
    val base = Input(UInt(Axi.AddrBits.W))

    /** A transfer was answered with an error (one cycle). */
    val error = Output(Bool())
  })
  private val axi = io.axi
  private def addressOf(line: UInt): UInt =
    (io.base + regionOffset.U + line ## 0.U(log2Ceil(lineBytes).W))(Axi.AddrBits - 1, 0)

  axi.arvalid := io.memory.readLine.valid
  axi.araddr := addressOf(io.memory.readLine.bits)
  io.memory.readLine.ready := axi.arready
  axi.awvalid := io.memory.writeLine.valid
  axi.awaddr := addressOf(io.memory.writeLine.bits)
  io.memory.writeLine.ready := axi.awready
  for (len <- Seq(axi.arlen, axi.awlen)) len := (shape.beats - 1).U
  for (size <- Seq(axi.awsize, axi.arsize)) size := Axi.SizeFull.U
  for (burst <- Seq(axi.awburst, axi.arburst)) burst := Axi.BurstIncr.U
  for (cache <- Seq(axi.awcache, axi.arcache)) cache := Axi.CacheNormal.U
  for (zero <- Seq(axi.awid, axi.arid, axi.awprot, axi.arprot)) zero := 0.U
  for (lock <- Seq(axi.awlock, axi.arlock)) lock := false.B

  private val beat = RegInit(0.U(log2Ceil(shape.beats).max(1).W))
  private val last = beat === (shape.beats - 1).U
  axi.wvalid := io.memory.writeBeat.valid
  axi.wdata := io.memory.writeBeat.bits
  axi.wstrb := Fill(Axi.DataBytes, true.B)
  axi.wlast := last
  io.memory.writeBeat.ready := axi.wready
  when(io.memory.writeBeat.fire) {
    beat := Mux(last, 0.U, beat + 1.U)
  }

  io.memory.readBeat.valid := axi.rvalid
  io.memory.readBeat.bits := axi.rdata
  axi.rready := io.memory.readBeat.ready
  axi.bready := true.B
  io.memory.written := axi.bvalid
  io.error := (axi.rvalid && axi.rready && Axi.isError(axi.rresp)) || (axi.bvalid && Axi.isError(axi.bresp))
}
