// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** Gives the DMA to one client at a time, in turn (round-robin), so that no client starves. The next request is picked
  * and waits in a register while a transfer is under way: a client first, then what it asks for.
  *
  * @param clients
  *   number of client ports
  */
class DmaArbiter(clients: Int) extends Module {
  val io = IO(new Bundle {
    val clients = Vec(DmaArbiter.this.clients, Flipped(new DmaPort))
    val dma = new DmaPort
  })

  private val clientBits = log2Ceil(clients).max(1)
  val picked = RegInit(false.B)
  val waiting = RegInit(false.B)
  val next = Reg(new DmaReq)
  val nextOwner = RegInit(0.U(clientBits.W))
  val busy = RegInit(false.B)

  /** Whose transfer is under way, a bit a client. */
  val owner = Reg(Vec(clients, Bool()))

  when(!picked && !waiting) {
    picked := VecInit(io.clients.map(_.req.valid)).asUInt.orR
    nextOwner := RoundRobin(io.clients.map(_.req.valid), nextOwner)
  }
  when(picked) {
    picked := false.B
    waiting := true.B
    next := VecInit(io.clients.map(_.req.bits))(nextOwner)
  }
  for ((client, i) <- io.clients.zipWithIndex) client.req.ready := picked && nextOwner === i.U
  io.dma.req.valid := waiting
  io.dma.req.bits := next

  // A transfer may start in the cycle in which the one before it ends.
  when(io.dma.req.fire) {
    waiting := false.B
    busy := true.B
    owner := UIntToOH(nextOwner, clients).asBools
  }.elsewhen(io.dma.done.valid)(busy := false.B)

  io.dma.wdata.valid := busy && Mux1H(owner, io.clients.map(_.wdata.valid))
  io.dma.wdata.bits := Mux1H(owner, io.clients.map(_.wdata.bits))
  for ((client, itsOwn) <- io.clients.zip(owner)) {
    val mine = busy && itsOwn
    client.wdata.ready := mine && io.dma.wdata.ready
    client.rdata.valid := mine && io.dma.rdata.valid
    client.rdata.bits := io.dma.rdata.bits
    client.done.valid := mine && io.dma.done.valid
    client.done.bits := io.dma.done.bits
  }

  assert(!picked || VecInit(io.clients.map(_.req.valid))(nextOwner), "DMA: a client took its request back")
}
