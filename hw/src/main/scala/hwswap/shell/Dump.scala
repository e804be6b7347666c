// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma, DmaWritePort}
import hwswap.core.{CoreOp, CorePort, DumpPort}

/** Write `count` clusters from `cluster` on to memory, from the word with number `target` on. */
class DumpJob extends Bundle {
  val cluster = UInt(32.W)
  val count = UInt(MemMap.Command.Head.Nr.width.W)
  val target = UInt(Dma.AddrBits.W)
}

/** DUMP: writes clusters as the core holds them to host memory (MemMap.ClusterState). The DMA takes a cluster word by
  * word while the core's response waits, which keeps it open.
  */
class Dump(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new DumpJob))

    /** The engine has stopped: no other cluster is begun. */
    val stop = Input(Bool())

    /** The job's end, and its status: OK, BUS_ERROR, or that with which the core refused. */
    val done = Valid(UInt(MemMap.Completion.Info.Status.width.W))
    val dma = new DmaWritePort
    val core = new CorePort

    /** The cluster that goes with the core's response. */
    val cluster = new DumpPort
  })

  import MapAccess.word
  private val map = MemMap.ClusterState
  private val words = MapAccess.words(map.Bytes)
  object State extends ChiselEnum {
    val idle, ask, wait_, request, data, next, finish = Value
  }
  val state = RegInit(State.idle)
  val job = Reg(new DumpJob)
  val written = Reg(chiselTypeOf(job.count))
  val index = Reg(UInt(log2Ceil(words + 1).W))
  val status = Reg(chiselTypeOf(io.done.bits))
  val isOk = status === StatusCode.Ok.U

  io.job.ready := state === State.idle
  io.core.req.valid := state === State.ask
  io.core.req.bits := CorePort.blank
  io.core.req.bits.op := CoreOp.dump
  io.core.req.bits.cluster := job.cluster(p.clusterBits - 1, 0)
  io.core.resp.ready := state === State.next

  private val meta = io.cluster.meta
  private val metaWord =
    word(map.Meta.Count -> meta.count, map.Meta.Order -> meta.order, map.Meta.Flag -> meta.flag.asUInt)
  private val linksWord = word(map.Links.Next -> io.cluster.next, map.Links.Prev -> io.cluster.prev)
  io.dma.req.valid := state === State.request
  io.dma.req.bits.address := job.target
  io.dma.req.bits.words := words.U

  // A word is taken from the core in one cycle and offered in the next: by a queue, so that it does not wait for its
  // reader in the same cycle.
  private val bitmapAt = map.Bitmap.Offset / Axi.DataBytes
  private val bitmapWords = p.slots / Axi.DataBits
  io.cluster.bitmap.index := (index - bitmapAt.U)(log2Ceil(bitmapWords) - 1, 0)
  private val out = Module(new Queue(UInt(Axi.DataBits.W), 2, hasFlush = true))
  out.io.flush.get := io.dma.done.valid
  io.dma.data.valid := out.io.deq.valid
  io.dma.data.bits.word := out.io.deq.bits
  io.dma.data.bits.keep := true.B
  out.io.deq.ready := io.dma.data.ready
  out.io.enq.valid := state === State.data && index =/= words.U
  private def at(offset: Int): Bool = index === (offset / Axi.DataBytes).U
  out.io.enq.bits :=
    Mux(at(map.Meta.Offset), metaWord, Mux(at(map.Links.Offset), linksWord, io.cluster.bitmap.word))
  when(out.io.enq.fire)(index := index + 1.U)

  switch(state) {
    is(State.idle) {
      written := 0.U
      status := StatusCode.Ok.U
      when(io.job.valid) {
        job := io.job.bits
        state := Mux(io.job.bits.count === 0.U, State.finish, State.ask)
      }
    }
    is(State.ask)(when(io.core.req.fire)(state := State.wait_))
    is(State.wait_) {
      index := 0.U
      when(io.core.resp.valid) {
        status := io.core.resp.bits.status
        state := Mux(io.core.resp.bits.status === StatusCode.Ok.U, State.request, State.next)
      }
    }
    is(State.request)(when(io.dma.req.fire)(state := State.data))
    is(State.data) {
      when(io.dma.done.valid) {
        when(io.dma.done.bits.error)(status := StatusCode.BusError.U)
        written := written + 1.U
        job.cluster := job.cluster + 1.U
        job.target := job.target + words.U
        state := State.next
      }
    }
    is(State.next) {
      val more = isOk && written =/= job.count
      when(io.core.resp.fire)(state := Mux(more && !io.stop, State.ask, State.finish))
      when(more && io.stop)(status := StatusCode.BusError.U)
    }
    is(State.finish)(state := State.idle)
  }
  io.done.valid := state === State.finish
  io.done.bits := status
}
