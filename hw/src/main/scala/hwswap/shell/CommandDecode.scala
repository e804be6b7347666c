// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.Axi
import hwswap.core.{CoreOp, CorePort, CoreReq}
import hwswap.tables.TableOp

/** A command as the host wrote it: the four words of MemMap.Command. */
class Command extends Bundle {
  val head, arg0, arg1, arg2 = UInt(Axi.DataBits.W)
}

/** The unit that carries a command out. */
object CommandPlace extends ChiselEnum {

  /** At once: NOP; the core; Dump; the unit of swap tables. */
  val atOnce, core, dump, table = Value
}

/** The errors of a command, one bit per reason. */
class Refusal extends Bundle {
  val opcode, protect, device, cpu, range = Bool()

  /** Whether there is an error. */
  def any: Bool = opcode || protect || device || cpu || range

  /** The first reason as a status; OK when there is none. */
  def status: UInt = MuxCase(
    StatusCode.Ok.U,
    Seq(
      opcode -> StatusCode.BadOpcode.U,
      protect -> StatusCode.WriteProtected.U,
      device -> StatusCode.BadDevice.U,
      cpu -> StatusCode.BadCpu.U,
      range -> StatusCode.BadRange.U
    )
  )
}

/** A checked command. */
class DecodedCommand(implicit p: Params) extends Bundle {
  val refusal = new Refusal

  /** Meaningless when the command is refused. */
  val place = CommandPlace()
  val opcode = UInt(MemMap.Command.Head.Opcode.width.W)
  val irq = Bool()
  val device = UInt(MemMap.Command.Head.Type.width.W)
  val nr = UInt(MemMap.Command.Head.Nr.width.W)

  /** The request to the core, for `core`. */
  val core = new CoreReq

  /** SWAPOFF: the device's tables are taken before. */
  val takeFirst = Bool()

  /** The request to the unit of swap tables, for `table` and with `takeFirst`. */
  val table = TableOp()
  val kinds = UInt(MemMap.TableScan.Slots.Kinds.width.W)

  /** ARG0, the lower half: DUMP: the first cluster; tables: the first slot. ARG1: DUMP: where to. */
  val low = UInt(32.W)
  val arg1, arg2 = UInt(64.W)
}

/** Checks a command and takes it apart, combinationally. Checks that only the core can make (is the device claimed, are
  * the slots in use) are left to the core; the widths it cannot see any more are checked here.
  */
object CommandDecode {
  import MapAccess.get

  def apply(command: Command, tableWrites: Bool)(implicit p: Params): DecodedCommand = {
    val d = Wire(new DecodedCommand)
    val head = MemMap.Command.Head
    val opcode = get(command.head, head.Opcode)
    val cpu = get(command.head, head.Cpu)
    val order = get(command.head, head.Order)
    val device = get(command.head, head.Type)
    val nr = get(command.head, head.Nr)
    val low = command.arg0(31, 0)
    val high = command.arg0(63, 32)

    def is(code: Int): Bool = opcode === code.U
    val tables = opcode >= OpcodeCode.TableGive.U && opcode <= OpcodeCode.TableReplace.U
    val selfTests = is(OpcodeCode.Check) || is(OpcodeCode.Dump)
    val known = opcode <= OpcodeCode.Free.U ||
      is(OpcodeCode.DiscardTake) || is(OpcodeCode.DiscardDone) || selfTests || tables
    val wantsDevice = !is(OpcodeCode.Nop) && !is(OpcodeCode.Alloc) && !is(OpcodeCode.Dump)
    val wantsOffset = is(OpcodeCode.Free) || is(OpcodeCode.MarkBad) || is(OpcodeCode.DiscardDone)
    val wantsCpu = is(OpcodeCode.Alloc)
    val dumpEnd = low(p.clusterBits, 0) +& nr
    val badDump = is(OpcodeCode.Dump) && ((command.arg0 >> (p.clusterBits + 1)) =/= 0.U || dumpEnd > p.clusters.U ||
      command.arg1(2, 0) =/= 0.U)

    val writesTables = is(OpcodeCode.TableFill) || is(OpcodeCode.TableClear) || is(OpcodeCode.TableReplace)

    d.refusal.opcode := !known
    d.refusal.protect := writesTables && !tableWrites
    d.refusal.device := wantsDevice && device >= p.devices.U
    d.refusal.cpu := wantsCpu && (cpu >= p.cpus.U || order >= p.orders.U)
    d.refusal.range := (wantsOffset && high =/= 0.U) || badDump
    d.place := MuxCase(
      CommandPlace.core,
      Seq(
        is(OpcodeCode.Nop) -> CommandPlace.atOnce,
        is(OpcodeCode.Dump) -> CommandPlace.dump,
        tables -> CommandPlace.table
      )
    )
    d.opcode := opcode
    d.irq := get(command.head, head.Irq)
    d.device := device
    d.nr := nr
    d.takeFirst := is(OpcodeCode.Swapoff)
    d.table := MuxLookup(opcode, TableOp.off)(
      Seq(
        OpcodeCode.TableGive.U -> TableOp.give,
        OpcodeCode.TableTake.U -> TableOp.take,
        OpcodeCode.TableLookup.U -> TableOp.lookup,
        OpcodeCode.TableRange.U -> TableOp.range,
        OpcodeCode.TableCount.U -> TableOp.count,
        OpcodeCode.TableScan.U -> TableOp.scan,
        OpcodeCode.TableFill.U -> TableOp.fill,
        OpcodeCode.TableClear.U -> TableOp.clear,
        OpcodeCode.TableReplace.U -> TableOp.replace
      )
    )
    d.kinds := get(command.arg0, MemMap.TableScan.Slots.Kinds)
    d.low := low
    d.arg1 := command.arg1
    d.arg2 := command.arg2

    d.core := CorePort.blank
    d.core.op := MuxLookup(opcode, CoreOp.check)(
      Seq(
        OpcodeCode.SwaponPrepare.U -> CoreOp.swaponPrepare,
        OpcodeCode.MarkBad.U -> CoreOp.markBad,
        OpcodeCode.Swapon.U -> CoreOp.swapon,
        OpcodeCode.SwapoffBegin.U -> CoreOp.swapoffBegin,
        OpcodeCode.Swapoff.U -> CoreOp.swapoff,
        OpcodeCode.Alloc.U -> CoreOp.alloc,
        OpcodeCode.Free.U -> CoreOp.free,
        OpcodeCode.DiscardTake.U -> CoreOp.discardTake,
        OpcodeCode.DiscardDone.U -> CoreOp.discardDone
      )
    )
    d.core.cpu := cpu
    d.core.order := order
    d.core.device := device
    d.core.offset := low
    d.core.nr := nr
    d.core.pages := low
    d.core.base := high
    d.core.flags := command.arg1(d.core.flags.getWidth - 1, 0)
    d.core.priority := command.arg2(15, 0).asSInt
    d.core.node := command.arg2(27, 24)
    d
  }
}
