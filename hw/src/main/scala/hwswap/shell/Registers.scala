// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import hwswap.bus.Axi
import hwswap.core.Policy

/** Inputs of the registers from the core and the units around it. */
class CoreState extends Bundle {

  /** Level, for STATUS. */
  val busy = Bool()

  /** Pulses: a failed internal check; a completion that asks for an interrupt. */
  val fault = Bool()
  val completionIrq = Bool()
  val cmdHead = UInt(RegMap.CmdHead.Head.width.W)
  val freeSlots = UInt(RegMap.Usage.Slots.width.W)
}

/** The engine's own registers: identity, control and interrupt, and those in CoreRegisters. Addresses, statistics, the
  * device table and the CPU pages are blocks of their own.
  */
class Registers(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val settings = Output(new Settings)

    /** The node of each CPU. */
    val nodes = Output(Vec(p.cpus, UInt(Policy.NodeBits.W)))

    /** Pulse: a DMA error. */
    val dmaError = Input(Bool())

    /** Pulse, with `dmaError`: a burst is outside of the windows. */
    val refused = Input(Bool())

    /** Level: grants, or the bus, have something under way. */
    val mastersBusy = Input(Bool())

    /** Level: the bus owes answers from before a reset. */
    val owed = Input(Bool())
    val ofCore = Input(new CoreState)
    val irq = Output(Bool())
  })

  import MapAccess.{get, merge, word}
  private val write = io.regs.write
  private val file = new RegisterFile(io.regs)
  import file.{readOnly, readWrite}

  readOnly(RegMap.Id.Offset, word(RegMap.Id.Magic -> RegMap.Id.Magic.reset.U))
  readOnly(
    RegMap.Version.Offset,
    word(
      RegMap.Version.Minor -> RegMap.Version.Minor.reset.U,
      RegMap.Version.Major -> RegMap.Version.Major.reset.U
    )
  )
  readOnly(RegMap.Build.Offset, word(RegMap.Build.Hash -> p.buildHash.U))
  readOnly(
    RegMap.Caps.Offset,
    word(
      RegMap.Caps.Devices -> p.devices.U,
      RegMap.Caps.Cpus -> p.cpus.U,
      RegMap.Caps.Orders -> p.orders.U,
      RegMap.Caps.Tables -> p.core.B,
      RegMap.Caps.Index -> p.indexed.B,
      RegMap.Caps.Check -> p.core.B,
      RegMap.Caps.Grants -> p.grants.B,
      RegMap.Caps.Clusters -> p.clusters.U,
      RegMap.Caps.GrantsOnly -> (!p.core).B
    )
  )

  // CONTROL, but for RESET, which ResetControl has. A fault switches off until RESET.
  private val control = RegMap.Control
  val enable = RegInit(false.B)
  val tableWrites = RegInit(false.B)
  val dmaError = RegInit(false.B)
  val fault = RegInit(false.B)
  // After a fault the engine refuses its own bursts, which is no error of the bus.
  private val busError = io.dmaError && !fault
  dmaError := dmaError || busError
  fault := fault || io.ofCore.fault
  val refused = RegInit(false.B)
  refused := refused || (io.refused && !fault)
  val stopped = dmaError || fault || io.dmaError || io.ofCore.fault
  when(write.valid && write.bits.starts(control.Offset)) {
    enable := get(write.bits.data, control.Enable)
    if (p.core) tableWrites := get(write.bits.data, control.TableWrites)
  }
  when(stopped)(enable := false.B)
  readOnly(
    control.Offset,
    word(control.Enable -> enable, control.TableWrites -> tableWrites)
  )
  readOnly(
    RegMap.Status.Offset,
    word(
      RegMap.Status.Busy -> (io.ofCore.busy || io.mastersBusy),
      RegMap.Status.DmaError -> dmaError,
      RegMap.Status.Fault -> fault,
      RegMap.Status.DmaRefused -> refused,
      RegMap.Status.BusOwed -> io.owed
    )
  )

  // Interrupts: a new event wins over the host's clearing of the same bit.
  private val irqFields = Seq(RegMap.IrqStatus.Completion, RegMap.IrqStatus.Error)
  private val irqEvents = Seq(io.ofCore.completionIrq, (busError && !dmaError) || (io.ofCore.fault && !fault))
  val irqStatus = irqFields.zip(irqEvents).map { case (field, event) =>
    val bit = RegInit(false.B)
    when(event) {
      bit := true.B
    }.elsewhen(
      write.valid && write.bits.at(RegMap.IrqStatus.Offset) &&
        merge(0.U(Axi.DataBits.W), write.bits.data, write.bits.strb)(field.lsb)
    )(bit := false.B)
    bit
  }
  readOnly(RegMap.IrqStatus.Offset, word(irqFields.zip(irqStatus): _*))
  val irqEnable = readWrite(RegMap.IrqEnable.Offset, RegMap.IrqEnable.Completion, RegMap.IrqEnable.Error)
  io.irq := RegNext(
    (irqStatus(0) && get(irqEnable, RegMap.IrqEnable.Completion).asBool) ||
      (irqStatus(1) && get(irqEnable, RegMap.IrqEnable.Error).asBool),
    false.B
  )

  io.settings := 0.U.asTypeOf(io.settings)
  io.nodes := 0.U.asTypeOf(io.nodes)
  io.settings.enable := enable
  io.settings.tableWrites := tableWrites
  io.settings.stopped := dmaError || fault
  io.settings.fault := fault || io.ofCore.fault

  if (p.core) new CoreRegisters(file, write, io.ofCore, io.settings, io.nodes)

  file.finish()
}
