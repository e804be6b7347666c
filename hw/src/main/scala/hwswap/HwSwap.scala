// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi4, AxiGate, AxiLitePins, AxiLiteSlave, AxiMerge, AxiPins, Dma}
import hwswap.core.{Core, CoreIO, DramCore}
import hwswap.grants.Grants
import hwswap.shell.{ResetControl, Shell}
import hwswap.tables.TableDma

/** The engine: one AXI4-Lite slave (registers), one AXI4 master (DMA), an interrupt, and two outputs for whoever
  * simulates it.
  *
  * @param p
  *   sizes
  */
class HwSwap(implicit val p: Params) extends Module {
  require(p.slots == 512, s"slots is ${p.slots}: an engine has the kernel's 512")

  val s_axil = IO(Flipped(new AxiLitePins(log2Ceil(RegMap.BarSize))))
  val m_axi = IO(new AxiPins)

  /** Level: an enabled bit of IRQ_STATUS is set. */
  val irq = IO(Output(Bool()))

  /** No command, register request or bus transfer is under way, and the last round of polling found nothing to do. */
  val idle = IO(Output(Bool()))

  /** Complete rounds of polling, modulo 2^32. */
  val round = IO(Output(UInt(32.W)))

  val slave = Module(new AxiLiteSlave)
  val resetControl = Module(new ResetControl(p.resetTimeoutLog2))
  val gate = Module(new AxiGate)
  private def resettable[M <: Module](module: => M): M =
    withReset(reset.asBool || resetControl.io.pulse)(Module(module))
  val dma = resettable(new Dma)
  private val tableDma = Option.when(p.tables)(resettable(new TableDma(p.tableBursts)))
  private val grants = Option.when(p.grants)(resettable(new Grants).io)
  val shell = resettable(new Shell)

  s_axil.join(slave.io.axil)

  private val blocks = Seq(shell.io.regs, resetControl.io.regs) ++ grants.map(_.regs)
  for (block <- blocks) {
    block.write := slave.io.regs.write
    block.read := slave.io.regs.read
  }
  slave.io.regs.readData := blocks.map(_.readData).reduce(_ | _)

  dma.io.port <> shell.io.dma
  shell.io.lookup <> dma.io.lookup
  shell.io.tableDma <> tableDma.map(_.io.port).getOrElse(DontCare)
  for (flush <- Seq(dma.io.flush) ++ tableDma.map(_.io.flush) ++ grants.map(_.flush)) flush := resetControl.io.flush
  // Of the masters alone: RESET waits for them, and not for what the gate still ends from before.
  private val mastersIdle = (Seq(dma.io.idle) ++ tableDma.map(_.io.idle) ++ grants.map(_.busIdle)).reduce(_ && _)
  shell.io.dmaIdle := mastersIdle && gate.io.idle
  // They share one port, so there is a beat of one of them at most. Those of a refused burst are not on the bus.
  private val readBeat =
    (Seq(dma.io.readBeat) ++ tableDma.map(_.io.readBeat) ++ grants.map(_.axi.r.fire)).reduce(_ || _)
  private val writeBeat =
    (Seq(dma.io.writeBeat) ++ tableDma.map(_.io.writeBeat) ++ grants.map(_.axi.w.fire)).reduce(_ || _)
  shell.io.readBeat := readBeat && !gate.io.answersRead
  shell.io.writeBeat := writeBeat && !gate.io.takesWrite

  gate.io.windows := shell.io.windows
  gate.io.abandon := resetControl.io.pulse
  shell.io.refused := gate.io.refused
  shell.io.owed := gate.io.owed
  m_axi.join(gate.io.axi)

  // The core, with its clusters on chip, or in DRAM behind caches. Both DMAs and the caches share the master.
  // Each with the bits of the identifiers that it uses.
  private val masters =
    Seq(dma.io.axi -> 0) ++ tableDma.map(_.io.axi -> 0) ++ grants.map(_.axi -> Grants.IdBits)
  private def share(own: Seq[(Axi4, Int)]): Unit = {
    val merge = resettable(new AxiMerge(own.map(_._2)))
    for ((port, (master, _)) <- merge.io.masters.zip(own)) port <> master
    gate.io.inner <> merge.io.axi
  }
  private val core: CoreIO = p.dram match {
    case None =>
      share(masters)
      resetControl.io.dmaIdle := mastersIdle
      shell.io.storeError := false.B
      shell.io.memory := 0.U.asTypeOf(shell.io.memory)
      Module(new Core).io
    case Some(dram) =>
      val held = Module(new DramCore(dram))
      share(masters ++ held.memory.axi.map(_ -> 0))
      held.memory.base := shell.io.storeBase
      held.memory.flush := resetControl.io.flush
      resetControl.io.dmaIdle := mastersIdle && held.memory.idle
      shell.io.storeError := held.memory.error
      shell.io.memory := held.memory.events
      held.io
  }
  core <> shell.io.core
  shell.io.clear := resetControl.io.pulse
  shell.io.resetting := resetControl.io.resetting
  resetControl.io.cleared := core.req.ready && shell.io.ready

  for (grants <- grants) grants.enable := shell.io.enable
  shell.io.grantsFailed := grants.map(_.failed).getOrElse(false.B)
  shell.io.grants := grants.map(_.events).getOrElse(0.U.asTypeOf(shell.io.grants))

  irq := shell.io.irq
  round := grants.map(g => Mux(g.polls, g.round, shell.io.round)).getOrElse(shell.io.round)
  idle := shell.io.idle && grants.map(_.quiet).getOrElse(true.B) && !slave.io.busy && !resetControl.io.resetting
}
