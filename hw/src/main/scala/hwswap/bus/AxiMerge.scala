// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** A write or read address, with all that goes with it. */
class AxiAddress extends Bundle {
  val id = UInt(Axi.IdBits.W)
  val addr = UInt(Axi.AddrBits.W)
  val len = UInt(8.W)
}

/** Several AXI4 masters on one port, taking turns. Each has transactions of its own identifier alone, its number here,
  * by which answers find back. Bursts are INCR bursts of full beats.
  *
  * @param masters
  *   number of masters, at most 16
  */
class AxiMerge(masters: Int) extends Module {
  require(masters <= (1 << Axi.IdBits), s"$masters masters do not have $masters identifiers of ${Axi.IdBits} bits")
  val io = IO(new Bundle {
    val masters = Vec(AxiMerge.this.masters, Flipped(new Axi4))
    val axi = new Axi4
  })
  private val numberBits = log2Ceil(masters).max(1)

  private def address(id: Int, addr: UInt, len: UInt): AxiAddress = {
    val out = Wire(new AxiAddress)
    out.id := id.U
    out.addr := addr
    out.len := len
    out
  }

  // Addresses pass a queue, so that what is on the bus stays until it is taken.
  private val reads = Module(new RRArbiter(new AxiAddress, masters))
  private val writes = Module(new RRArbiter(new AxiAddress, masters))
  for ((m, i) <- io.masters.zipWithIndex) {
    reads.io.in(i).valid := m.arvalid
    reads.io.in(i).bits := address(i, m.araddr, m.arlen)
    m.arready := reads.io.in(i).ready
    writes.io.in(i).valid := m.awvalid
    writes.io.in(i).bits := address(i, m.awaddr, m.awlen)
    m.awready := writes.io.in(i).ready
  }
  private val read = Queue(reads.io.out, 2)
  io.axi.arvalid := read.valid
  io.axi.arid := read.bits.id
  io.axi.araddr := read.bits.addr
  io.axi.arlen := read.bits.len
  read.ready := io.axi.arready

  // Write data come in the sequence of their addresses.
  private val owners = Module(new Queue(UInt(numberBits.W), AxiMerge.Bursts))
  private val writeAddresses = Module(new Queue(new AxiAddress, 2))
  private val bothRoom = owners.io.enq.ready && writeAddresses.io.enq.ready
  owners.io.enq.valid := writes.io.out.valid && bothRoom
  owners.io.enq.bits := writes.io.chosen
  writeAddresses.io.enq.valid := writes.io.out.valid && bothRoom
  writeAddresses.io.enq.bits := writes.io.out.bits
  writes.io.out.ready := bothRoom
  private val write = writeAddresses.io.deq
  io.axi.awvalid := write.valid
  io.axi.awid := write.bits.id
  io.axi.awaddr := write.bits.addr
  io.axi.awlen := write.bits.len
  write.ready := io.axi.awready
  private val owner = owners.io.deq
  private val giving = VecInit(io.masters.indices.map(i => owner.valid && owner.bits === i.U))
  io.axi.wvalid := Mux1H(giving, io.masters.map(_.wvalid))
  io.axi.wdata := Mux1H(giving, io.masters.map(_.wdata))
  io.axi.wstrb := Mux1H(giving, io.masters.map(_.wstrb))
  io.axi.wlast := Mux1H(giving, io.masters.map(_.wlast))
  owner.ready := io.axi.wvalid && io.axi.wready && io.axi.wlast

  for (size <- Seq(io.axi.awsize, io.axi.arsize)) size := Axi.SizeFull.U
  for (burst <- Seq(io.axi.awburst, io.axi.arburst)) burst := Axi.BurstIncr.U
  for (cache <- Seq(io.axi.awcache, io.axi.arcache)) cache := Axi.CacheNormal.U
  for (zero <- Seq(io.axi.awprot, io.axi.arprot)) zero := 0.U
  for (lock <- Seq(io.axi.awlock, io.axi.arlock)) lock := false.B

  // Answers.
  private val readers = io.masters.indices.map(i => io.axi.rid === i.U)
  private val writers = io.masters.indices.map(i => io.axi.bid === i.U)
  io.axi.rready := Mux1H(readers, io.masters.map(_.rready))
  io.axi.bready := Mux1H(writers, io.masters.map(_.bready))
  for ((m, i) <- io.masters.zipWithIndex) {
    m.wready := giving(i) && io.axi.wready
    m.rid := 0.U
    m.rdata := io.axi.rdata
    m.rresp := io.axi.rresp
    m.rlast := io.axi.rlast
    m.rvalid := io.axi.rvalid && readers(i)
    m.bid := 0.U
    m.bresp := io.axi.bresp
    m.bvalid := io.axi.bvalid && writers(i)
  }
  assert(!io.axi.rvalid || io.axi.rid < masters.U, "AXI4: the slave answers a read nobody asked for")
  assert(!io.axi.bvalid || io.axi.bid < masters.U, "AXI4: the slave answers a write nobody asked for")
}

object AxiMerge {

  /** Write bursts whose data are still to come. */
  val Bursts: Int = 4
}
