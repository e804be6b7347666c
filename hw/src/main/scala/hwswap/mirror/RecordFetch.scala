// SPDX-License-Identifier: Apache-2.0
package hwswap
package mirror

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, DmaBase, DmaPort}
import hwswap.core.{BitmapPort, ClusterRecord, CoreOp, CorePort}

object RecordFetch {

  /** Reads of one record before the engine leaves it to a later notice. */
  val Tries: Int = 16
}

/** Fetches one cluster-state record and gives it to the core. A record whose two sequence numbers differ was being
  * written: it is read again.
  */
class RecordFetch(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new FetchJob))
    val done = Valid(new JobResult)
    val dma = new DmaPort
    val core = new CorePort

    /** The record's bitmap, while the core takes it in. */
    val bitmap = Flipped(new BitmapPort(p.wordSlots))

    /** Pulses: a record was read; it has to be read again; the core took one in. */
    val fetched = Output(Bool())
    val retried = Output(Bool())
    val applied = Output(Bool())
  })

  import MapAccess.get
  private val map = MemMap.ClusterState
  private val words = MapAccess.words(map.Bytes)
  object State extends ChiselEnum {
    val idle, request, data, apply_, wait_, finish = Value
  }
  val state = RegInit(State.idle)
  val cluster = Reg(UInt(p.clusterBits.W))
  val record = Reg(new ClusterRecord)
  val seqBegin = Reg(UInt(map.Tail.SeqBegin.width.W))
  val index = Reg(UInt(log2Ceil(words).W))
  val tries = Reg(UInt(log2Ceil(RecordFetch.Tries + 1).W))
  val error = Reg(Bool())

  io.job.ready := state === State.idle
  io.dma.neverWrites()
  io.dma.req.valid := state === State.request
  io.dma.req.bits.write := false.B
  io.dma.req.bits.base := DmaBase.states
  io.dma.req.bits.offset := cluster * words.U
  io.dma.req.bits.words := words.U

  when(io.dma.rdata.valid) {
    val word = io.dma.rdata.bits
    index := index + 1.U
    when(index === (map.Meta.Offset / Axi.DataBytes).U) {
      record.seq := get(word, map.Meta.Seq)
      record.count := get(word, map.Meta.Count)
      record.order := get(word, map.Meta.Order)
      record.flag := get(word, map.Meta.Flag)
      record.epoch := get(word, map.Meta.Epoch)
    }.elsewhen(index === (map.Tail.Offset / Axi.DataBytes).U) {
      seqBegin := get(word, map.Tail.SeqBegin)
    }
  }

  // The bitmap, as it comes: a memory for each half of the words.
  private val halves = Axi.DataBits / p.wordSlots
  private val bitmapAt = map.Bitmap.Offset / Axi.DataBytes
  private val bitmapWords = p.slots / Axi.DataBits
  private val isBitmap = index >= bitmapAt.U && index < (bitmapAt + bitmapWords).U
  io.bitmap.word := VecInit
    .tabulate(halves) { half =>
      val memory = Mem(bitmapWords, UInt(p.wordSlots.W))
      when(io.dma.rdata.valid && isBitmap) {
        memory.write(
          (index - bitmapAt.U)(log2Ceil(bitmapWords) - 1, 0),
          io.dma.rdata.bits((half + 1) * p.wordSlots - 1, half * p.wordSlots)
        )
      }
      memory.read(io.bitmap.index >> log2Ceil(halves))
    }(io.bitmap.index(log2Ceil(halves) - 1, 0))

  io.core.req.valid := state === State.apply_ && seqBegin === record.seq
  io.core.req.bits := CorePort.blank
  io.core.req.bits.op := CoreOp.apply_
  io.core.req.bits.cluster := cluster
  io.core.req.bits.record := record
  io.core.resp.ready := state === State.wait_

  val torn = state === State.apply_ && seqBegin =/= record.seq
  io.fetched := state === State.data && io.dma.done.valid && !io.dma.done.bits
  io.retried := torn && tries =/= RecordFetch.Tries.U
  io.applied := io.core.resp.fire && io.core.resp.bits.taken

  switch(state) {
    is(State.idle) {
      tries := 1.U
      index := 0.U
      error := false.B
      when(io.job.valid) {
        state := State.request
        cluster := io.job.bits.cluster
      }
    }
    is(State.request)(when(io.dma.req.fire)(state := State.data))
    is(State.data) {
      when(io.dma.done.valid) {
        error := io.dma.done.bits
        state := Mux(io.dma.done.bits, State.finish, State.apply_)
      }
    }
    is(State.apply_) {
      index := 0.U
      when(io.retried) {
        tries := tries + 1.U
        state := State.request
      }.elsewhen(torn) {
        state := State.finish
      }.elsewhen(io.core.req.fire)(state := State.wait_)
    }
    is(State.wait_)(when(io.core.resp.fire)(state := State.finish))
    is(State.finish)(state := State.idle)
  }
  io.done.valid := state === State.finish
  io.done.bits.count := 1.U
  io.done.bits.error := error
}
