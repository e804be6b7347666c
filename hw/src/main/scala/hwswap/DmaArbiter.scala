// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** Gives the DMA to one client at a time, from its request to `done`, in turn (round-robin), so that no client
  * starves.
  *
  * @param clients
  *   number of client ports
  */
class DmaArbiter(clients: Int) extends Module {
  val io = IO(new Bundle {
    val clients = Vec(DmaArbiter.this.clients, Flipped(new DmaPort))
    val dma = new DmaPort
  })

  val busy = RegInit(false.B)
  val owner = Reg(UInt(log2Ceil(clients).max(1).W))

  val pick = Module(new RRArbiter(new DmaReq, clients))
  for ((in, client) <- pick.io.in.zip(io.clients)) in <> client.req
  io.dma.req.valid := pick.io.out.valid && !busy
  io.dma.req.bits := pick.io.out.bits
  pick.io.out.ready := io.dma.req.ready && !busy
  when(io.dma.req.fire) {
    busy := true.B
    owner := pick.io.chosen
  }
  when(io.dma.done.valid)(busy := false.B)

  io.dma.wdata.valid := false.B
  io.dma.wdata.bits := 0.U
  io.dma.rdata.ready := false.B
  for ((client, i) <- io.clients.zipWithIndex) {
    val mine = busy && owner === i.U
    client.wdata.ready := mine && io.dma.wdata.ready
    client.rdata.valid := mine && io.dma.rdata.valid
    client.rdata.bits := io.dma.rdata.bits
    client.done.valid := mine && io.dma.done.valid
    client.done.bits := io.dma.done.bits
    when(mine) {
      io.dma.wdata.valid := client.wdata.valid
      io.dma.wdata.bits := client.wdata.bits
      io.dma.rdata.ready := client.rdata.ready
    }
  }
}
