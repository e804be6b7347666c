// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random

/** Walks over rows, which the test holds, slot by slot. */
class RowWalkerSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private implicit val p: Params = Params(devices = 1, cpus = 1, clusters = 16)
  private val all = (BigInt(1) << p.slots) - 1
  private val wordMask = (BigInt(1) << p.wordSlots) - 1

  private def wordOf(row: BigInt, word: Int): BigInt = (row >> (word * p.wordSlots)) & wordMask
  private def withWord(row: BigInt, word: Int, value: BigInt): BigInt =
    (row & ~(wordMask << (word * p.wordSlots))) | (value << (word * p.wordSlots))

  /** Rows of all kinds: empty, full, nearly one of these, random. */
  private def anyRow(random: Random): BigInt = random.nextInt(6) match {
    case 0 => BigInt(0)
    case 1 => all
    case 2 => BigInt(0).setBit(random.nextInt(p.slots))
    case 3 => all.clearBit(random.nextInt(p.slots))
    case _ => BigInt(p.slots, random)
  }

  private def slotsOf(first: Int, last: Int): BigInt = ((BigInt(1) << (last - first + 1)) - 1) << first

  it("changes and counts what a walk is about, at any pace of walks") {
    val random = seeded()
    simulate(new RowWalker) { dut =>
      var used, counted = BigInt(0)
      var isCounted = false
      dut.io.walk.poke(RowWalk.none)
      // The word named two cycles ago is there.
      var picks = Seq(0, 0)
      var finished = false

      def step(): Unit = {
        dut.io.used.poke(wordOf(used, picks.head).U)
        picks = picks.drop(1) :+ dut.io.pick.peek().litValue.toInt
        if (bit(dut.io.put.valid))
          used = withWord(used, dut.io.put.bits.peek().litValue.toInt, dut.io.newUsed.peek().litValue)
        finished = bit(dut.io.walked)
        dut.clock.step()
      }

      val kinds = RowWalk.all.filter(_ != RowWalk.none)
      var times = Map.empty[RowWalk.Type, Int].withDefaultValue(0)
      for (i <- 1 to 160) {
        val walk = kinds(random.nextInt(kinds.size))
        times = times.updated(walk, times(walk) + 1)
        val ends = Seq.fill(2)(random.nextInt(p.slots)).sorted
        val (first, last) = if (random.nextInt(4) == 0) (0, p.slots - 1) else (ends.head, ends.last)
        used = anyRow(random)
        val (before, range) = (used, slotsOf(first, last))
        dut.io.range.start.poke(first)
        dut.io.range.last.poke(last)
        dut.io.walk.poke(walk)
        step()
        dut.io.walk.poke(RowWalk.none)
        dut.io.range.start.poke(random.nextInt(p.slots))
        dut.io.range.last.poke(random.nextInt(p.slots))
        finished = false
        waitFor("the end of a walk", 100)(finished)(step())

        withClue(s"walk $i, $walk of $first to $last: ") {
          val after = walk match {
            case RowWalk.init => all & ~range
            case RowWalk.mark => before | range
            case RowWalk.clear => before & ~range
            case _ => before
          }
          assert(used == after, "slots used")
          walk match {
            case RowWalk.count =>
              dut.io.usedCount.expect(before.bitCount)
              counted = before
              isCounted = true
            case RowWalk.probe => dut.io.usedCount.expect((before & range).bitCount)
            case _ =>
          }
          // Whoever reads the row that was counted may do so until the next walk that counts.
          if (isCounted) {
            val seen = (0 until p.slots / p.dumpBits).map { index =>
              dut.io.counted.index.poke(index)
              dut.io.counted.word.peek().litValue << (index * p.dumpBits)
            }.sum
            assert(seen == counted, "the row that was counted")
          }
        }
        for (_ <- 1 to random.nextInt(5)) step()
      }
      for (kind <- kinds) assert(times(kind) > 3, s"$kind hardly came")
    }
  }
}
