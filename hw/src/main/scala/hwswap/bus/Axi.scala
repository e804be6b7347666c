// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._

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

/** AXI4-Lite seen from the master; the slave takes it flipped. Field names are the port names after the prefix.
  *
  * @param addrBits
  *   width of the byte addresses
  */
class AxiLite(addrBits: Int) extends Bundle {
  val awaddr = Output(UInt(addrBits.W))
  val awprot = Output(UInt(3.W))
  val awvalid = Output(Bool())
  val awready = Input(Bool())
  val wdata = Output(UInt(Axi.DataBits.W))
  val wstrb = Output(UInt(Axi.DataBytes.W))
  val wvalid = Output(Bool())
  val wready = Input(Bool())
  val bresp = Input(UInt(2.W))
  val bvalid = Input(Bool())
  val bready = Output(Bool())
  val araddr = Output(UInt(addrBits.W))
  val arprot = Output(UInt(3.W))
  val arvalid = Output(Bool())
  val arready = Input(Bool())
  val rdata = Input(UInt(Axi.DataBits.W))
  val rresp = Input(UInt(2.W))
  val rvalid = Input(Bool())
  val rready = Output(Bool())
}

/** AXI4 seen from the master, without user, region and QoS signals. Field names are the port names after the prefix.
  */
class Axi4 extends Bundle {
  val awid = Output(UInt(Axi.IdBits.W))
  val awaddr = Output(UInt(Axi.AddrBits.W))
  val awlen = Output(UInt(8.W))
  val awsize = Output(UInt(3.W))
  val awburst = Output(UInt(2.W))
  val awlock = Output(Bool())
  val awcache = Output(UInt(4.W))
  val awprot = Output(UInt(3.W))
  val awvalid = Output(Bool())
  val awready = Input(Bool())
  val wdata = Output(UInt(Axi.DataBits.W))
  val wstrb = Output(UInt(Axi.DataBytes.W))
  val wlast = Output(Bool())
  val wvalid = Output(Bool())
  val wready = Input(Bool())
  val bid = Input(UInt(Axi.IdBits.W))
  val bresp = Input(UInt(2.W))
  val bvalid = Input(Bool())
  val bready = Output(Bool())
  val arid = Output(UInt(Axi.IdBits.W))
  val araddr = Output(UInt(Axi.AddrBits.W))
  val arlen = Output(UInt(8.W))
  val arsize = Output(UInt(3.W))
  val arburst = Output(UInt(2.W))
  val arlock = Output(Bool())
  val arcache = Output(UInt(4.W))
  val arprot = Output(UInt(3.W))
  val arvalid = Output(Bool())
  val arready = Input(Bool())
  val rid = Input(UInt(Axi.IdBits.W))
  val rdata = Input(UInt(Axi.DataBits.W))
  val rresp = Input(UInt(2.W))
  val rlast = Input(Bool())
  val rvalid = Input(Bool())
  val rready = Output(Bool())
}
