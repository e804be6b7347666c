// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma, DmaReadPort}

object CommandFetch {

  /** Commands held between memory and the executor, with those that are asked for. */
  val Depth: Int = 16

  /** Commands of one transfer at most. */
  val Batch: Int = Axi.MaxBeats / MapAccess.words(MemMap.Command.Bytes)

  /** Cycles from one transfer's request until it is known what is to be fetched after it. */
  private val SettleCycles: Int = 2
}

/** Fetches commands after the doorbell into a small queue, several in a transfer and several transfers on their way, as
  * far as the queue has room for them. None is handed on before the whole transfer it came with is known to be good,
  * nor any after one that was not. A tail that is further ahead than the ring is long is the host's mistake: nothing is
  * fetched until it writes another.
  */
class CommandFetch extends Module {
  import CommandFetch._
  val io = IO(new Bundle {
    val enable = Input(Bool())

    /** All commands that were not handed on are forgotten; until reset. */
    val stop = Input(Bool())

    /** The ring: number of its first word in memory, and its size. */
    val base = Input(UInt(Dma.AddrBits.W))
    val log2 = Input(UInt(RegMap.CmdSize.Log2.width.W))
    val tail = Input(UInt(32.W))
    val dma = new DmaReadPort(CommandRing.Reader)
    val out = Decoupled(new Command)

    /** Commands ever asked for. */
    val asked = Output(UInt(32.W))

    /** Commands are fetched, or waited for, or in the queue. */
    val busy = Output(Bool())
  })

  private val words = MapAccess.words(MemMap.Command.Bytes)
  private val wordLog2 = log2Ceil(words)
  private val countBits = log2Ceil(Depth + 1)
  object State extends ChiselEnum {
    val idle, request, settle = Value
  }
  val state = RegInit(State.idle)
  val asked = RegInit(0.U(32.W))
  val count = Reg(UInt(log2Ceil(Batch + 1).W))
  val settled = Reg(UInt(log2Ceil(SettleCycles).max(1).W))
  val queue = Module(new Queue(new Command, Depth, hasFlush = true))
  queue.io.flush.get := io.stop

  /** Commands of transfers that ended without an error; the last one may be on its way into the queue. */
  val goodCommands = RegInit(0.U(countBits.W))
  io.out.valid := queue.io.deq.valid && goodCommands =/= 0.U
  io.out.bits := queue.io.deq.bits
  queue.io.deq.ready := io.out.ready && goodCommands =/= 0.U

  /** Commands that were asked for and not handed on: each has a place in the queue. */
  val held = RegInit(0.U(countBits.W))
  private val taken = io.dma.req.fire
  held := held + Mux(taken, count, 0.U) - io.out.fire

  // Three steps find the next fetch: read the doorbell, count the entries up to it, take a batch. A batch ends at a
  // multiple of Batch, so none runs past the ring's end.
  private val batchLog2 = log2Ceil(Batch)
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
  val space = held <= (Depth - Batch).U
  val wanted = io.enable && some && io.log2 =/= 0.U

  /** The next command's address: known long before it is asked for. */
  private val address = RegNext(io.base + Cat(asked(Settings.CmdLog2.end - 1, 0) & mask, 0.U(wordLog2.W)))

  io.dma.drop := false.B
  io.dma.req.valid := state === State.request
  io.dma.req.bits.reader := CommandRing.Reader
  io.dma.req.bits.address := address
  io.dma.req.bits.words := Cat(count, 0.U(wordLog2.W))

  switch(state) {
    is(State.idle) {
      when(wanted && space) {
        state := State.request
        count := batch
      }
    }
    is(State.request) {
      settled := 0.U
      when(taken) {
        state := State.settle
        asked := asked + count
      }
    }
    is(State.settle) {
      settled := settled + 1.U
      when(settled === (SettleCycles - 1).U)(state := State.idle)
    }
  }

  // A word joins those before it; the fourth completes a command, which enters the queue one cycle later.
  private val word = io.dma.data.bits
  private val came = io.dma.data.fire
  io.dma.data.ready := true.B
  private val wordIndex = RegInit(0.U(wordLog2.W))
  private val last = came && wordIndex === (words - 1).U
  private val complete = RegNext(last, false.B)
  val partial = Reg(Vec(words, UInt(Axi.DataBits.W)))
  queue.io.enq.valid := complete
  queue.io.enq.bits.head := partial(MemMap.Command.Head.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg0 := partial(MemMap.Command.Arg0.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg1 := partial(MemMap.Command.Arg1.Offset / Axi.DataBytes)
  queue.io.enq.bits.arg2 := partial(MemMap.Command.Arg2.Offset / Axi.DataBytes)
  when(came) {
    wordIndex := wordIndex + 1.U
    for (i <- 0 until words) when(wordIndex === i.U)(partial(i) := word.word)
  }

  /** Commands of the transfer that is coming; a word came with an error. */
  private val coming = RegInit(0.U(log2Ceil(Batch + 1).W))
  private val spoiled = RegInit(false.B)
  when(came && word.error)(spoiled := true.B)
  when(last)(coming := Mux(word.last, 0.U, coming + 1.U))
  private val arrived = last && word.last && !word.error && !spoiled
  goodCommands := Mux(io.stop, 0.U, goodCommands + Mux(arrived, coming +& 1.U, 0.U) - io.out.fire)
  io.asked := asked
  io.busy := state =/= State.idle || wanted || settling || complete || queue.io.deq.valid || !io.dma.idle

  assert(!queue.io.enq.valid || queue.io.enq.ready || io.stop, "command queue overrun")
  assert(!(came && word.last) || last, "a transfer ended within a command")
  assert(
    state =/= State.request || ((asked(14, 0) & mask) +& count <= size && count =/= 0.U),
    "command ring: a fetch ran past the ring's end"
  )
}
