// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma, DmaWritePort}

/** The outcome of a command; the writer adds number and phase. */
class Completion extends Bundle {
  val result = UInt(Axi.DataBits.W)
  val status = UInt(MemMap.Completion.Info.Status.width.W)
  val opcode = UInt(MemMap.Completion.Info.Opcode.width.W)
  val cycles = UInt(MemMap.Completion.Info.Cycles.width.W)
  val irq = Bool()
}

object CompletionWriter {

  /** Completions held between the executor and memory; also the most one transfer takes. */
  val Depth: Int = 16
}

/** Writes completions to the completion ring, as many in a transfer as are waiting, and counts them in CMD_HEAD once
  * memory has answered.
  */
class CompletionWriter extends Module {
  val io = IO(new Bundle {

    /** The ring: number of its first word in memory, and its size. */
    val base = Input(UInt(Dma.AddrBits.W))
    val log2 = Input(UInt(RegMap.CmdSize.Log2.width.W))
    val in = Flipped(Decoupled(new Completion))
    val dma = new DmaWritePort

    /** Commands ever completed. */
    val head = Output(UInt(32.W))

    /** Pulse: a command that asked for an interrupt was completed. */
    val irq = Output(Bool())
    val busy = Output(Bool())
  })

  import MapAccess.word
  object State extends ChiselEnum {
    val idle, request, data, drop = Value
  }
  val state = RegInit(State.idle)
  val head = RegInit(0.U(32.W))
  val sent = Reg(UInt(16.W))
  val count = Reg(UInt(log2Ceil(CompletionWriter.Depth + 1).W))
  val entriesLeft = Reg(UInt(log2Ceil(CompletionWriter.Depth + 1).W))
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

  /** The next completion's place: known a cycle before it is asked for. */
  private val offset = Cat(head(Settings.CmdLog2.end - 1, 0) & mask, 0.U(log2Ceil(completionWords).W))
  private val address = RegNext(io.base + offset)

  io.dma.req.valid := state === State.request
  io.dma.req.bits.address := address
  io.dma.req.bits.words := Cat(count, 0.U(log2Ceil(completionWords).W))
  io.dma.data.valid := state === State.data && entriesLeft =/= 0.U
  io.dma.data.bits.word := Mux(second, infoWord, front.result)
  io.dma.data.bits.keep := true.B
  private val handed = io.dma.data.fire && second
  // Drop the entries that a failed transfer left out, so that the next ones go to their own places.
  private val dropped = state === State.drop && entriesLeft =/= 0.U
  queue.io.deq.ready := handed || dropped
  when(io.dma.data.fire)(second := !second)
  when(handed) {
    sent := sent + 1.U
    irq := irq || front.irq
  }
  when(handed || dropped)(entriesLeft := entriesLeft - 1.U)

  val finished = state === State.data && io.dma.done.valid
  switch(state) {
    is(State.idle) {
      when(queue.io.deq.valid) {
        state := State.request
        sent := head(15, 0)
        count := batch
        entriesLeft := batch
      }
    }
    is(State.request)(when(io.dma.req.fire)(state := State.data))
    is(State.data) {
      when(io.dma.done.valid) {
        state := Mux(entriesLeft === 0.U, State.idle, State.drop)
        head := head + count
        irq := false.B
        second := false.B
      }
    }
    is(State.drop)(when(entriesLeft === 0.U)(state := State.idle))
  }
  io.irq := finished && irq
  io.head := head
  io.busy := state =/= State.idle || queue.io.deq.valid

  assert(
    !finished || entriesLeft === 0.U || io.dma.done.bits.error,
    "completion ring: a transfer took too few completions"
  )
  assert(!io.dma.data.valid || queue.io.deq.valid, "completion ring: nothing to write")
}
