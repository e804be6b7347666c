// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** The AXI4-Lite side of the registers: one write and one read at a time, every access answered OKAY.
  *
  * Address and data of a write may come in either order. Writes and reads reach the registers as pulses of one cycle;
  * the answer to a read is taken `RegPort.ReadCycles` cycles later.
  */
class AxiLiteSlave extends Module {
  private val addrBits = log2Ceil(RegMap.BarSize)

  val io = IO(new Bundle {
    val axil = Flipped(new AxiLite(addrBits))
    val regs = Flipped(new RegPort)

    /** A transfer is under way. */
    val busy = Output(Bool())
  })

  private def aligned(addr: UInt): UInt = Cat(addr(addrBits - 1, 3), 0.U(3.W))

  // Writes
  val aw = Module(new Queue(UInt(addrBits.W), 1))
  val w = Module(new Queue(new RegWrite, 1))
  val bValid = RegInit(false.B)
  aw.io.enq.valid := io.axil.awvalid
  aw.io.enq.bits := aligned(io.axil.awaddr)
  io.axil.awready := aw.io.enq.ready
  w.io.enq.valid := io.axil.wvalid
  w.io.enq.bits.addr := 0.U
  w.io.enq.bits.data := io.axil.wdata
  w.io.enq.bits.strb := io.axil.wstrb
  io.axil.wready := w.io.enq.ready

  val doWrite = aw.io.deq.valid && w.io.deq.valid && !bValid
  aw.io.deq.ready := doWrite
  w.io.deq.ready := doWrite
  io.regs.write.valid := doWrite
  io.regs.write.bits := w.io.deq.bits
  io.regs.write.bits.addr := aw.io.deq.bits
  when(doWrite)(bValid := true.B).elsewhen(io.axil.bready)(bValid := false.B)
  io.axil.bvalid := bValid
  io.axil.bresp := 0.U

  // Reads
  val ar = Module(new Queue(UInt(addrBits.W), 1))
  val rValid = RegInit(false.B)
  val rData = Reg(UInt(Axi.DataBits.W))
  ar.io.enq.valid := io.axil.arvalid
  ar.io.enq.bits := aligned(io.axil.araddr)
  io.axil.arready := ar.io.enq.ready
  val reading = RegInit(false.B)
  val doRead = ar.io.deq.valid && !reading && !rValid
  val answered = ShiftRegister(doRead, RegPort.ReadCycles, false.B, true.B)
  when(doRead)(reading := true.B).elsewhen(answered)(reading := false.B)
  ar.io.deq.ready := answered
  io.regs.read.valid := doRead
  io.regs.read.bits := ar.io.deq.bits
  when(answered) {
    rValid := true.B
    rData := io.regs.readData
  }.elsewhen(io.axil.rready)(rValid := false.B)
  io.axil.rvalid := rValid
  io.axil.rdata := rData
  io.axil.rresp := 0.U

  io.busy := aw.io.deq.valid || w.io.deq.valid || bValid || ar.io.deq.valid || rValid ||
    io.axil.awvalid || io.axil.wvalid || io.axil.arvalid

  // Once offered, an answer stays until it is taken.
  assert(!RegNext(bValid && !io.axil.bready, false.B) || bValid, "AXI4-Lite: bvalid fell before bready")
  assert(!RegNext(rValid && !io.axil.rready, false.B) || rValid, "AXI4-Lite: rvalid fell before rready")
}
