// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import hwswap.bus.Axi

/** Operations on swap tables, by the rows of TableCommand: those of commands (TABLE_...), and `off`: SWAPOFF takes all
  * tables of its device.
  */
object TableOp extends ChiselEnum {
  val give, take, off, lookup, range, count, scan, fill, clear, replace = Value
}

/** A command on swap tables, by the fields of MemMap.Command; whether there is such a device is not known yet. */
class TableJob extends Bundle {
  val op = TableOp()
  val device = UInt(MemMap.Command.Head.Type.width.W)
  val nr = UInt(MemMap.Command.Head.Nr.width.W)
  val slot = UInt(MemMap.TableScan.Slots.Slot.width.W)
  val kinds = UInt(MemMap.TableScan.Slots.Kinds.width.W)
  val arg1, arg2 = UInt(Axi.DataBits.W)
}

/** Its end: a StatusCode, and RESULT. */
class TableResult extends Bundle {
  val status = UInt(MemMap.Completion.Info.Status.width.W)
  val value = UInt(Axi.DataBits.W)
}

/** The part of a range of slots that is in one cluster. */
class TablePiece(implicit p: Params) extends Bundle {

  /** The cluster, counted from the range's first. */
  val cluster = UInt(p.clusterBits.W)

  /** First slot in the cluster, and how many. */
  val first = UInt(p.slotBits.W)
  val count = UInt(p.countBits.W)

  /** The cluster has a table, whose words were asked for. */
  val table = Bool()

  /** The range's last. */
  val last = Bool()
}
