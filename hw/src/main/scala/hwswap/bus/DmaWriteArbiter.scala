// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** Gives the writing half of a DMA to one client at a time, in turn (round-robin), from its request until the end of
  * its transfer.
  *
  * @param clients
  *   number of client ports
  */
class DmaWriteArbiter(clients: Int) extends Module {
  val io = IO(new Bundle {
    val clients = Vec(DmaWriteArbiter.this.clients, Flipped(new DmaWritePort))
    val dma = new DmaWritePort
  })

  /** A client has the turn; its request was taken. */
  private val picked, busy = RegInit(false.B)
  private val owner = RegInit(0.U(log2Ceil(clients).max(1).W))
  private val wants = io.clients.map(_.req.valid)
  when(!picked && VecInit(wants).asUInt.orR) {
    picked := true.B
    owner := RoundRobin(wants, owner)
  }
  when(io.dma.req.fire)(busy := true.B)
  when(io.dma.done.valid) {
    picked := false.B
    busy := false.B
  }

  private def ofOwner[T <: Data](field: DmaWritePort => T): T = VecInit(io.clients.map(field))(owner)
  io.dma.req.valid := picked && !busy
  io.dma.req.bits := ofOwner(_.req.bits)
  io.dma.data.valid := busy && ofOwner(_.data.valid)
  io.dma.data.bits := ofOwner(_.data.bits)
  for ((client, i) <- io.clients.zipWithIndex) {
    val mine = owner === i.U
    client.req.ready := picked && !busy && mine && io.dma.req.ready
    client.data.ready := busy && mine && io.dma.data.ready
    client.done.valid := busy && mine && io.dma.done.valid
    client.done.bits := io.dma.done.bits
  }

  assert(!picked || busy || ofOwner(_.req.valid), "DMA: a client took its request back")
}
