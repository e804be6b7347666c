// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{DmaReadPort, DmaWritePort}
import hwswap.core.{CoreArbiter, CorePort}
import hwswap.tables.{TableJob, TableResult}

/** The command ring from doorbell to completion: fetch, carry out, complete, each a module of its own with queues in
  * between, and several commands in each at a time.
  */
class CommandRing(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val settings = Input(new Settings)
    val fetchDma = new DmaReadPort(CommandRing.Reader)
    val completionDma = new DmaWritePort
    val core = new CorePort
    val dump = Decoupled(new DumpJob)
    val dumpDone = Flipped(Valid(UInt(MemMap.Completion.Info.Status.width.W)))
    val table = Decoupled(new TableJob)
    val tableDone = Flipped(Valid(new TableResult))

    /** Commands ever completed. */
    val head = Output(UInt(32.W))
    val irq = Output(Bool())
    val busy = Output(Bool())
    val finished = Output(Bool())
    val failed = Output(Bool())
  })

  val fetch = Module(new CommandFetch)
  val exec = Module(new CommandExec)
  val writer = Module(new CompletionWriter)

  fetch.io.enable := io.settings.enable
  fetch.io.stop := io.settings.stopped
  fetch.io.base := io.settings.cmdBase
  fetch.io.log2 := io.settings.cmdLog2
  fetch.io.tail := io.settings.cmdTail
  io.fetchDma <> fetch.io.dma

  exec.io.in <> fetch.io.out
  exec.io.stop := io.settings.stopped
  exec.io.fault := io.settings.fault
  exec.io.tableWrites := io.settings.tableWrites
  io.core <> exec.io.core
  io.dump <> exec.io.dump
  exec.io.dumpDone := io.dumpDone
  io.table <> exec.io.table
  exec.io.tableDone := io.tableDone

  writer.io.base := io.settings.cplBase
  writer.io.log2 := io.settings.cmdLog2
  writer.io.in <> exec.io.out
  io.completionDma <> writer.io.dma

  io.head := writer.io.head
  io.irq := writer.io.irq
  io.busy := fetch.io.busy || exec.io.busy || writer.io.busy
  io.finished := exec.io.finished
  io.failed := exec.io.failed

  // Fetched, checked, in the core, completed, and on their way to memory.
  assert(
    fetch.io.asked - io.head <= (CommandFetch.Depth + 1 + CoreArbiter.Depth + 2 * CompletionWriter.Depth).U,
    "command ring: more commands under way than there are places"
  )
}

object CommandRing {

  /** Of the DMA's reading half the ring is the only reader. */
  val Reader: UInt = 0.U(0.W)

  /** Bursts of commands on their way, and of completions. */
  val Bursts: Int = 4
}
