// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** What the statistics count of swap tables. */
class TableEvents extends Bundle {
  val wordsRead, wordsWritten, busy = Bool()
}

/** Everything of swap tables and readahead: the unit that carries jobs out, and its two users, commands and the register
  * LOOKUP, which goes first.
  */
class Tables(p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val job = Flipped(Decoupled(new TableJob))
    val done = Valid(new TableResult)
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val dma = new TableDmaPort
    val directoryBase = Input(UInt(Axi.AddrBits.W))

    /** The directory is cleared. */
    val ready = Output(Bool())
    val busy = Output(Bool())

    /** Pulse: a job ended in BUS_ERROR. */
    val error = Output(Bool())
    val events = Output(new TableEvents)
  })
  val registers = Module(new TableRegisters)
  val unit = Module(new TableUnit(p))
  private val pick = Module(new Arbiter(new TableJob, 2))
  pick.io.in(0) <> registers.io.job
  pick.io.in(1) <> io.job
  unit.io.job <> pick.io.out
  private val byRegister = RegEnable(pick.io.chosen === 0.U, unit.io.job.fire)
  for ((done, its) <- Seq(registers.io.done -> byRegister, io.done -> !byRegister)) {
    done.valid := unit.io.done.valid && its
    done.bits := unit.io.done.bits
  }

  registers.io.regs.write := io.regs.write
  registers.io.regs.read := io.regs.read
  io.regs.readData := registers.io.regs.readData
  registers.io.previous := unit.io.previous
  registers.io.pages := unit.io.pages
  unit.io.devices := io.devices
  unit.io.directoryBase := io.directoryBase
  io.dma <> unit.io.dma

  io.ready := unit.io.ready
  io.busy := registers.io.busy || unit.io.busy
  io.error := unit.io.error
  io.events.wordsRead := unit.io.wordRead
  io.events.wordsWritten := unit.io.wordWritten
  io.events.busy := unit.io.busy
}
