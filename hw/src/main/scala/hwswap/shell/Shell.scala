// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{AddressLookup, AddressTable, Axi, DmaArbiter, DmaPort}
import hwswap.core.{CoreArbiter, CoreIO}
import hwswap.mirror.Mirror
import hwswap.store.MemoryEvents
import hwswap.tables.{TableDmaPort, Tables}

/** Everything between the two buses and the core: registers, command ring, CPU pages, mirror, swap tables, statistics,
  * and the arbiters of DMA and core.
  */
class Shell(implicit p: Params) extends HostSide {
  val io = IO(new Bundle {
    val dma = new DmaPort
    val lookup = Flipped(new AddressLookup)
    val core = Flipped(new CoreIO)

    /** The DMA of swap tables. */
    val tableDma = new TableDmaPort

    /** A store in DRAM: where it is, a transfer that was answered with an error (one cycle), and what it did. */
    val storeBase = Output(UInt(Axi.AddrBits.W))
    val storeError = Input(Bool())
    val memory = Input(new MemoryEvents)

    /** Pulse: the core is to clear everything. */
    val clear = Input(Bool())

    /** The memories of the shell are cleared. */
    val ready = Output(Bool())
    val round = Output(UInt(32.W))
  })

  val addresses = Module(new AddressTable)
  val table = Module(new DeviceTable)
  val requests = Module(new CpuRequests)
  val ring = Module(new CommandRing)
  val mirror = Module(new Mirror)
  val tables = Module(new Tables)
  val settings = registers.io.settings
  val claimed = VecInit(io.core.devices.map(_.claimed))

  table.io.devices := io.core.devices

  answer(Seq(addresses.io.regs, table.io.regs, requests.io.regs, tables.io.regs))

  // DMA
  private val dmaClients = Seq(ring.io.fetchDma, ring.io.completionDma) ++ mirror.io.dma
  val dma = Module(new DmaArbiter(dmaClients.length))
  for ((port, client) <- dma.io.clients.zip(dmaClients)) port <> client
  io.dma <> dma.io.dma
  addresses.io.lookup <> io.lookup
  addresses.io.target := mirror.io.dumpTarget

  // Core
  private val coreUsers = Seq(ring.io.core, requests.io.core) ++ mirror.io.core
  val core = Module(new CoreArbiter(coreUsers.length, coreUsers.length - Mirror.CoreUsers + Mirror.RecordUser))
  for ((port, user) <- core.io.users.zip(coreUsers)) port <> user
  io.core.req <> core.io.core.req
  core.io.core.resp <> io.core.resp
  mirror.io.applied <> io.core.applied
  mirror.io.dumped <> io.core.dumped
  io.core.advisory := settings.advisory
  io.core.policy := settings.policy
  io.core.nodes := registers.io.nodes
  io.core.clear := io.clear

  // Command ring and mirror
  ring.io.settings := settings
  ring.io.claimed := claimed
  ring.io.paused := mirror.io.paused
  mirror.io.settings := settings
  mirror.io.devices := io.core.devices
  mirror.io.freeSlots := io.core.freeSlots
  mirror.io.hintedSlots := io.core.hintedSlots
  mirror.io.pause := ring.io.pause
  mirror.io.resync <> ring.io.resync
  ring.io.resyncDone := mirror.io.resyncDone
  mirror.io.recall <> ring.io.recall
  ring.io.recallDone := mirror.io.recallDone
  mirror.io.dump <> ring.io.dump
  ring.io.dumpDone := mirror.io.dumpDone
  mirror.io.commandDone := ring.io.finished
  requests.io.advisory := settings.advisory

  // Swap tables
  tables.io.job <> ring.io.table
  ring.io.tableDone := tables.io.done
  tables.io.devices := io.core.devices
  tables.io.directoryBase := settings.directoryBase
  tables.io.advisory := settings.advisory
  tables.io.pool <> io.core.pool
  io.tableDma <> tables.io.dma

  // State for the host
  val busy = ring.io.busy || requests.io.busy || mirror.io.working || tables.io.busy
  registers.io.ofCore.anyClaimed := claimed.asUInt.orR
  registers.io.ofCore.busy := busy
  registers.io.dmaError := (io.dma.done.valid && io.dma.done.bits) || io.storeError || tables.io.error ||
    host.refused.valid || host.grantsFailed
  io.storeBase := settings.storeBase
  registers.io.ofCore.fault := io.core.fault
  registers.io.ofCore.completionIrq := ring.io.irq
  registers.io.ofCore.cmdHead := ring.io.head
  registers.io.ofCore.freeSlots := io.core.freeSlots
  registers.io.ofCore.hintedSlots := io.core.hintedSlots
  io.round := mirror.io.round
  io.ready := mirror.io.ready && tables.io.ready
  host.idle := !ring.io.busy && !requests.io.busy && !core.io.busy && !tables.io.busy && mirror.io.quiet && io.ready &&
    host.dmaIdle && io.core.req.ready

  stats.io.events.ofCore.busyCycles := busy
  stats.io.events.ofCore.commands := PopCount(Seq(ring.io.finished, requests.io.finished))
  stats.io.events.ofCore.commandErrors :=
    PopCount(Seq(ring.io.failed, requests.io.failed, mirror.io.badNotices, mirror.io.garbage).map(RegNext(_, false.B)))
  stats.io.events.ofCore.core := io.core.events
  stats.io.events.ofCore.notices := mirror.io.notices
  stats.io.events.ofCore.fetches := mirror.io.fetches
  stats.io.events.ofCore.fetchRetries := mirror.io.fetchRetries
  stats.io.events.ofCore.hintsMade := mirror.io.hintsMade
  stats.io.events.ofCore.hintsUsedUp := mirror.io.hintsUsedUp
  stats.io.events.ofCore.hintsRecalled := mirror.io.hintsRecalled
  stats.io.events.ofCore.polls := mirror.io.polls
  stats.io.events.ofCore.memory := io.memory
  stats.io.events.ofCore.tables := tables.io.events
}
