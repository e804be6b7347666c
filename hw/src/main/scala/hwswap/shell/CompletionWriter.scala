// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, DmaBase, DmaPort}

/** The outcome of a command; the writer adds number and phase. */
class Completion extends Bundle {
  val result = UInt(Axi.DataBits.W)
  val status = UInt(MemMap.Completion.Info.Status.width.W)
  val opcode = UInt(MemMap.Completion.Info.Opcode.width.W)
  val cycles = UInt(MemMap.Completion.Info.Cycles.width.W)
  val irq = Bool()
}

object CompletionWriter {

  /** Completions held between the executor and memory; also the most one burst takes. */
  val Depth: Int = Axi.MaxBeats / MapAccess.words(MemMap.Completion.Bytes)
}

/** Writes completions to the completion ring, as many in a burst as are waiting, and counts them in CMD_HEAD once
  * memory has answered.
  */
class CompletionWriter extends Module {
  val io = IO(new Bundle {
    val log2 = Input(UInt(RegMap.CmdSize.Log2.width.W))
    val in = Flipped(Decoupled(new Completion))
    val dma = new DmaPort

    /** Commands ever completed. */
    val head = Output(UInt(32.W))

    /** Pulse: a command that asked for an interrupt was completed. */
    val irq = Output(Bool())
    val busy = Output(Bool())
  })

  import MapAccess.word
  object State extends ChiselEnum {
    val idle, request, data = Value
  }
  val state = RegInit(State.idle)
  val head = RegInit(0.U(32.W))
  val sent = Reg(UInt(16.W))
  val count = Reg(UInt(log2Ceil(CompletionWriter.Depth + 1).W))
  val left = Reg(UInt(log2Ceil(CompletionWriter.Depth + 1).W))
  val irq = RegInit(false.B)
  val second = RegInit(false.B)
  val queue = Module(new Queue(new Completion, CompletionWriter.Depth))
  queue.io.enq <> io.in

  // A batch ends where a multiple of Depth ends, so none runs past the ring's end.
  private val batchLog2 = log2Ceil(CompletionWriter.Depth)
  private val completionWords = MapAccess.words(MemMap.Completion.Bytes)
  val size = RegNext(1.U(16.W) << io.log2)
  val mask = (size - 1.U)(Settings.CmdLog2.end - 1, 0)
  val ringMask = mask(batchLog2 - 1, 0)
  val toEnd = ringMask - (head(batchLog2 - 1, 0) & ringMask) +& 1.U
  val batch = Mux(queue.io.count < toEnd, queue.io.count, toEnd)(batchLog2, 0)
  private val front = queue.io.deq.bits
  private val info = MemMap.Completion.Info
  val phase = !((sent >> io.log2)(0))
  val infoWord = word(
    info.Phase -> phase,
    info.Status -> front.status,
    info.Opcode -> front.opcode,
    info.Index -> sent,
    info.Cycles -> front.cycles
  )

  io.dma.req.valid := state === State.request
  io.dma.req.bits.write := true.B
  io.dma.req.bits.base := DmaBase.completions
  io.dma.req.bits.offset := Cat(head(Settings.CmdLog2.end - 1, 0) & mask, 0.U(log2Ceil(completionWords).W))
  io.dma.req.bits.words := Cat(count, 0.U(log2Ceil(completionWords).W))
  io.dma.wdata.valid := state === State.data && left =/= 0.U
  io.dma.wdata.bits := Mux(second, infoWord, front.result)
  queue.io.deq.ready := io.dma.wdata.fire && second
  when(io.dma.wdata.fire) {
    second := !second
    when(second) {
      sent := sent + 1.U
      left := left - 1.U
      irq := irq || front.irq
    }
  }

  val finished = state === State.data && io.dma.done.valid
  switch(state) {
    is(State.idle) {
      when(queue.io.deq.valid) {
        state := State.request
        sent := head(15, 0)
        count := batch
        left := batch
      }
    }
    is(State.request)(when(io.dma.req.fire)(state := State.data))
    is(State.data) {
      when(io.dma.done.valid) {
        state := State.idle
        head := head + count
        irq := false.B
      }
    }
  }
  io.irq := finished && irq
  io.head := head
  io.busy := state =/= State.idle || queue.io.deq.valid

  assert(!io.dma.wdata.valid || queue.io.deq.valid, "completion ring: nothing to write")
}
