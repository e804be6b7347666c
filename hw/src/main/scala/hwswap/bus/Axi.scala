// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** Widths and fixed codes of the two buses (AMBA AXI4 and AXI4-Lite). */
object Axi {

  /** Data bus, bits and bytes. */
  val DataBits: Int = 64
  val DataBytes: Int = DataBits / 8

  /** Address bus of the master, bits. */
  val AddrBits: Int = 64

  /** Transaction identifiers of the master, bits. Each of those that share it uses one (see AxiMerge). */
  val IdBits: Int = 4

  /** The master's longest burst, in beats. */
  val MaxBeats: Int = 16

  /** No burst crosses a multiple of this many bytes. */
  val BoundaryBytes: Int = 4096

  /** AxSIZE of a full-width beat (8 bytes). */
  val SizeFull: Int = 3

  /** AxBURST: rising addresses. */
  val BurstIncr: Int = 1

  /** AxCACHE: normal memory, non-cacheable, bufferable. */
  val CacheNormal: Int = 3

  /** True for SLVERR and DECERR. */
  def isError(resp: UInt): Bool = resp(1)
}

/** The place and length of a burst: the address channels AW and AR. All bursts are INCR bursts of full beats of normal
  * memory, so nothing says so before AxiPins.
  *
  *   - id: identifier (4 bits): answers of different identifiers may overtake each other
  *   - addr: byte address of the first beat (64 bits)
  *   - len: beats less one (8 bits)
  */
class AxiAddress extends Bundle {
  val id = UInt(Axi.IdBits.W)
  val addr = UInt(Axi.AddrBits.W)
  val len = UInt(8.W)
}

/** A beat to write, channel W: 64 bits of data, a strobe a byte, and whether it is the burst's last. */
class AxiWriteBeat extends Bundle {
  val data = UInt(Axi.DataBits.W)
  val strb = UInt(Axi.DataBytes.W)
  val last = Bool()
}

/** The answer to a write burst, channel B. */
class AxiWriteAnswer extends Bundle {
  val id = UInt(Axi.IdBits.W)
  val resp = UInt(2.W)
  def isError: Bool = Axi.isError(resp)
}

/** A beat that was read, channel R: 64 bits of data, its own response, and whether it is the burst's last. */
class AxiReadBeat extends Bundle {
  val id = UInt(Axi.IdBits.W)
  val data = UInt(Axi.DataBits.W)
  val resp = UInt(2.W)
  val last = Bool()
  def isError: Bool = Axi.isError(resp)
}

/** AXI4 seen from the master. As AXI requires, an offer on a channel stays until it is taken. */
class Axi4 extends Bundle {
  val aw = Irrevocable(new AxiAddress)
  val w = Irrevocable(new AxiWriteBeat)
  val b = Flipped(Irrevocable(new AxiWriteAnswer))
  val ar = Irrevocable(new AxiAddress)
  val r = Flipped(Irrevocable(new AxiReadBeat))
}

/** Data written over AXI4-Lite, channel W. */
class AxiLiteWriteData extends Bundle {
  val data = UInt(Axi.DataBits.W)
  val strb = UInt(Axi.DataBytes.W)
}

/** Data read over AXI4-Lite, channel R. */
class AxiLiteReadData extends Bundle {
  val data = UInt(Axi.DataBits.W)
  val resp = UInt(2.W)
}

/** AXI4-Lite seen from the master; the slave takes it flipped. The address channels carry byte addresses, B a response.
  *
  * @param addrBits
  *   width of the byte addresses
  */
class AxiLite(addrBits: Int) extends Bundle {
  val aw = Irrevocable(UInt(addrBits.W))
  val w = Irrevocable(new AxiLiteWriteData)
  val b = Flipped(Irrevocable(UInt(2.W)))
  val ar = Irrevocable(UInt(addrBits.W))
  val r = Flipped(Irrevocable(new AxiLiteReadData))
}
