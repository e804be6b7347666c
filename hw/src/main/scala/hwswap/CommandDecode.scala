// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** A command as the host wrote it: the four words of MemMap.Command. */
class Command extends Bundle {
  val head, arg0, arg1, arg2 = UInt(Axi.DataBits.W)
}

/** Who carries a command out. */
object CommandPlace extends ChiselEnum {

  /** nowhere: refused; at once: NOP; in the core; by the walker of records; by the hint rings; by the dumper. */
  val refused, atOnce, core, resync, recall, dump = Value
}

/** A checked command. */
class DecodedCommand(p: Params) extends Bundle {
  val place = CommandPlace()

  /** The refusal, for `refused`. */
  val status = UInt(7.W)
  val opcode = UInt(MemMap.Command.Head.Opcode.width.W)
  val irq = Bool()
  val device = UInt(MemMap.Command.Head.Type.width.W)
  val nr = UInt(MemMap.Command.Head.Nr.width.W)

  /** RECALL of all devices. */
  val all = Bool()

  /** Advisory SWAPOFF_BEGIN and SWAPOFF: the device's hints are recalled first. */
  val recallFirst = Bool()

  /** What the core is asked, for `core`. */
  val core = new CoreReq(p)

  /** DUMP: first cluster and where to. */
  val cluster = UInt(32.W)
  val target = UInt(64.W)
}

/** Checks a command and takes it apart, combinationally. What only the core can know (is the device claimed, are the
  * slots in use) is left to the core; the widths it cannot see any more are checked here.
  */
object CommandDecode {
  import MapAccess.get

  def apply(p: Params, command: Command, advisory: Bool): DecodedCommand = {
    val d = Wire(new DecodedCommand(p))
    val head = MemMap.Command.Head
    val opcode = get(command.head, head.Opcode)
    val cpu = get(command.head, head.Cpu)
    val order = get(command.head, head.Order)
    val device = get(command.head, head.Type)
    val nr = get(command.head, head.Nr)
    val low = command.arg0(31, 0)
    val high = command.arg0(63, 32)

    def is(code: Int): Bool = opcode === code.U
    val known = opcode <= OpcodeCode.Check.U
    val advisoryOnly = is(OpcodeCode.Resync) || is(OpcodeCode.Recall) || is(OpcodeCode.Dump)
    val authoritativeOnly = is(OpcodeCode.Alloc) || is(OpcodeCode.Free)
    val all = is(OpcodeCode.Recall) && device.andR && command.arg0(0)
    val wrongMode = Mux(advisory, authoritativeOnly, advisoryOnly)
    val wantsDevice = !is(OpcodeCode.Nop) && !is(OpcodeCode.Alloc) && !is(OpcodeCode.Dump) && !all
    val wantsOffset = is(OpcodeCode.Free) || is(OpcodeCode.MarkBad)
    val dumpEnd = low +& nr
    val badDump = is(OpcodeCode.Dump) && (high =/= 0.U || dumpEnd > p.clusters.U || command.arg1(2, 0) =/= 0.U)

    d.status := MuxCase(
      StatusCode.Ok.U,
      Seq(
        (!known || wrongMode) -> StatusCode.BadOpcode.U,
        (wantsDevice && device >= p.devices.U) -> StatusCode.BadDevice.U,
        (is(OpcodeCode.Alloc) && (cpu >= p.cpus.U || order >= p.orders.U)) -> StatusCode.BadCpu.U,
        ((wantsOffset && high =/= 0.U) || badDump) -> StatusCode.BadRange.U
      )
    )
    d.place := MuxCase(
      CommandPlace.core,
      Seq(
        (d.status =/= StatusCode.Ok.U) -> CommandPlace.refused,
        is(OpcodeCode.Nop) -> CommandPlace.atOnce,
        is(OpcodeCode.Resync) -> CommandPlace.resync,
        is(OpcodeCode.Recall) -> CommandPlace.recall,
        is(OpcodeCode.Dump) -> CommandPlace.dump
      )
    )
    d.opcode := opcode
    d.irq := get(command.head, head.Irq)
    d.device := device
    d.nr := nr
    d.all := all
    d.recallFirst := advisory && (is(OpcodeCode.SwapoffBegin) || is(OpcodeCode.Swapoff))
    d.cluster := low
    d.target := command.arg1

    d.core := CorePort.blank(p)
    d.core.op := MuxLookup(opcode, CoreOp.check)(
      Seq(
        OpcodeCode.SwaponPrepare.U -> CoreOp.swaponPrepare,
        OpcodeCode.MarkBad.U -> CoreOp.markBad,
        OpcodeCode.Swapon.U -> CoreOp.swapon,
        OpcodeCode.SwapoffBegin.U -> CoreOp.swapoffBegin,
        OpcodeCode.Swapoff.U -> CoreOp.swapoff,
        OpcodeCode.Alloc.U -> CoreOp.alloc,
        OpcodeCode.Free.U -> CoreOp.free
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
    d.core.epoch := command.arg2(23, 16)
    d
  }
}
