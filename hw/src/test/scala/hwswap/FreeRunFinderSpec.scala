// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random

class FreeRunFinderSpec extends AnyFunSpec with ChiselSim with Seeded {
  private val p = Params()
  private val size = p.slots
  private val full = (BigInt(1) << size) - 1

  /** The first slot of the first free run, looked for slot by slot. */
  private def firstFit(row: BigInt, order: Int, from: Int): Option[Int] = {
    val length = 1 << order
    (0 to size - length by length).find(s => s >= from && (s until s + length).forall(!row.testBit(_)))
  }

  /** A row in which about this share of the slots is in use, in runs so that large orders have a chance. */
  private def randomRow(random: Random, share: Double): BigInt = {
    val run = 1 << random.nextInt(9)
    (0 until size by run).foldLeft(BigInt(0)) { (row, start) =>
      if (random.nextDouble() >= share) row
      else (start until start + run).filter(_ => random.nextInt(8) != 0).foldLeft(row)(_.setBit(_))
    }
  }

  describe("FreeRunFinder") {
    it("finds what a search slot by slot finds, for every order and start") {
      val random = seeded()
      val rows = Seq(BigInt(0), full, full.clearBit(size - 1), full.clearBit(0), BigInt(1)) ++
        Seq(0.02, 0.1, 0.3, 0.6, 0.9).map(randomRow(random, _))
      simulate(new FreeRunFinder(p)) { dut =>
        dut.io.find.poke(true)
        for (row <- rows; order <- 0 until 11) {
          dut.io.used.poke(row.U)
          dut.io.order.poke(order)
          val starts = Seq(0, 1, size - 1, size) ++ Seq.fill(8)(random.nextInt(size))
          for (from <- starts) {
            dut.io.anywhere.poke(from == 0)
            dut.io.behind.poke(if (from == 0) random.nextInt(size) else from - 1)
            dut.clock.step()
            val expected = if (order < p.orders) firstFit(row, order, from) else None
            withClue(s"row ${row.toString(16)}, order $order, from $from: ") {
              assert(dut.io.found.peek().litToBoolean == expected.isDefined)
              expected.foreach(slot => assert(dut.io.slot.peek().litValue == slot))
            }
          }
        }
      }
    }

    it("keeps its answer until the next find") {
      simulate(new FreeRunFinder(p)) { dut =>
        dut.io.find.poke(true)
        dut.io.used.poke(7)
        dut.io.order.poke(1)
        dut.io.anywhere.poke(true)
        dut.clock.step()
        dut.io.find.poke(false)
        dut.io.used.poke(0)
        dut.clock.step(3)
        dut.io.found.expect(true)
        dut.io.slot.expect(4)
      }
    }
  }
}
