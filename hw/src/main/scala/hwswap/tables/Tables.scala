// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.DmaPort
import hwswap.core.{DeviceInfo, PoolPort}

/** What the statistics count of swap tables. */
class TableEvents extends Bundle {
  val wordsRead, wordsWritten, busy = Bool()
}

/** Everything of swap tables and readahead: the unit that carries jobs out, and its users. The pool goes first, so that
  * a command finds what allocations and frees before it have brought; then the register LOOKUP, then commands.
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
    val pool = Flipped(new PoolPort)

    /** The directory is cleared. */
    val ready = Output(Bool())
    val busy = Output(Bool())

    /** Pulse: a job ended in BUS_ERROR. */
    val error = Output(Bool())
    val events = Output(new TableEvents)
  })
  if (p.tables) body() else none()

  /** No job, no transfer, and registers that read 0. */
  private def none(): Unit = {
    io := DontCare
    io.regs.readData := 0.U
    io.job.ready := false.B
    io.done.valid := false.B
    io.dma.read.req.valid := false.B
    io.dma.write.req.valid := false.B
    noPool()
    io.ready := true.B
    Seq(io.busy, io.error, io.events.wordsRead, io.events.wordsWritten, io.events.busy).foreach(_ := false.B)
    assert(!io.job.valid, "work on swap tables is wanted where there is none")
  }

  /** Whoever depends on the pool finds that there is none. */
  private def noPool(): Unit = {
    io.pool.none := false.B
    io.pool.full := false.B
  }

  private def body(): Unit = {
    val registers = Module(new TableRegisters)
    val unit = Module(new TableUnit)
    val pool = Option.when(p.pool)(Module(new TablePool))
    val commands = Seq((registers.io.job, registers.io.done), (io.job, io.done))
    val users = pool.map(pool => (pool.io.job, pool.io.done)).toSeq ++ commands
    val pick = Module(new Arbiter(new TableJob, users.length))
    for ((in, (job, _)) <- pick.io.in.zip(users)) in <> job
    // A change of a cluster that is on its way into the pool goes before jobs that are asked for now.
    for (pool <- pool; (in, (job, _)) <- pick.io.in.zip(users).tail) {
      in.valid := job.valid && !pool.io.coming
      job.ready := in.ready && !pool.io.coming
    }
    unit.io.job <> pick.io.out
    val user = RegEnable(pick.io.chosen, unit.io.job.fire)
    for (((_, done), i) <- users.zipWithIndex) {
      done.valid := unit.io.done.valid && user === i.U
      done.bits := unit.io.done.bits
    }
    noPool()
    for (pool <- pool) pool.io.core <> io.pool
    unit.io.pooled := pool.map(_.io.on).getOrElse(false.B)

    val blocks = registers.io.regs +: pool.map(_.io.regs).toSeq
    for (block <- blocks) {
      block.write := io.regs.write
      block.read := io.regs.read
    }
    io.regs.readData := blocks.map(_.readData).reduce(_ | _)
    registers.io.previous := unit.io.previous
    registers.io.pages := unit.io.pages
    unit.io.devices := io.devices
    unit.io.stop := io.stop
    io.dma <> unit.io.dma

    io.ready := unit.io.ready
    io.busy := registers.io.busy || unit.io.busy || pool.map(_.io.busy).getOrElse(false.B)
    io.error := unit.io.error
    io.events.wordsRead := unit.io.wordRead
    io.events.wordsWritten := unit.io.wordWritten
    io.events.busy := unit.io.busy
  }
}
