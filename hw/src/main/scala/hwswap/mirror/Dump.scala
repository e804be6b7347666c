// SPDX-License-Identifier: Apache-2.0
package hwswap
package mirror

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma, DmaBase, DmaPort}
import hwswap.core.{BitmapPort, CoreOp, CorePort}

/** Writes the core's view of clusters to host memory, as cluster-state records. A record is taken from the core's
  * response word by word while the DMA writes it; the response stays until then.
  */
class Dump(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new DumpJob))
    val done = Valid(new JobResult)
    val dma = new DmaPort
    val core = new CorePort

    /** The bitmap that goes with the core's response. */
    val bitmap = new BitmapPort(p.dumpBits)

    /** Where the first record goes. */
    val target = Output(UInt(Axi.AddrBits.W))
  })

  import MapAccess.word
  private val map = MemMap.ClusterState
  private val words = MapAccess.words(map.Bytes)
  object State extends ChiselEnum {
    val idle, ask, wait_, request, data, next, finish = Value
  }
  val state = RegInit(State.idle)
  val job = Reg(new DumpJob)
  val offset = Reg(UInt(Dma.OffsetBits.W))
  val written = Reg(chiselTypeOf(job.count))
  val index = Reg(UInt(log2Ceil(words + 1).W))
  val error = Reg(Bool())

  io.job.ready := state === State.idle
  io.core.req.valid := state === State.ask
  io.core.req.bits := CorePort.blank
  io.core.req.bits.op := CoreOp.dump
  io.core.req.bits.cluster := job.cluster(p.clusterBits - 1, 0)
  io.core.resp.ready := state === State.next
  private val record = io.core.resp.bits.record

  val meta = word(
    map.Meta.Seq -> record.seq,
    map.Meta.Count -> record.count,
    map.Meta.Order -> record.order,
    map.Meta.Flag -> record.flag,
    map.Meta.Epoch -> record.epoch
  )
  io.dma.req.valid := state === State.request
  io.dma.req.bits.write := true.B
  io.dma.req.bits.base := DmaBase.target
  io.dma.req.bits.offset := offset
  io.dma.req.bits.words := words.U
  io.target := job.target

  // A word is taken from the response in one cycle and offered in the next: by a queue, so that who takes it is not
  // waited for in the same cycle.
  private val metaAt = map.Meta.Offset / Axi.DataBytes
  private val tailAt = map.Tail.Offset / Axi.DataBytes
  private val bitmapAt = map.Bitmap.Offset / Axi.DataBytes
  private val bitmapWords = p.slots / Axi.DataBits
  io.bitmap.index := (index - bitmapAt.U)(log2Ceil(bitmapWords) - 1, 0)
  private val tail = word(map.Tail.SeqBegin -> record.seq)
  private val out = Module(new Queue(UInt(Axi.DataBits.W), 2, hasFlush = true))
  out.io.flush.get := io.dma.done.valid
  io.dma.wdata <> out.io.deq
  out.io.enq.valid := state === State.data && index =/= words.U
  out.io.enq.bits := Mux(index === metaAt.U, meta, Mux(index === tailAt.U, tail, io.bitmap.word))
  when(out.io.enq.fire)(index := index + 1.U)

  switch(state) {
    is(State.idle) {
      written := 0.U
      offset := 0.U
      error := false.B
      when(io.job.valid) {
        job := io.job.bits
        state := Mux(io.job.bits.count === 0.U, State.finish, State.ask)
      }
    }
    is(State.ask)(when(io.core.req.fire)(state := State.wait_))
    is(State.wait_) {
      index := 0.U
      when(io.core.resp.valid)(state := State.request)
    }
    is(State.request)(when(io.dma.req.fire)(state := State.data))
    is(State.data) {
      when(io.dma.done.valid) {
        error := io.dma.done.bits
        written := written + 1.U
        job.cluster := job.cluster + 1.U
        offset := offset + words.U
        state := State.next
      }
    }
    is(State.next)(when(io.core.resp.fire)(state := Mux(error || written === job.count, State.finish, State.ask)))
    is(State.finish)(state := State.idle)
  }
  io.done.valid := state === State.finish
  io.done.bits.count := written
  io.done.bits.error := error
}
