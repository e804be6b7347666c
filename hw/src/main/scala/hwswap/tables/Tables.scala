// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.DmaPort
import hwswap.core.DeviceInfo

/** The events of swap tables that the statistics count. */
class TableEvents extends Bundle {
  val wordsRead, wordsWritten, busy = Bool()
}

/** Everything of swap tables: the unit that carries jobs out, and its users: the register LOOKUP, which goes first, and
  * commands.
  */
class Tables(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val job = Flipped(Decoupled(new TableJob))
    val done = Valid(new TableResult)
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val dma = new DmaPort(TableReader())

    /** The engine has stopped: jobs end in BUS_ERROR. */
    val stop = Input(Bool())

    /** The directory is cleared. */
    val ready = Output(Bool())
    val busy = Output(Bool())

    /** Pulse: a job ended in BUS_ERROR. */
    val error = Output(Bool())
    val events = Output(new TableEvents)
  })

  val registers = Module(new TableRegisters)
  val unit = Module(new TableUnit)
  private val users = Seq((registers.io.job, registers.io.done), (io.job, io.done))
  private val pick = Module(new Arbiter(new TableJob, users.length))
  for ((in, (job, _)) <- pick.io.in.zip(users)) in <> job
  unit.io.job <> pick.io.out
  private val user = RegEnable(pick.io.chosen, unit.io.job.fire)
  for (((_, done), i) <- users.zipWithIndex) {
    done.valid := unit.io.done.valid && user === i.U
    done.bits := unit.io.done.bits
  }
  registers.io.regs <> io.regs
  unit.io.devices := io.devices
  unit.io.stop := io.stop
  io.dma <> unit.io.dma

  io.ready := unit.io.ready
  io.busy := registers.io.busy || unit.io.busy
  io.error := unit.io.error
  io.events.wordsRead := unit.io.wordRead
  io.events.wordsWritten := unit.io.wordWritten
  io.events.busy := unit.io.busy
}

object Tables {

  /** Bursts of words in flight, reads and writes each. */
  val Bursts: Int = 8
}
