// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._

/** Carries out CONTROL.RESET: ends the bus transfers under way, resets everything but the buses for one cycle, and
  * waits until all memories are cleared. A bus that does not end them is not waited for longer than the time-out: then
  * the masters are reset in the middle of their transfers, and AxiGate ends these.
  *
  * @param timeoutLog2
  *   the time-out in cycles, as a power of two exponent
  */
class ResetControl(timeoutLog2: Int) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val dmaIdle = Input(Bool())

    /** The memories are cleared. */
    val cleared = Input(Bool())

    /** Ends the transfer under way and keeps the DMA from starting another. */
    val flush = Output(Bool())

    /** Resets the engine and its masters, one cycle. */
    val pulse = Output(Bool())

    /** CONTROL.RESET, which is read here. */
    val resetting = Output(Bool())
  })

  object State extends ChiselEnum {
    val run, flush, pulse, settle, clear = Value
  }
  private val control = RegMap.Control
  val state = RegInit(State.run)
  val waited = RegInit(0.U(timeoutLog2.W))
  waited := Mux(state === State.flush, waited + 1.U, 0.U)

  switch(state) {
    is(State.run) {
      val write = io.regs.write
      when(write.valid && write.bits.starts(control.Offset) && MapAccess.get(write.bits.data, control.Reset).asBool) {
        state := State.flush
      }
    }
    is(State.flush)(when(io.dmaIdle || waited.andR)(state := State.pulse))
    is(State.pulse)(state := State.settle)
    is(State.settle)(state := State.clear)
    is(State.clear)(when(io.cleared)(state := State.run))
  }
  io.flush := state === State.flush || state === State.pulse
  io.pulse := state === State.pulse
  io.resetting := state =/= State.run

  // Not with the rest of CONTROL: a read under way when the pulse comes would be answered with 0.
  private val file = new RegisterFile(io.regs)
  file.readOnly(control.Offset, MapAccess.word(control.Reset -> io.resetting))
  file.finish()
}
