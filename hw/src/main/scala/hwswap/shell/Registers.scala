// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import hwswap.bus.Axi
import hwswap.core.Policy

/** The engine's own registers: identity, control, interrupt and sizes. Addresses, statistics, the device table and
  * the CPU pages are blocks of their own.
  */
class Registers(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val settings = Output(new Settings)

    /** The node of each CPU. */
    val nodes = Output(Vec(p.cpus, UInt(Policy.NodeBits.W)))

    /** A device is claimed: the mode stays as it is. */
    val anyClaimed = Input(Bool())

    /** RESET reads as 1. */
    val resetting = Input(Bool())

    /** Level, for STATUS. */
    val busy = Input(Bool())

    /** Pulses: a DMA error; a failed internal check; a completion that asks for an interrupt. */
    val dmaError = Input(Bool())
    val fault = Input(Bool())

    /** Pulse, with `dmaError`: a burst is outside of the windows. */
    val refused = Input(Bool())

    /** Level: the bus owes answers from before a reset. */
    val owed = Input(Bool())
    val completionIrq = Input(Bool())
    val cmdHead = Input(UInt(RegMap.CmdHead.Head.width.W))
    val freeSlots = Input(UInt(RegMap.Usage.Slots.width.W))
    val hintedSlots = Input(UInt(RegMap.Usage.Hinted.width.W))
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
      RegMap.Caps.HintRingLog2 -> p.hintRingLog2.U,
      RegMap.Caps.Orders -> p.orders.U,
      RegMap.Caps.Dram -> p.dram.nonEmpty.B,
      RegMap.Caps.Advisory -> p.advisory.B,
      RegMap.Caps.Tables -> p.tables.B,
      RegMap.Caps.Pool -> p.pool.B,
      RegMap.Caps.Index -> p.indexed.B,
      RegMap.Caps.Steps -> p.steps.B,
      RegMap.Caps.Check -> p.check.B,
      RegMap.Caps.Grants -> p.grants.B,
      RegMap.Caps.Clusters -> p.clusters.U
    )
  )

  // CONTROL: the mode changes only while the engine is off and no device is claimed; a fault switches off until RESET.
  private val control = RegMap.Control
  val enable = RegInit(false.B)
  val advisory = RegInit(false.B)
  val hints = RegInit(false.B)
  val tableWrites = RegInit(false.B)
  val dmaError = RegInit(false.B)
  val fault = RegInit(false.B)
  dmaError := dmaError || io.dmaError
  fault := fault || io.fault
  val refused = RegInit(false.B)
  refused := refused || io.refused
  val stopped = dmaError || fault || io.dmaError || io.fault
  when(write.valid && write.bits.starts(control.Offset)) {
    enable := get(write.bits.data, control.Enable)
    hints := get(write.bits.data, control.Hints)
    tableWrites := get(write.bits.data, control.TableWrites)
    if (p.advisory) when(!enable && !io.anyClaimed)(advisory := get(write.bits.data, control.Advisory))
  }
  when(stopped)(enable := false.B)
  readOnly(
    control.Offset,
    word(
      control.Enable -> enable,
      control.Advisory -> advisory,
      control.Hints -> hints,
      control.Reset -> io.resetting,
      control.TableWrites -> tableWrites
    )
  )
  readOnly(
    RegMap.Status.Offset,
    word(
      RegMap.Status.Busy -> io.busy,
      RegMap.Status.DmaError -> dmaError,
      RegMap.Status.Fault -> fault,
      RegMap.Status.DmaRefused -> refused,
      RegMap.Status.BusOwed -> io.owed
    )
  )

  // Interrupts: a new event wins over the host's clearing of the same bit.
  private val irqFields = Seq(RegMap.IrqStatus.Completion, RegMap.IrqStatus.Error)
  private val irqEvents = Seq(io.completionIrq, (io.dmaError && !dmaError) || (io.fault && !fault))
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

  io.settings.enable := enable
  io.settings.advisory := advisory
  io.settings.hints := hints
  io.settings.tableWrites := tableWrites
  io.settings.stopped := dmaError || fault

  // Sizes that are not built are not taken over, so that no ring's offset has more bits than there are for it.
  private def ringLog2(offset: Int, field: MapField, built: Range): UInt = {
    val log2 = RegInit(0.U(field.width.W))
    val wanted = get(write.bits.data, field)
    when(write.valid && write.bits.starts(offset)) {
      log2 := Mux(wanted >= built.start.U && wanted <= built.end.U, wanted, 0.U)
    }
    readOnly(offset, word(field -> log2))
    log2
  }
  io.settings.cmdLog2 := ringLog2(RegMap.CmdSize.Offset, RegMap.CmdSize.Log2, Settings.CmdLog2)
  io.settings.noticeLog2 := ringLog2(RegMap.NoticeSize.Offset, RegMap.NoticeSize.Log2, Settings.NoticeLog2)
  io.settings.pollCycles := get(readWrite(RegMap.Poll.Offset, RegMap.Poll.Cycles), RegMap.Poll.Cycles)

  private val depth = RegMap.HintDepth
  val depthWord = readWrite(depth.Offset, depth.Slots, depth.CapMin, depth.CapShift)
  io.settings.depthSlots := get(depthWord, depth.Slots)
  io.settings.capMin := get(depthWord, depth.CapMin)
  io.settings.capShift := get(depthWord, depth.CapShift)

  // Only an engine with its clusters in DRAM has these registers.
  private def inDram(offset: Int, field: MapField): UInt =
    if (p.dram.nonEmpty) get(readWrite(offset, field), field) else 0.U
  io.settings.storeBase := inDram(RegMap.StoreBase.Offset, RegMap.StoreBase.Addr)
  io.settings.directoryBase := inDram(RegMap.DirectoryBase.Offset, RegMap.DirectoryBase.Addr)

  // POLICY: choices that are not built are not taken over.
  private val policy = RegMap.Policy
  val policyWord = RegInit(0.U(Axi.DataBits.W))
  when(write.valid && write.bits.at(policy.Offset)) {
    val wanted = merge(policyWord, write.bits.data, write.bits.strb)
    def known(field: MapField, highest: Int): (MapField, UInt) =
      field -> Mux(get(wanted, field) <= highest.U, get(wanted, field), 0.U)
    policyWord := word(
      known(policy.Scan, ScanPolicyCode.FreeFirst),
      known(policy.Device, DevicePolicyCode.NodeFirst),
      known(policy.Hint, HintPolicyCode.RandomTrunk),
      known(policy.Placement, if (p.indexed) PlacementPolicyCode.Indexed else PlacementPolicyCode.Linux),
      policy.Seed -> get(wanted, policy.Seed)
    )
  }
  readOnly(policy.Offset, policyWord)
  io.settings.policy.scan := get(policyWord, policy.Scan)
  io.settings.policy.device := get(policyWord, policy.Device)
  io.settings.policy.hint := get(policyWord, policy.Hint)
  io.settings.policy.placement := get(policyWord, policy.Placement)
  io.settings.policy.seed := get(policyWord, policy.Seed)
  io.settings.policy.reseed := RegNext(write.valid && write.bits.at(policy.Offset), false.B)

  // CPU_NODE: four bits a CPU, of the CPUs there are.
  private val perWord = Axi.DataBits / Policy.NodeBits
  io.nodes := VecInit(
    (0 until p.cpus)
      .grouped(perWord)
      .zipWithIndex
      .flatMap { case (cpus, i) =>
        val field = MapField(0, cpus.length * Policy.NodeBits, BigInt(0))
        val nodes = readWrite(RegMap.CpuNode.Base + i * RegMap.CpuNode.Stride, field)
        cpus.indices.map(at => nodes(Policy.NodeBits * at + Policy.NodeBits - 1, Policy.NodeBits * at))
      }
      .toSeq
  )

  // The doorbell acts when the lowest byte is written; bytes written before wait in the register.
  val tailWord = readWrite(RegMap.CmdTail.Offset, RegMap.CmdTail.Tail)
  val tail = RegInit(0.U(RegMap.CmdTail.Tail.width.W))
  when(RegNext(write.valid && write.bits.starts(RegMap.CmdTail.Offset), false.B)) {
    tail := get(tailWord, RegMap.CmdTail.Tail)
  }
  io.settings.cmdTail := tail

  readOnly(RegMap.CmdHead.Offset, word(RegMap.CmdHead.Head -> io.cmdHead))
  readOnly(
    RegMap.Usage.Offset,
    word(RegMap.Usage.Slots -> io.freeSlots, RegMap.Usage.Hinted -> io.hintedSlots)
  )

  file.finish()
}
