// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random
import hwswap.store.FreeRuns

class FreeRunFinderSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private implicit val p: Params = Params()
  private val size = p.slots
  private val full = (BigInt(1) << size) - 1

  /** The first slot of the first free run, looked for slot by slot. */
  private def firstFit(row: BigInt, order: Int, from: Int): Option[Int] = {
    val length = 1 << order
    (0 to size - length by length).find(s => s >= from && (s until s + length).forall(!row.testBit(_)))
  }

  private def words(row: BigInt): Seq[BigInt] =
    Seq.tabulate(p.words)(w => (row >> (w * p.wordSlots)) & ((BigInt(1) << p.wordSlots) - 1))

  /** The number of orders that find a free run in a word, order by order. */
  private def ordersOf(word: BigInt): Int =
    (0 until p.wordOrders).count { order =>
      val length = 1 << order
      (0 until p.wordSlots by length).exists(s => (s until s + length).forall(!word.testBit(_)))
    }

  private def show(dut: FreeRunFinder, row: BigInt, order: Int): Unit = {
    for ((word, w) <- words(row).zipWithIndex) dut.io.row(w).poke(word.U)
    val fits = words(row).map(ordersOf(_) > order.min(p.wordOrders - 1))
    dut.io.fits.poke(fits.zipWithIndex.map { case (f, w) => if (f) BigInt(1) << w else BigInt(0) }.sum.U)
    dut.io.order.poke(order)
  }

  /** A row in which about this share of the slots is in use, in runs so that large orders have a chance. */
  private def randomRow(random: Random, share: Double): BigInt = {
    val run = 1 << random.nextInt(9)
    (0 until size by run).foldLeft(BigInt(0)) { (row, start) =>
      if (random.nextDouble() >= share) row
      else (start until start + run).filter(_ => random.nextInt(8) != 0).foldLeft(row)(_.setBit(_))
    }
  }

  describe("FreeRuns") {
    it("tells for how many orders there is a run in a word") {
      class Words extends Module {
        val used = IO(Input(UInt(p.wordSlots.W)))
        val order = IO(Input(UInt(p.orderBits.W)))
        val orders = IO(Output(UInt(3.W)))
        val fits, holds = IO(Output(Bool()))
        orders := FreeRuns.orders(used)
        fits := FreeRuns.fits(orders, order)
        holds := FreeRuns.holds(used, order)
      }
      val random = seeded()
      simulate(new Words) { dut =>
        for (
          share <- Seq(0.0, 0.02, 0.1, 0.3, 0.6, 0.9, 1.0); _ <- 1 to 40;
          word <- words(randomRow(random, share)).take(4)
        ) {
          dut.used.poke(word.U)
          dut.orders.expect(ordersOf(word))
          for (order <- 0 until p.orders) {
            dut.order.poke(order)
            val expected = ordersOf(word) > order.min(p.wordOrders - 1)
            dut.fits.expect(expected)
            dut.holds.expect(expected)
          }
        }
      }
    }
  }

  /** Words `first` to 15. */
  private def wordsFrom(first: Int): UInt = ((BigInt(1) << p.words) - (BigInt(1) << first)).U(p.words.W)

  describe("FreeRunFinder") {
    it("finds what a search slot by slot finds, for every order and start") {
      val random = seeded()
      val rows = Seq(BigInt(0), full, full.clearBit(size - 1), full.clearBit(0), BigInt(1)) ++
        Seq(0.02, 0.1, 0.3, 0.6, 0.9).map(randomRow(random, _))
      simulate(new FreeRunFinder) { dut =>
        dut.io.find.poke(true)
        for (row <- rows; order <- 0 until p.orders) {
          show(dut, row, order)
          dut.io.order.poke(order)
          val starts = Seq(0, 1, size - 1, size) ++ Seq.fill(8)(random.nextInt(size))
          for (from <- starts) {
            val after = if (from == 0) random.nextInt(size) else from - 1
            dut.io.anywhere.poke(from == 0)
            dut.io.after.poke(after)
            dut.io.later.poke(wordsFrom(if (from == 0) 0 else after / p.wordSlots + 1))
            dut.clock.step()
            val expected = firstFit(row, order, from)
            withClue(s"row ${row.toString(16)}, order $order, from $from: ") {
              assert(bit(dut.io.found) == expected.isDefined)
              for (slot <- expected) {
                assert(dut.io.slot.peek().litValue == slot)
                val here = from != 0 && slot / p.wordSlots == after / p.wordSlots
                assert(bit(dut.io.here) == here)
                if (!here && order < p.wordOrders)
                  assert(dut.io.laterWord.peek().litValue == words(row)(slot / p.wordSlots))
                if (!here) dut.io.beyond.expect(wordsFrom((slot + (1 << order) - 1) / p.wordSlots + 1))
              }
            }
          }
        }
      }
    }

    it("keeps its answer until the next find") {
      simulate(new FreeRunFinder) { dut =>
        dut.io.find.poke(true)
        show(dut, full ^ (BigInt(0xf8) << 64), 1)
        dut.io.anywhere.poke(true)
        dut.io.later.poke(wordsFrom(0))
        dut.clock.step()
        dut.io.find.poke(false)
        show(dut, 0, 1)
        dut.clock.step(3)
        dut.io.found.expect(true)
        dut.io.slot.expect(68)
      }
    }
  }
}
