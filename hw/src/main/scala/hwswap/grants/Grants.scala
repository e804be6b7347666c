// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import hwswap.bus.Axi4

/** Pulses for the counters of grants. */
class GrantEvents extends Bundle {
  val granted = Bool()

  /** An entry of GRANT_DEVICE was refused. */
  val refused = Bool()
}

/** The engine of grants with its registers: an AXI4 master with identifiers of `Grants.IdBits`. */
class Grants(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort

    /** CONTROL.ENABLE, and no fault. */
    val enable = Input(Bool())
    val axi = new Axi4

    /** For RESET: nothing new is begun on the bus; nothing is under way there. */
    val flush = Input(Bool())
    val busIdle = Output(Bool())

    /** The bus has answered with an error; stays. */
    val failed = Output(Bool())
    val events = Output(new GrantEvents)

    /** A cluster is being read, or a pass over the rings or a device's new entry is under way. */
    val working = Output(Bool())

    /** The last pass over the rings found nothing to do. */
    val quiet = Output(Bool())

    /** Passes over the rings that were finished since reset, modulo 2^32. */
    val passes = Output(UInt(32.W))
  })
  private val registers = Module(new GrantRegisters)
  private val engine = Module(new GrantEngine)
  io.regs <> registers.io.regs
  registers.io.enable := io.enable
  engine.settings := registers.io.settings
  engine.device <> registers.io.device
  registers.io.readIdle := engine.readIdle
  registers.io.grantIdle := engine.grantIdle
  registers.io.round := engine.round
  registers.io.passed := engine.passed
  io.axi <> engine.axi
  engine.flush := io.flush
  io.busIdle := engine.busIdle
  io.failed := engine.failed
  io.events.granted := engine.granted
  io.events.refused := registers.io.refused
  io.working := engine.working || registers.io.device.valid
  io.quiet := !registers.io.device.valid && (!io.enable || engine.quiet)
  io.passes := registers.io.passes
}

object Grants {

  /** Bits of the identifiers of its bursts: those of two clients. */
  val IdBits: Int = Bursts.IdBits + 1
}
