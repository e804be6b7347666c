// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._

/** What the statistics registers count, one field a register: one-cycle pulses, or numbers where several things may
  * happen at once.
  */
class StatEvents extends Bundle {
  val cycles, busyCycles = Bool()
  val commands, commandErrors = UInt(3.W)
  val core = new CoreEvents
  val notices, fetches, fetchRetries = Bool()
  val hintsMade, hintsUsedUp, hintsRecalled = Bool()
  val polls, dmaReadBeats, dmaWriteBeats = Bool()
}

/** The statistics registers: 64-bit counters, cleared by reset alone. */
class Stats extends Module {
  val io = IO(new Bundle {
    val events = Input(new StatEvents)
    val regs = new RegPort
  })

  private val e = io.events
  private val table = Seq[(Int, Bits)](
    RegMap.StatCycles.Offset -> e.cycles,
    RegMap.StatBusyCycles.Offset -> e.busyCycles,
    RegMap.StatCommands.Offset -> e.commands,
    RegMap.StatCommandErrors.Offset -> e.commandErrors,
    RegMap.StatAllocFast.Offset -> e.core.allocFast,
    RegMap.StatAllocNonfull.Offset -> e.core.allocNonfull,
    RegMap.StatAllocFree.Offset -> e.core.allocFree,
    RegMap.StatAllocFrag.Offset -> e.core.allocFrag,
    RegMap.StatAllocSteal.Offset -> e.core.allocSteal,
    RegMap.StatAllocFail.Offset -> e.core.allocFail,
    RegMap.StatFrees.Offset -> e.core.freed,
    RegMap.StatScans.Offset -> e.core.scan,
    RegMap.StatListMoves.Offset -> e.core.listMove,
    RegMap.StatNotices.Offset -> e.notices,
    RegMap.StatFetches.Offset -> e.fetches,
    RegMap.StatFetchRetries.Offset -> e.fetchRetries,
    RegMap.StatHintsMade.Offset -> e.hintsMade,
    RegMap.StatHintsUsedUp.Offset -> e.hintsUsedUp,
    RegMap.StatHintsRecalled.Offset -> e.hintsRecalled,
    RegMap.StatPolls.Offset -> e.polls,
    RegMap.StatDmaReadBeats.Offset -> e.dmaReadBeats,
    RegMap.StatDmaWriteBeats.Offset -> e.dmaWriteBeats
  )

  io.regs.readData := table
    .map { case (offset, step) =>
      val count = RegInit(0.U(RegMap.StatCycles.Count.width.W))
      count := count + step.asUInt
      Mux(io.regs.readAddr === offset.U, count, 0.U)
    }
    .reduce(_ | _)
}
