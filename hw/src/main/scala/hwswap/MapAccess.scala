// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** Taking words of the generated map apart and putting them together. */
object MapAccess {

  /** The bits of `field` in a 64-bit word. */
  def get(word: UInt, field: MapField): UInt = word(field.msb, field.lsb)

  /** A 64-bit word of the given fields, 0 elsewhere. Values are cut or filled up to their field's width. */
  def word(fields: (MapField, UInt)*): UInt = {
    val sorted = fields.sortBy(_._1.lsb)
    require(
      sorted.zip(sorted.drop(1)).forall { case ((a, _), (b, _)) => a.msb < b.lsb },
      "fields of one word overlap"
    )
    val parts = sorted.foldLeft((0, Seq.empty[UInt])) { case ((next, done), (field, value)) =>
      val gap = if (field.lsb > next) Seq(0.U((field.lsb - next).W)) else Nil
      (field.lsb + field.width, done ++ gap :+ value.pad(field.width)(field.width - 1, 0))
    }
    val top = if (parts._1 < Axi.DataBits) Seq(0.U((Axi.DataBits - parts._1).W)) else Nil
    Cat((parts._2 ++ top).reverse)
  }

  /** `old` with the bytes that `strb` names taken from `data`. */
  def merge(old: UInt, data: UInt, strb: UInt): UInt =
    Cat(Seq.tabulate(Axi.DataBytes)(i => Mux(strb(i), data(8 * i + 7, 8 * i), old(8 * i + 7, 8 * i))).reverse)

  /** The lowest bits of a number, as many as `like` has; filled up with zeroes. */
  def low(value: UInt, like: UInt): UInt = value.pad(like.getWidth)(like.getWidth - 1, 0)

  /** Words (64 bits) of a structure in memory. */
  def words(bytes: Int): Int = bytes / Axi.DataBytes
}

/** The registers of a block, each declared where it is kept.
  *
  * @param port
  *   of the block; `finish` answers its reads
  */
class RegisterFile(port: RegPort) {
  private val reads = scala.collection.mutable.ArrayBuffer.empty[(Int, UInt)]
  private val write = port.write

  /** Makes `offset` read as `value`. */
  def readOnly(offset: Int, value: UInt): Unit = reads += offset -> value

  /** A read-write register with an address that is a multiple of 64: the bits below are not taken over, and read 0. */
  def address(offset: Int, field: MapField): UInt = {
    val log2 = 6
    readWrite(offset, MapField(field.lsb + log2, field.width - log2, field.reset >> log2))
  }

  /** A plain read-write register: only the bits of `fields` exist. Gives the whole word. */
  def readWrite(offset: Int, fields: MapField*): UInt = {
    val init = fields.map(f => f.reset << f.lsb).reduce(_ | _)
    val mask = fields.map(f => ((BigInt(1) << f.width) - 1) << f.lsb).reduce(_ | _)
    val reg = RegInit(init.U(Axi.DataBits.W))
    when(write.valid && write.bits.at(offset)) {
      reg := MapAccess.merge(reg, write.bits.data, write.bits.strb) & mask.U
    }
    readOnly(offset, reg)
    reg
  }

  /** After the last register. */
  def finish(): Unit = port.readData := RegPort.answer(port.read, reads.toSeq)
}

/** One register write: a 64-bit word at a byte address that is a multiple of 8, with byte strobes. */
class RegWrite extends Bundle {
  val addr = UInt(log2Ceil(RegMap.BarSize).W)
  val data = UInt(Axi.DataBits.W)
  val strb = UInt(Axi.DataBytes.W)

  /** Whether the write goes to `offset` and touches the lowest byte. */
  def starts(offset: Int): Bool = at(offset) && strb(0)

  /** Whether the write goes to `offset`. */
  def at(offset: Int): Bool = addr === offset.U
}

/** The port of a block of registers: writes and reads are pulses. The block answers a read `RegPort.ReadCycles` cycles
  * after the pulse, with 0 when the address is not its own, so that the answers of all blocks can be or-ed. The address
  * stays until then.
  */
class RegPort extends Bundle {
  val write = Flipped(Valid(new RegWrite))
  val read = Flipped(Valid(UInt(log2Ceil(RegMap.BarSize).W)))
  val readData = Output(UInt(Axi.DataBits.W))
}

object RegPort {

  /** Cycles from a read's pulse to its answer: to find the register, to get at its contents, to select its bits. */
  val ReadCycles: Int = 3

  /** The answer of a block that has `table`: offsets and what they read. It is there one cycle early, and stays. */
  def answer(read: Valid[UInt], table: Seq[(Int, UInt)]): UInt =
    // Not Mux1H, which takes one entry alone to be selected.
    RegNext(
      table
        .map { case (offset, value) =>
          Mux(RegNext(read.bits === offset.U, false.B), value, 0.U)
        }
        .reduce(_ | _)
    )
}
