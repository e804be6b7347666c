// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random

/** Runs of bitmaps against counting slot by slot. */
class BitmapRunsSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  import Bitmaps._

  private def run(dut: BitmapRuns, used: BigInt, random: Random, eager: Int): Unit = {
    dut.io.word.valid.poke(false)
    pulse(dut.io.start, dut.clock)
    for (word <- words(used)) {
      while (random.nextInt(100) >= eager) {
        dut.io.word.valid.poke(false)
        assert(!bit(dut.io.done))
        dut.clock.step()
      }
      dut.io.word.valid.poke(true)
      dut.io.word.bits.poke(word.U)
      dut.clock.step()
    }
    dut.io.word.valid.poke(false)
    waitFor("the end", 3)(bit(dut.io.done))(dut.clock.step())
    dut.io.run.expect(largest(used) + 1)
    dut.clock.step()
  }

  it("finds the largest run") {
    val random = seeded()
    simulate(new BitmapRuns) { dut =>
      for (eager <- Seq(100, 50); _ <- 0 until 150) run(dut, bitmap(random), random, eager)
    }
  }

  it("knows an empty cluster, a full one, and a single unit of each order in each place") {
    val random = seeded()
    simulate(new BitmapRuns) { dut =>
      run(dut, 0, random, 100)
      run(dut, All, random, 100)
      for (order <- 0 to 9; unit <- Seq(0, (512 >> order) - 1, random.nextInt(512 >> order)))
        run(dut, All ^ (block(order) << (unit << order)), random, 100)
    }
  }
}

/** A cluster's bitmap as one number, looked at slot by slot. */
object Bitmaps {
  val All: BigInt = (BigInt(1) << 512) - 1
  private val Word: BigInt = (BigInt(1) << 64) - 1

  def words(used: BigInt): Seq[BigInt] = (0 until 8).map(i => used >> (64 * i) & Word)

  def block(order: Int): BigInt = (BigInt(1) << (1 << order)) - 1

  private def free(used: BigInt, order: Int, slot: Int): Boolean = (used & (block(order) << slot)) == 0

  /** The greatest order of which there is an aligned free run, -1 if there is none. */
  def largest(used: BigInt): Int =
    (9 to 0 by -1).find(k => (0 until 512 by (1 << k)).exists(free(used, k, _))).getOrElse(-1)

  /** One with runs of all lengths: blocks of it are free, in use, or mixed. */
  def bitmap(random: Random): BigInt = {
    def part(order: Int): BigInt = random.nextInt(if (order == 0) 2 else 6) match {
      case 0 => 0
      case 1 => block(order)
      case _ => part(order - 1) | part(order - 1) << (1 << (order - 1))
    }
    part(9)
  }
}
