// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Bitmaps of ranges of slots, with and without idle cycles between the slots. */
class SlotMarksSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  it("has the kind and the mark of every slot that was written") {
    val random = seeded()
    simulate(new SlotMarks()(Params(devices = 1, cpus = 1, clusters = 8))) { dut =>
      dut.io.in.valid.poke(false)
      dut.io.clear.poke(false)
      restart(dut)
      for (round <- 0 until 40) {
        pulse(dut.io.clear, dut.clock)
        val first = if (round % 5 == 0) 0 else random.nextInt(512)
        val count = if (round % 7 == 0) 512 - first else 1 + random.nextInt(512 - first)
        val slots = Seq.fill(count)((random.nextInt(7), random.nextBoolean()))
        for (((kind, mark), i) <- slots.zipWithIndex) {
          dut.io.in.bits.slot.poke(first + i)
          dut.io.in.bits.kind.poke(kind)
          dut.io.in.bits.mark.poke(mark)
          dut.io.in.bits.end.poke(i == count - 1)
          pulse(dut.io.in.valid, dut.clock)
          if (round % 2 == 1 && random.nextInt(4) == 0) dut.clock.step(1 + random.nextInt(3))
        }
        dut.clock.step()
        for (row <- 0 until 8) {
          def bits(has: ((Int, Boolean)) => Boolean): BigInt =
            slots.zipWithIndex
              .filter { case (slot, i) => (first + i) / 64 == row && has(slot) }
              .map { case (_, i) => BigInt(1) << (first + i) % 64 }
              .sum
          dut.io.index.poke(row)
          dut.io.row.marks.expect(bits(_._2), s"marks of row $row, $count slots from $first")
          for ((plane, bit) <- dut.io.row.kinds.zipWithIndex)
            plane.expect(bits(slot => (slot._1 >> bit & 1) == 1), s"bit $bit of the kinds of row $row")
        }
      }
    }
  }
}
