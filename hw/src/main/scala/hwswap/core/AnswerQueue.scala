// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Answers that wait to be taken, in order.
  *
  * An answer comes late in its cycle, so it always goes into a register first, and is seen one cycle later.
  * For the same reason it has to be known one cycle before whether there is room: `room` leaves a place for the answer
  * that may be in the register by then. Answers are two cycles apart at least.
  */
class AnswerQueue(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val enq = Flipped(Valid(new UnitResp))

    /** In the next cycle, an answer may come. */
    val room = Output(Bool())

    /** There is none, and none came in the last cycle. */
    val empty = Output(Bool())
    val deq = Decoupled(new UnitResp)
  })
  private val arrived = RegNext(io.enq.valid, false.B)
  private val answer = RegNext(io.enq.bits)
  private val waiting = Module(new Queue(new UnitResp, AnswerQueue.Places, flow = true))
  waiting.io.enq.valid := arrived
  waiting.io.enq.bits := answer
  io.deq <> waiting.io.deq
  io.room := waiting.io.count <= (AnswerQueue.Places - 2).U
  io.empty := waiting.io.count === 0.U && !arrived

  assert(!arrived || waiting.io.enq.ready, "an answer finds no room")
  assert(!(arrived && io.enq.valid), "two answers in consecutive cycles")
}

object AnswerQueue {

  /** Answers that wait, beside the one in the register. */
  val Places: Int = 4
}
