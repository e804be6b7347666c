// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** Two answers that wait to be taken, like a Queue of two. An answer comes late in its cycle, so the free place takes
  * in whatever is there, and only the number of answers depends on whether it is one.
  */
class AnswerQueue(p: Params) extends Module {
  val io = IO(new Bundle {
    val enq = Flipped(Decoupled(new UnitResp(p)))
    val deq = Decoupled(new UnitResp(p))
  })
  private val waiting = RegInit(0.U(2.W))
  private val head, second = Reg(new UnitResp(p))
  io.enq.ready := !waiting(1)
  io.deq.valid := waiting.orR
  io.deq.bits := head
  private val left = waiting - io.deq.fire
  waiting := left + io.enq.fire
  when(waiting === 0.U || io.deq.ready) {
    head := Mux(waiting(1), second, io.enq.bits)
  }
  when(!waiting(1)) {
    second := io.enq.bits
  }
}
