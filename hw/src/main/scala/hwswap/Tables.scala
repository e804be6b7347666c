// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** What the statistics count of swap tables. */
class TableEvents extends Bundle {
  val wordsRead, wordsWritten, busy = Bool()
}

/** Everything of swap tables and readahead: the unit that carries jobs out, and its users. The pool goes first, so that
  * a command finds what allocations and frees before it have brought; then the register LOOKUP, then commands.
  */
class Tables(p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val job = Flipped(Decoupled(new TableJob))
    val done = Valid(new TableResult)
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val dma = new TableDmaPort
    val directoryBase = Input(UInt(Axi.AddrBits.W))
    val advisory = Input(Bool())
    val pool = Flipped(new PoolPort(p))

    /** The directory is cleared. */
    val ready = Output(Bool())
    val busy = Output(Bool())

    /** Pulse: a job ended in BUS_ERROR. */
    val error = Output(Bool())
    val events = Output(new TableEvents)
  })
  val registers = Module(new TableRegisters)
  val unit = Module(new TableUnit(p))
  val pool = Module(new TablePool(p))
  private val users = Seq(pool.io.job, registers.io.job, io.job)
  private val pick = Module(new Arbiter(new TableJob, users.length))
  for ((in, user) <- pick.io.in.zip(users)) in <> user
  // A change of a cluster that is on its way into the pool goes before jobs that are asked for now.
  for ((in, user) <- pick.io.in.zip(users).tail) {
    in.valid := user.valid && !pool.io.coming
    user.ready := in.ready && !pool.io.coming
  }
  unit.io.job <> pick.io.out
  private val user = RegEnable(pick.io.chosen, unit.io.job.fire)
  for ((done, i) <- Seq(pool.io.done, registers.io.done, io.done).zipWithIndex) {
    done.valid := unit.io.done.valid && user === i.U
    done.bits := unit.io.done.bits
  }
  pool.io.advisory := io.advisory
  pool.io.core <> io.pool
  unit.io.pooled := pool.io.on

  private val blocks = Seq(registers.io.regs, pool.io.regs)
  for (block <- blocks) {
    block.write := io.regs.write
    block.read := io.regs.read
  }
  io.regs.readData := blocks.map(_.readData).reduce(_ | _)
  registers.io.previous := unit.io.previous
  registers.io.pages := unit.io.pages
  unit.io.devices := io.devices
  unit.io.directoryBase := io.directoryBase
  io.dma <> unit.io.dma

  io.ready := unit.io.ready
  io.busy := pool.io.busy || registers.io.busy || unit.io.busy
  io.error := unit.io.error
  io.events.wordsRead := unit.io.wordRead
  io.events.wordsWritten := unit.io.wordWritten
  io.events.busy := unit.io.busy
}
