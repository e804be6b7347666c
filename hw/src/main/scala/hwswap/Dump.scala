// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** Writes the core's view of clusters to host memory, as cluster-state records. */
class Dump(p: Params) extends Module {
  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new DumpJob))
    val done = Valid(new JobResult)
    val dma = new DmaPort
    val core = new CorePort(p)
  })

  import MapAccess.word
  private val map = MemMap.ClusterState
  private val words = MapAccess.words(map.Bytes)
  object State extends ChiselEnum {
    val idle, ask, wait_, request, data, finish = Value
  }
  val state = RegInit(State.idle)
  val job = Reg(new DumpJob)
  val written = Reg(UInt(32.W))
  val record = Reg(new ClusterRecord)
  val index = Reg(UInt(log2Ceil(words + 1).W))
  val error = Reg(Bool())

  io.job.ready := state === State.idle
  io.core.req.valid := state === State.ask
  io.core.req.bits := CorePort.blank(p)
  io.core.req.bits.op := CoreOp.dump
  io.core.req.bits.cluster := job.cluster(p.clusterBits - 1, 0)
  io.core.resp.ready := state === State.wait_

  val meta = word(
    map.Meta.Seq -> record.seq,
    map.Meta.Count -> record.count,
    map.Meta.Order -> record.order,
    map.Meta.Flag -> record.flag,
    map.Meta.Epoch -> record.epoch
  )
  io.dma.neverReads()
  io.dma.req.valid := state === State.request
  io.dma.req.bits.write := true.B
  io.dma.req.bits.addr := job.target
  io.dma.req.bits.words := words.U
  io.dma.wdata.valid := state === State.data && index =/= words.U
  io.dma.wdata.bits := MuxCase(
    record.bitmap(Axi.DataBits - 1, 0),
    Seq(
      (index === (map.Meta.Offset / Axi.DataBytes).U) -> meta,
      (index === (map.Tail.Offset / Axi.DataBytes).U) -> word(map.Tail.SeqBegin -> record.seq)
    )
  )
  when(io.dma.wdata.fire) {
    index := index + 1.U
    when(index =/= (map.Meta.Offset / Axi.DataBytes).U)(record.bitmap := record.bitmap >> Axi.DataBits)
  }

  switch(state) {
    is(State.idle) {
      written := 0.U
      error := false.B
      when(io.job.valid) {
        job := io.job.bits
        state := Mux(io.job.bits.count === 0.U, State.finish, State.ask)
      }
    }
    is(State.ask)(when(io.core.req.fire)(state := State.wait_))
    is(State.wait_) {
      when(io.core.resp.fire) {
        record := io.core.resp.bits.record
        index := 0.U
        state := State.request
      }
    }
    is(State.request)(when(io.dma.req.fire)(state := State.data))
    is(State.data) {
      when(io.dma.done.valid) {
        error := io.dma.done.bits
        written := written + 1.U
        job.cluster := job.cluster + 1.U
        job.count := job.count - 1.U
        job.target := job.target + map.Bytes.U
        state := Mux(io.dma.done.bits || job.count === 1.U, State.finish, State.ask)
      }
    }
    is(State.finish)(state := State.idle)
  }
  io.done.valid := state === State.finish
  io.done.bits.count := written
  io.done.bits.error := error
}
