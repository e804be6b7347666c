// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

object CommandFetch {

  /** Commands held between memory and the executor. */
  val Depth: Int = 8

  /** Commands of one burst. */
  val Batch: Int = Axi.MaxBeats / MapAccess.words(MemMap.Command.Bytes)
}

/** Fetches commands behind the doorbell, several in a burst, into a small queue. A tail that is further ahead than
  * the ring is long is the host's mistake: nothing is fetched until it writes another.
  */
class CommandFetch extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val base = Input(UInt(64.W))
    val log2 = Input(UInt(RegMap.CmdSize.Log2.width.W))
    val tail = Input(UInt(32.W))
    val dma = new DmaPort
    val out = Decoupled(new Command)

    /** Commands ever fetched. */
    val fetched = Output(UInt(32.W))

    /** Commands are fetched, or waited for, or in the queue. */
    val busy = Output(Bool())
  })

  private val words = MapAccess.words(MemMap.Command.Bytes)
  object State extends ChiselEnum {
    val idle, request, data = Value
  }
  val state = RegInit(State.idle)
  val fetched = RegInit(0.U(32.W))
  val count = Reg(UInt(log2Ceil(CommandFetch.Batch + 1).W))
  val queue = Module(new Queue(new Command, CommandFetch.Depth))
  io.out <> queue.io.deq

  val size = 1.U << io.log2
  val pending = io.tail - fetched
  val sane = pending <= size
  val index = fetched & (size - 1.U)
  val toEnd = size - index
  val space = CommandFetch.Depth.U - queue.io.count
  val batch = Seq(pending, toEnd, CommandFetch.Batch.U).reduce((a, b) => Mux(a < b, a, b))(count.getWidth - 1, 0)
  val wanted = io.enable && sane && pending =/= 0.U

  // A word joins three before it; the fourth completes a command.
  val wordIndex = RegInit(0.U(log2Ceil(words).W))
  val partial = Reg(Vec(words - 1, UInt(Axi.DataBits.W)))
  io.dma.rdata.ready := true.B
  queue.io.enq.valid := io.dma.rdata.valid && wordIndex === (words - 1).U
  queue.io.enq.bits.head := partial(MemMap.Command.Head.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg0 := partial(MemMap.Command.Arg0.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg1 := partial(MemMap.Command.Arg1.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg2 := io.dma.rdata.bits
  when(io.dma.rdata.valid) {
    wordIndex := wordIndex + 1.U
    for (i <- 0 until words - 1) when(wordIndex === i.U)(partial(i) := io.dma.rdata.bits)
  }

  io.dma.neverWrites()
  io.dma.req.valid := state === State.request
  io.dma.req.bits.write := false.B
  io.dma.req.bits.addr := io.base + index * MemMap.Command.Bytes.U
  io.dma.req.bits.words := count * words.U

  switch(state) {
    is(State.idle) {
      when(wanted && space >= CommandFetch.Batch.U) {
        state := State.request
        count := batch
      }
    }
    is(State.request)(when(io.dma.req.fire)(state := State.data))
    is(State.data) {
      when(io.dma.done.valid) {
        state := State.idle
        fetched := fetched + count
      }
    }
  }
  io.fetched := fetched
  io.busy := state =/= State.idle || wanted || queue.io.deq.valid

  assert(!queue.io.enq.valid || queue.io.enq.ready, "command queue overrun")
  assert(state === State.idle || index +& count <= size, "command ring: a fetch ran past the ring's end")
}
