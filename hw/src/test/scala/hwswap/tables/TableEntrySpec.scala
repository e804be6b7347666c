// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** TableEntry's results for one word. */
class TableEntryUnderTest extends Module {
  val io = IO(new Bundle {
    val word = Input(UInt(64.W))
    val kind = Output(UInt(TableEntry.KindBits.W))
    val inUse = Output(Bool())
    val set = Output(UInt(TableEntry.Kinds.W))
  })
  io.kind := TableEntry.kind(io.word)
  io.inUse := TableEntry.inUse(io.kind)
  io.set := VecInit.tabulate(TableEntry.Kinds)(k => TableEntry.has((1 << k).U(TableEntry.Kinds.W), io.kind)).asUInt
}

/** Words of all kinds, those included that differ from one of another kind in a bit alone. */
class TableEntrySpec extends AnyFunSpec with ChiselSim with Seeded {

  /** By the marks in the kernel's mm/swap_table.h. */
  private def expected(word: BigInt): Int = {
    val bad = ((BigInt(1) << 64) - 1) ^ 7
    if (word == 0) TableKindCode.Free
    else if (word == bad) TableKindCode.Bad
    else if (word.testBit(0)) TableKindCode.Shadow
    else if (word.testBit(1)) if (word >> 60 == 0) TableKindCode.Unused else TableKindCode.Cached
    else if (word.testBit(2)) TableKindCode.Pointer
    else TableKindCode.Other
  }

  it("tells every word's kind") {
    val random = seeded()
    simulate(new TableEntryUnderTest) { dut =>
      val bad = ((BigInt(1) << 64) - 1) ^ 7
      val near = for (base <- Seq(BigInt(0), bad); i <- 0 until 64) yield base.flipBit(i)
      val words = Seq(BigInt(0), bad, bad | 7) ++ near ++ Seq.fill(500)(BigInt(64, random)) ++
        Seq.fill(200)(BigInt(60, random))
      for (word <- words) {
        dut.io.word.poke(word.U)
        dut.io.kind.expect(expected(word), s"kind of ${word.toString(16)}")
        dut.io.inUse.expect(Set(1, 2, 3).contains(expected(word)))
        dut.io.set.expect(1 << expected(word))
      }
    }
  }
}
