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

  for ((channel, line) <- Seq(axi.ar -> io.memory.readLine, axi.aw -> io.memory.writeLine)) {
    channel.valid := line.valid
    channel.bits.id := 0.U
    channel.bits.addr := addressOf(line.bits)
    channel.bits.len := (shape.beats - 1).U
    line.ready := channel.ready
  }

  private val beat = RegInit(0.U(log2Ceil(shape.beats).max(1).W))
  private val last = beat === (shape.beats - 1).U
  axi.w.valid := io.memory.writeBeat.valid
  axi.w.bits.data := io.memory.writeBeat.bits
  axi.w.bits.strb := Fill(Axi.DataBytes, true.B)
  axi.w.bits.last := last
  io.memory.writeBeat.ready := axi.w.ready
  when(io.memory.writeBeat.fire) {
    beat := Mux(last, 0.U, beat + 1.U)
  }

  io.memory.readBeat.valid := axi.r.valid
  io.memory.readBeat.bits := axi.r.bits.data
  axi.r.ready := io.memory.readBeat.ready
  axi.b.ready := true.B
  io.memory.written := axi.b.valid
  io.error := (axi.r.fire && axi.r.bits.isError) || (axi.b.valid && axi.b.bits.isError)
}
