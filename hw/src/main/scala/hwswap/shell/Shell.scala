// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{DmaPort, DmaWriteArbiter}
import hwswap.core.{CoreArbiter, CoreIO}
import hwswap.tables.{TableReader, Tables}

/** Everything between the two buses and the core: registers, command ring, CPU pages, swap tables, statistics, and
  * the arbiters of DMA and core.
  */
class Shell(implicit p: Params) extends HostSide {
  val io = IO(new Bundle {

    /** The DMA of commands and completions, and of DUMP; a transfer of it was answered with an error (one cycle). */
    val dma = new DmaPort(CommandRing.Reader)
    val dmaError = Input(Bool())
    val core = Flipped(new CoreIO)

    /** The DMA of swap tables. */
    val tableDma = new DmaPort(TableReader())

    /** Pulse: the core is to clear everything. */
    val clear = Input(Bool())

    /** The memories of the shell are cleared. */
    val ready = Output(Bool())
  })

  val table = Module(new DeviceTable)
  val requests = Module(new CpuRequests)
  val ring = Module(new CommandRing)
  val dump = Module(new Dump)
  val tables = Module(new Tables)
  val settings = registers.io.settings

  table.io.devices := io.core.devices
  requests.io.stop := settings.stopped
  requests.io.fault := settings.fault

  answer(Seq(table.io.regs, requests.io.regs, tables.io.regs))

  // DMA
  io.dma.read <> ring.io.fetchDma
  val writes = Module(new DmaWriteArbiter(2))
  writes.io.clients(0) <> ring.io.completionDma
  writes.io.clients(1) <> dump.io.dma
  io.dma.write <> writes.io.dma

  // Core
  private val coreUsers = Seq(ring.io.core, requests.io.core, dump.io.core)
  val core = Module(new CoreArbiter(coreUsers.length))
  for ((port, user) <- core.io.users.zip(coreUsers)) port <> user
  io.core.req <> core.io.core.req
  core.io.core.resp <> io.core.resp
  io.core.policy := settings.policy
  io.core.nodes := registers.io.nodes
  io.core.clear := io.clear

  // Command ring and DUMP
  ring.io.settings := settings
  dump.io.job <> ring.io.dump
  dump.io.stop := settings.stopped
  ring.io.dumpDone := dump.io.done
  dump.io.cluster <> io.core.dumped

  // Swap tables
  tables.io.job <> ring.io.table
  ring.io.tableDone := tables.io.done
  tables.io.devices := io.core.devices
  tables.io.stop := settings.stopped
  io.tableDma <> tables.io.dma

  // State for the host
  val busy = ring.io.busy || requests.io.busy || tables.io.busy
  registers.io.ofCore.busy := busy
  registers.io.dmaError := io.dmaError || tables.io.error || host.refused.valid || host.grantsFailed
  registers.io.ofCore.fault := io.core.fault
  registers.io.ofCore.completionIrq := ring.io.irq
  registers.io.ofCore.cmdHead := ring.io.head
  registers.io.ofCore.freeSlots := io.core.freeSlots
  io.ready := tables.io.ready
  host.idle := !ring.io.busy && !requests.io.busy && !core.io.busy && !tables.io.busy && io.ready && host.dmaIdle &&
    io.core.req.ready

  stats.io.events.ofCore.busyCycles := busy
  stats.io.events.ofCore.commands := PopCount(Seq(ring.io.finished, requests.io.finished))
  stats.io.events.ofCore.commandErrors := PopCount(Seq(ring.io.failed, requests.io.failed).map(RegNext(_, false.B)))
  stats.io.events.ofCore.core := io.core.events
  stats.io.events.ofCore.tables := tables.io.events
}
