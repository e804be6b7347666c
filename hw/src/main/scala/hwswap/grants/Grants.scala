// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._
import hwswap.bus.Axi4

/** What marks and grants count, as pulses. */
class GrantEvents extends Bundle {
  val granted = Bool()

  /** An entry of GRANT_DEVICE was refused. */
  val refused = Bool()
}

/** Marks and grants, with their registers: an AXI4 master with identifiers of `Grants.IdBits`. */
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

    /** A round of the scan, a pass over the rings, or a device's new entry is under way. */
    val working = Output(Bool())

    /** The last look at marks and rings found nothing to do. */
    val quiet = Output(Bool())

    /** How often a mark that was there before would be served by now: a round of the scan that began behind the last
      * count, and then a pass that began behind that round; modulo 2^32.
      */
    val round = Output(UInt(32.W))
  })
  private val registers = Module(new GrantRegisters)
  private val engine = Module(new GrantEngine)
  io.regs <> registers.io.regs
  registers.io.enable := io.enable
  engine.settings := registers.io.settings
  engine.device <> registers.io.device
  registers.io.scanIdle := engine.scanIdle
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

  private object Chain extends ChiselEnum {
    val scanToBegin, scan, passToBegin, pass = Value
  }
  private val chain = RegInit(Chain.scanToBegin)
  private val round = RegInit(0.U(32.W))
  io.round := round
  switch(chain) {
    is(Chain.scanToBegin)(when(engine.roundBegins)(chain := Chain.scan))
    is(Chain.scan)(when(engine.round)(chain := Chain.passToBegin))
    is(Chain.passToBegin)(when(engine.passBegins)(chain := Chain.pass))
    is(Chain.pass)(when(engine.passed) {
      chain := Chain.scanToBegin
      round := round + 1.U
    })
  }
}

object Grants {

  /** Bits of the identifiers of its bursts: those of two clients. */
  val IdBits: Int = Bursts.IdBits + 1
}
