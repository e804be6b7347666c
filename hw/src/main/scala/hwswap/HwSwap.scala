// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._
import hwswap.bus.{AxiGate, AxiLitePins, AxiLiteSlave, AxiMerge, AxiPins, Dma}
import hwswap.core.Core
import hwswap.grants.Grants
import hwswap.shell.{CommandRing, GrantShell, HostSide, ResetControl, Shell}
import hwswap.tables.{TableReader, Tables}

/** The engine: one AXI4-Lite slave (registers), one AXI4 master (DMA), an interrupt, and two outputs for
  * simulations.
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

  /** No command, register request or bus transfer is under way, and grants found nothing to do last. */
  val idle = IO(Output(Bool()))

  /** Passes over the rings of grants, modulo 2^32; 0 in an engine without them. */
  val passes = IO(Output(UInt(32.W)))

  val slave = Module(new AxiLiteSlave)
  val resetControl = Module(new ResetControl(p.resetTimeoutLog2))

  // After a stop, the completions of commands already begun are still written.
  val gate = Module(new AxiGate(endsWrite = if (p.core) Seq(0) else Nil))
  private def resettable[M <: Module](module: => M): M =
    withReset(reset.asBool || resetControl.io.pulse)(Module(module))
  private val dma = Option.when(p.core)(resettable(new Dma(CommandRing.Reader, CommandRing.Bursts)))
  private val tableDma = Option.when(p.core)(resettable(new Dma(TableReader(), Tables.Bursts)))
  private val grants = Option.when(p.grants)(resettable(new Grants).io)
  val shell: HostSide = if (p.core) resettable(new Shell) else resettable(new GrantShell)

  s_axil.join(slave.io.axil)

  private val blocks = Seq(shell.host.regs, resetControl.io.regs) ++ grants.map(_.regs)
  for (block <- blocks) {
    block.write := slave.io.regs.write
    block.read := slave.io.regs.read
  }
  slave.io.regs.readData := blocks.map(_.readData).reduce(_ | _)

  for (flush <- dma.map(_.io.flush) ++ tableDma.map(_.io.flush)) flush := resetControl.io.flush
  for (grants <- grants) grants.flush := resetControl.io.flush || shell.host.stopped
  // Of the masters alone: RESET waits for them, and not for older bursts that the gate still ends.
  private val mastersIdle = (dma.map(_.io.idle) ++ tableDma.map(_.io.idle) ++ grants.map(_.busIdle)).reduce(_ && _)
  shell.host.dmaIdle := mastersIdle && gate.io.idle
  // They share one port, so at most one has a beat. The beats of a refused burst are not on the bus.
  private val readBeat =
    (dma.map(_.io.readBeat) ++ tableDma.map(_.io.readBeat) ++ grants.map(_.axi.r.fire)).reduce(_ || _)
  private val writeBeat =
    (dma.map(_.io.writeBeat) ++ tableDma.map(_.io.writeBeat) ++ grants.map(_.axi.w.fire)).reduce(_ || _)
  shell.host.readBeat := readBeat && !gate.io.answersRead
  shell.host.writeBeat := writeBeat && !gate.io.takesWrite

  gate.io.windows := shell.host.windows
  gate.io.stop := shell.host.stopped
  gate.io.abandon := resetControl.io.pulse
  shell.host.refused := gate.io.refused
  shell.host.owed := gate.io.owed
  // A stopped engine ends no round that was begun.
  private val grantsBusy = grants.map(_.working).getOrElse(false.B) && !shell.host.stopped
  shell.host.mastersBusy := grantsBusy || !mastersIdle || gate.io.busy
  m_axi.join(gate.io.axi)

  // Each with the bits of the identifiers that it uses.
  private val masters =
    (dma.map(_.io.axi -> 0) ++ tableDma.map(_.io.axi -> 0) ++ grants.map(_.axi -> Grants.IdBits)).toSeq
  masters match {
    case Seq((only, _)) => gate.io.inner <> only
    case _ =>
      val merge = resettable(new AxiMerge(masters.map(_._2)))
      for ((port, (master, _)) <- merge.io.masters.zip(masters)) port <> master
      gate.io.inner <> merge.io.axi
  }
  resetControl.io.dmaIdle := mastersIdle

  private def joinCore(shell: Shell): Unit = {
    for (dma <- dma) {
      dma.io.port <> shell.io.dma
      shell.io.dmaError := dma.io.error
    }
    for (dma <- tableDma) dma.io.port <> shell.io.tableDma
    val core = Module(new Core).io
    core <> shell.io.core
    shell.io.clear := resetControl.io.pulse
    resetControl.io.cleared := core.req.ready && shell.io.ready
  }
  shell match {
    case full: Shell => joinCore(full)
    case _ => resetControl.io.cleared := true.B
  }

  for (grants <- grants) grants.enable := shell.host.enable
  shell.host.grantsFailed := grants.map(_.failed).getOrElse(false.B)
  shell.host.grants := grants.map(_.events).getOrElse(0.U.asTypeOf(shell.host.grants))

  passes := grants.map(_.passes).getOrElse(0.U)

  irq := shell.host.irq
  idle := shell.host.idle && grants.map(_.quiet).getOrElse(true.B) && !slave.io.busy && !resetControl.io.resetting
}
