// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random

class FreeRunFinderSpec extends AnyFunSpec with ChiselSim with Seeded {
  private val p = Params()
  private val size = p.partSlots
  private val full = (BigInt(1) << size) - 1

  /** The first slot of the first free run, looked for slot by slot. */
  private def firstFit(part: BigInt, order: Int, from: Int): Option[Int] = {
    val length = 1 << order
    (0 to size - length by length).find(s => s >= from && (s until s + length).forall(!part.testBit(_)))
  }

  /** A part in which about this share of the slots is in use, in runs so that large orders have a chance. */
  private def randomPart(random: Random, share: Double): BigInt = {
    val run = 1 << random.nextInt(7)
    (0 until size by run).foldLeft(BigInt(0)) { (part, start) =>
      if (random.nextDouble() >= share) part
      else (start until start + run).filter(_ => random.nextInt(8) != 0).foldLeft(part)(_.setBit(_))
    }
  }

  describe("FreeRunFinder") {
    it("finds what a search slot by slot finds, for every order and start") {
      val random = seeded()
      val parts = Seq(BigInt(0), full, full.clearBit(size - 1), full.clearBit(0), BigInt(1)) ++
        Seq(0.02, 0.1, 0.3, 0.6, 0.9).map(randomPart(random, _))
      simulate(new FreeRunFinder(p)) { dut =>
        dut.io.find.poke(true)
        for (part <- parts; order <- 0 until p.orders) {
          dut.io.used.poke(part.U)
          dut.io.order.poke(order)
          for (from <- 0 until size) {
            dut.io.allowed.poke((full & (full << from)).U)
            dut.clock.step()
            val expected = firstFit(part, order, from)
            withClue(s"part ${part.toString(16)}, order $order, from $from: ") {
              assert(dut.io.found.peek().litToBoolean == expected.isDefined)
              expected.foreach(slot => assert(dut.io.slot.peek().litValue == slot))
            }
          }
        }
      }
    }

    it("keeps its answer until the next find, and finds nothing for orders that are too large") {
      simulate(new FreeRunFinder(p)) { dut =>
        dut.io.find.poke(true)
        dut.io.used.poke(7)
        dut.io.order.poke(1)
        dut.io.allowed.poke(full.U)
        dut.clock.step()
        dut.io.find.poke(false)
        dut.io.used.poke(0)
        dut.clock.step(3)
        dut.io.found.expect(true)
        dut.io.slot.expect(4)
        dut.io.find.poke(true)
        for (order <- p.partSlotBits + 1 until 16) {
          dut.io.order.poke(order)
          dut.clock.step()
          dut.io.found.expect(false)
        }
      }
    }
  }
}
