// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._

/** AXI4-Lite as the engine's pins, seen from the master. Field names are the port names after the prefix.
  *
  * @param addrBits
  *   width of the byte addresses
  */
class AxiLitePins(addrBits: Int) extends Bundle {
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

  /** Joins the master at these pins to a slave; AxPROT is ignored. */
  def join(slave: AxiLite): Unit = {
    slave.aw.valid := awvalid
    slave.aw.bits := awaddr
    awready := slave.aw.ready
    slave.w.valid := wvalid
    slave.w.bits.data := wdata
    slave.w.bits.strb := wstrb
    wready := slave.w.ready
    bvalid := slave.b.valid
    bresp := slave.b.bits
    slave.b.ready := bready
    slave.ar.valid := arvalid
    slave.ar.bits := araddr
    arready := slave.ar.ready
    rvalid := slave.r.valid
    rdata := slave.r.bits.data
    rresp := slave.r.bits.resp
    slave.r.ready := rready
  }
}

/** AXI4 as the engine's pins, seen from the master, without user, region and QoS signals. Field names are the port
  * names after the prefix.
  */
class AxiPins extends Bundle {
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

  /** Joins a master to these pins. All that is the same for every burst is said here. */
  def join(master: Axi4): Unit = {
    awvalid := master.aw.valid
    awid := master.aw.bits.id
    awaddr := master.aw.bits.addr
    awlen := master.aw.bits.len
    master.aw.ready := awready
    wvalid := master.w.valid
    wdata := master.w.bits.data
    wstrb := master.w.bits.strb
    wlast := master.w.bits.last
    master.w.ready := wready
    master.b.valid := bvalid
    master.b.bits.id := bid
    master.b.bits.resp := bresp
    bready := master.b.ready
    arvalid := master.ar.valid
    arid := master.ar.bits.id
    araddr := master.ar.bits.addr
    arlen := master.ar.bits.len
    master.ar.ready := arready
    master.r.valid := rvalid
    master.r.bits.id := rid
    master.r.bits.data := rdata
    master.r.bits.resp := rresp
    master.r.bits.last := rlast
    rready := master.r.ready
    for (size <- Seq(awsize, arsize)) size := Axi.SizeFull.U
    for (burst <- Seq(awburst, arburst)) burst := Axi.BurstIncr.U
    for (cache <- Seq(awcache, arcache)) cache := Axi.CacheNormal.U
    for (zero <- Seq(awprot, arprot)) zero := 0.U
    for (lock <- Seq(awlock, arlock)) lock := false.B
  }
}
