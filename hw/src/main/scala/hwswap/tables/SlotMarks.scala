// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** The kind and mark of one slot of a cluster. */
class SlotMark(implicit p: Params) extends Bundle {
  val slot = UInt(p.slotBits.W)
  val kind = UInt(TableEntry.KindBits.W)
  val mark = Bool()

  /** None follows, before the next cluster. */
  val end = Bool()
}

/** The kinds and marks of 64 slots in a row, one bit each. Slots that were not written have kind 0 and no mark. */
class SlotMarkRow extends Bundle {
  val marks = UInt(Axi.DataBits.W)

  /** Bit i of all kinds. */
  val kinds = Vec(TableEntry.KindBits, UInt(Axi.DataBits.W))

  /** The slots of one kind that are marked. */
  def ofKind(kind: UInt): UInt =
    kinds.zipWithIndex.map { case (plane, i) => Mux(kind(i), plane, ~plane) }.reduce(_ & _) & marks
}

/** Bitmaps of a cluster's slots, from one slot per cycle in rising order. A row is collected in a register, and joins
  * the others in a small memory when the next one begins.
  */
class SlotMarks(implicit p: Params) extends Module {
  private val rows = p.slots / Axi.DataBits
  val io = IO(new Bundle {
    val clear = Input(Bool())
    val in = Flipped(Valid(new SlotMark))
    val index = Input(UInt(log2Ceil(rows).W))

    /** Row `index`; two cycles after its last slot, or the last of all. */
    val row = Output(new SlotMarkRow)
  })
  private val inRow = log2Ceil(Axi.DataBits)
  private val memory = Mem(rows, new SlotMarkRow)
  private val known = RegInit(0.U(rows.W))
  private val row = RegInit(0.U.asTypeOf(new SlotMarkRow))
  private val place = UIntToOH(io.in.bits.slot(inRow - 1, 0), Axi.DataBits)
  private val full = RegNext(io.in.valid && (io.in.bits.end || io.in.bits.slot(inRow - 1, 0).andR), false.B)
  private val number = RegNext(io.in.bits.slot >> inRow)

  /** A plane with the bit of the slot that comes. */
  private def joined(plane: UInt, bit: Bool): UInt =
    Mux(full, 0.U, plane) | Mux(io.in.valid && bit, place, 0.U)
  row.marks := joined(row.marks, io.in.bits.mark)
  for ((plane, i) <- row.kinds.zipWithIndex) plane := joined(plane, io.in.bits.kind(i))
  when(full) {
    memory.write(number, row)
    known := known | UIntToOH(number, rows)
  }
  when(io.clear) {
    known := 0.U
    row := 0.U.asTypeOf(row)
  }
  io.row := Mux(known(io.index), memory.read(io.index), 0.U.asTypeOf(new SlotMarkRow))
  assert(!(io.clear && (full || io.in.valid)), "marks are forgotten while they come")
}
