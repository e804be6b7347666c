// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

object DmaWindow {

  /** Lowest bits of an address that no window looks at: no burst crosses a multiple of 4 KiB. */
  val PageBits: Int = RegMap.DmaWindow.Start.Addr.lsb
  require((1 << PageBits) == Axi.BoundaryBytes, "a burst may lie in two pages of the DMA windows")
}

/** A part of the address space in which bursts may be made: pages (4 KiB) `start` to `limit` - 1. */
class DmaWindow extends Bundle {
  val start = UInt(RegMap.DmaWindow.Start.Addr.width.W)
  val limit = UInt(RegMap.DmaWindow.Limit.Addr.width.W)
  val read, write = Bool()
}

/** A burst that was not made. */
class RefusedBurst extends Bundle {
  val write = Bool()
  val address = UInt(Axi.AddrBits.W)
}

/** The registers DMA_WINDOW and DMA_REFUSED. */
class DmaWindows extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val windows = Output(Vec(RegMap.DmaWindow.Count, new DmaWindow))
    val refused = Flipped(Valid(new RefusedBurst))
  })
  import MapAccess.{get, merge, word}
  private val map = RegMap.DmaWindow
  private val write = io.regs.write

  private val registers = Seq.tabulate(map.Count) { i =>
    val base = map.Base + i * map.Stride
    val window = RegInit(0.U.asTypeOf(new DmaWindow))
    val start = word(map.Start.Addr -> window.start)
    val limit =
      word(map.Limit.Read -> window.read, map.Limit.Write -> window.write, map.Limit.Addr -> window.limit)
    def written(offset: Int): Bool = write.valid && write.bits.at(base + offset)
    def merged(old: UInt): UInt = merge(old, write.bits.data, write.bits.strb)
    when(written(map.Start.Offset))(window.start := get(merged(start), map.Start.Addr))
    when(written(map.Limit.Offset)) {
      window.limit := get(merged(limit), map.Limit.Addr)
      window.read := get(merged(limit), map.Limit.Read)
      window.write := get(merged(limit), map.Limit.Write)
    }
    io.windows(i) := window
    Seq((base + map.Start.Offset) -> start, (base + map.Limit.Offset) -> limit)
  }

  // The first burst stays; one that is refused while the host clears the register is the first of the next.
  private val refusal = RegMap.DmaRefused
  private val valid = RegInit(false.B)
  private val first = RegInit(0.U.asTypeOf(new RefusedBurst))
  private val clears = write.valid && write.bits.starts(refusal.Offset) && get(write.bits.data, refusal.Valid).asBool
  when(clears)(valid := false.B)
  when(io.refused.valid && (!valid || clears)) {
    valid := true.B
    first := io.refused.bits
  }
  private val refusedWord = word(
    refusal.Write -> first.write,
    refusal.Valid -> valid,
    refusal.Addr -> (first.address >> refusal.Addr.lsb)
  )

  io.regs.readData := RegPort.answer(io.regs.read, registers.flatten :+ (refusal.Offset -> refusedWord))
}
