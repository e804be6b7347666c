// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, DmaBase, DmaPort}

object CommandFetch {

  /** Commands held between memory and the executor. */
  val Depth: Int = 8

  /** Commands of one burst. */
  val Batch: Int = Axi.MaxBeats / MapAccess.words(MemMap.Command.Bytes)
}

/** Fetches commands behind the doorbell, several in a burst, into a small queue. None is handed on before the whole
  * transfer it came with is known to be good. A tail that is further ahead than
  * the ring is long is the host's mistake: nothing is fetched until it writes another.
  */
class CommandFetch extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())

    /** All commands that were not handed on are forgotten. */
    val stop = Input(Bool())
    val log2 = Input(UInt(RegMap.CmdSize.Log2.width.W))
    val tail = Input(UInt(32.W))
    val dma = new DmaPort
    val out = Decoupled(new Command)

    /** Commands ever asked for. */
    val asked = Output(UInt(32.W))

    /** Commands are fetched, or waited for, or in the queue. */
    val busy = Output(Bool())
  })

  private val words = MapAccess.words(MemMap.Command.Bytes)
  object State extends ChiselEnum {
    val idle, request, data = Value
  }
  val state = RegInit(State.idle)
  val asked = RegInit(0.U(32.W))
  val count = Reg(UInt(log2Ceil(CommandFetch.Batch + 1).W))
  val queue = Module(new Queue(new Command, CommandFetch.Depth, hasFlush = true))
  queue.io.flush.get := io.stop

  /** Commands of transfers that ended without an error; the last one of them may be on its way into the queue. */
  val good = RegInit(0.U(log2Ceil(CommandFetch.Depth + 1).W))
  io.out.valid := queue.io.deq.valid && good =/= 0.U
  io.out.bits := queue.io.deq.bits
  queue.io.deq.ready := io.out.ready && good =/= 0.U

  // What to fetch next, in three steps: the doorbell, what is behind it, a batch of it. A batch ends where a multiple
  // of Batch ends, so none runs past the ring's end. While a fetch is under way the steps settle for the next.
  private val batchLog2 = log2Ceil(CommandFetch.Batch)
  private val wordIndex = RegInit(0.U(log2Ceil(words).W))
  private val complete = RegNext(io.dma.rdata.valid && wordIndex === (words - 1).U, false.B)
  val size = RegNext(1.U(16.W) << io.log2)
  val mask = (size - 1.U)(Settings.CmdLog2.end - 1, 0)
  val tail = RegNext(io.tail, 0.U)
  val pending = RegNext(tail - asked, 0.U)
  val low = asked(batchLog2 - 1, 0)
  val ringMask = mask(batchLog2 - 1, 0)
  val toEnd = ringMask - (low & ringMask) +& 1.U
  val batch = RegNext(Mux(pending < toEnd, pending, toEnd)(batchLog2, 0))
  val some = RegNext(pending =/= 0.U && pending <= size, false.B)
  val settling = tail =/= io.tail || ShiftRegister(tail =/= io.tail, 1, false.B, true.B) ||
    ShiftRegister(tail =/= io.tail, 2, false.B, true.B)
  val space = queue.io.count <= (CommandFetch.Depth - CommandFetch.Batch).U && !complete
  val wanted = io.enable && some && io.log2 =/= 0.U

  // A word joins those before it; the fourth completes a command, which enters the queue one cycle later.
  val partial = Reg(Vec(words, UInt(Axi.DataBits.W)))
  queue.io.enq.valid := complete
  queue.io.enq.bits.head := partial(MemMap.Command.Head.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg0 := partial(MemMap.Command.Arg0.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg1 := partial(MemMap.Command.Arg1.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg2 := partial(MemMap.Command.Arg2.Offset / Axi.DataBytes)
  when(io.dma.rdata.valid) {
    wordIndex := wordIndex + 1.U
    for (i <- 0 until words) when(wordIndex === i.U)(partial(i) := io.dma.rdata.bits)
  }

  io.dma.neverWrites()
  io.dma.req.valid := state === State.request
  io.dma.req.bits.write := false.B
  io.dma.req.bits.base := DmaBase.commands
  io.dma.req.bits.offset := Cat(asked(Settings.CmdLog2.end - 1, 0) & mask, 0.U(log2Ceil(words).W))
  io.dma.req.bits.words := Cat(count, 0.U(log2Ceil(words).W))

  switch(state) {
    is(State.idle) {
      when(wanted && space) {
        state := State.request
        count := batch
      }
    }
    is(State.request) {
      when(io.dma.req.fire) {
        state := State.data
        asked := asked + count
      }
    }
    is(State.data)(when(io.dma.done.valid)(state := State.idle))
  }
  private val arrived = state === State.data && io.dma.done.valid && !io.dma.done.bits
  good := Mux(io.stop, 0.U, good + Mux(arrived, count, 0.U) - io.out.fire)
  io.asked := asked
  io.busy := state =/= State.idle || wanted || settling || complete || queue.io.deq.valid

  assert(!queue.io.enq.valid || queue.io.enq.ready, "command queue overrun")
  assert(
    state =/= State.request || ((asked(14, 0) & mask) +& count <= size && count =/= 0.U),
    "command ring: a fetch ran past the ring's end"
  )
}
