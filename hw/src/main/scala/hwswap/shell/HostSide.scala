// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{DmaWindow, DmaWindows, RefusedBurst}
import hwswap.grants.GrantEvents

/** The part of every engine between the bus of its registers and the rest: the common registers, DMA windows and
  * statistics. CONTROL.RESET resets the whole module.
  */
abstract class HostSide(implicit p: Params) extends Module {
  val host = IO(new Bundle {
    val regs = new RegPort
    val dmaIdle = Input(Bool())
    val readBeat = Input(Bool())
    val writeBeat = Input(Bool())

    /** The DMA windows; a burst that was refused (one cycle); the bus owes answers from before a reset. */
    val windows = Output(Vec(RegMap.DmaWindow.Count, new DmaWindow))
    val refused = Flipped(Valid(new RefusedBurst))
    val owed = Input(Bool())

    /** Grants: CONTROL.ENABLE, and no fault; a burst of theirs was answered with an error (level). */
    val enable = Output(Bool())
    val grantsFailed = Input(Bool())

    /** The engine has stopped. */
    val stopped = Output(Bool())

    /** Grants, or the bus, have something under way. */
    val mastersBusy = Input(Bool())
    val grants = Input(new GrantEvents)
    val irq = Output(Bool())

    /** Nothing is under way, other masters apart. */
    val idle = Output(Bool())
  })

  val registers = Module(new Registers)
  val windows = Module(new DmaWindows)
  val stats = Module(new Stats)

  host.windows := windows.io.windows
  windows.io.refused := host.refused
  registers.io.refused := host.refused.valid
  registers.io.owed := host.owed
  registers.io.mastersBusy := host.mastersBusy
  host.stopped := registers.io.settings.stopped
  host.enable := registers.io.settings.enable
  host.irq := registers.io.irq
  stats.io.events.cycles := true.B
  stats.io.events.dmaReadBeats := host.readBeat
  stats.io.events.dmaWriteBeats := host.writeBeat
  stats.io.events.dmaRefused := host.refused.valid
  stats.io.events.grants := host.grants

  /** Every block of registers sees every access; answers that are not its own are 0. */
  protected def answer(others: Seq[RegPort]): Unit = {
    val blocks = Seq(registers.io.regs, windows.io.regs, stats.io.regs) ++ others
    for (block <- blocks) {
      block.write := host.regs.write
      block.read := host.regs.read
    }
    host.regs.readData := blocks.map(_.readData).reduce(_ | _)
  }
}
