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
  aw.io.enq <> io.axil.aw
  aw.io.enq.bits := aligned(io.axil.aw.bits)
  w.io.enq.valid := io.axil.w.valid
  w.io.enq.bits.addr := 0.U
  w.io.enq.bits.data := io.axil.w.bits.data
  w.io.enq.bits.strb := io.axil.w.bits.strb
  io.axil.w.ready := w.io.enq.ready

  val doWrite = aw.io.deq.valid && w.io.deq.valid && !bValid
  aw.io.deq.ready := doWrite
  w.io.deq.ready := doWrite
  io.regs.write.valid := doWrite
  io.regs.write.bits := w.io.deq.bits
  io.regs.write.bits.addr := aw.io.deq.bits
  when(doWrite)(bValid := true.B).elsewhen(io.axil.b.ready)(bValid := false.B)
  io.axil.b.valid := bValid
  io.axil.b.bits := 0.U

  // Reads
  val ar = Module(new Queue(UInt(addrBits.W), 1))
  val rValid = RegInit(false.B)
  val rData = Reg(UInt(Axi.DataBits.W))
  ar.io.enq <> io.axil.ar
  ar.io.enq.bits := aligned(io.axil.ar.bits)
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
  }.elsewhen(io.axil.r.ready)(rValid := false.B)
  io.axil.r.valid := rValid
  io.axil.r.bits.data := rData
  io.axil.r.bits.resp := 0.U

  io.busy := aw.io.deq.valid || w.io.deq.valid || bValid || ar.io.deq.valid || rValid ||
    io.axil.aw.valid || io.axil.w.valid || io.axil.ar.valid

  // Once offered, an answer stays until it is taken.
  assert(!RegNext(bValid && !io.axil.b.ready, false.B) || bValid, "AXI4-Lite: bvalid fell before bready")
  assert(!RegNext(rValid && !io.axil.r.ready, false.B) || rValid, "AXI4-Lite: rvalid fell before rready")
}
