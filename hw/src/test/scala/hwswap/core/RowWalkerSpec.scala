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
      var used, hinted, record, kernel = BigInt(0)
      var kernelKnown = false
      dut.io.walk.poke(RowWalk.none)
      // What was named two cycles ago is there.
      var picks = Seq(0, 0)
      var reads = Seq.fill(3)(Option.empty[Int])
      var lookedUp, finished = false

      def step(): Unit = {
        dut.io.used.poke(wordOf(used, picks.head).U)
        dut.io.hinted.poke(reads.head.map(wordOf(hinted, _)).getOrElse(BigInt(p.wordSlots, random)).U)
        dut.io.record.word.poke(wordOf(record, dut.io.record.index.peek().litValue.toInt).U)
        picks = picks.drop(1) :+ dut.io.pick.peek().litValue.toInt
        reads = reads.drop(1) :+
          Option.when(bit(dut.io.readHinted.valid)) {
            assert(lookedUp, "hinted slots are read that were not looked up")
            dut.io.readHinted.bits.peek().litValue.toInt
          }
        lookedUp ||= bit(dut.io.lookUpHinted)
        if (bit(dut.io.put.valid))
          used = withWord(used, dut.io.put.bits.peek().litValue.toInt, dut.io.newUsed.peek().litValue)
        if (bit(dut.io.writeHinted.valid))
          hinted = withWord(hinted, dut.io.writeHinted.bits.peek().litValue.toInt, dut.io.newHinted.peek().litValue)
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
        hinted = if (random.nextInt(5) == 0) anyRow(random) else anyRow(random) & used
        record = anyRow(random)
        val (before, beforeHinted, range) = (used, hinted, slotsOf(first, last))
        dut.io.range.start.poke(first)
        dut.io.range.last.poke(last)
        dut.io.walk.poke(walk)
        step()
        dut.io.walk.poke(RowWalk.none)
        dut.io.range.start.poke(random.nextInt(p.slots))
        dut.io.range.last.poke(random.nextInt(p.slots))
        var cycles = 0
        lookedUp = false
        finished = false
        while (!finished) {
          assert(cycles < 100, "the walk does not end")
          step()
          cycles += 1
        }

        withClue(s"walk $i, $walk of $first to $last: ") {
          val (newUsed, newHinted) = walk match {
            case RowWalk.load => (record | beforeHinted, beforeHinted & ~record)
            case RowWalk.release => (before & ~(beforeHinted & range), beforeHinted & ~range)
            case RowWalk.init => (all & ~range, BigInt(0))
            case RowWalk.mark => (before | range, beforeHinted)
            case RowWalk.clear => (before & ~range, beforeHinted)
            case _ => (before, beforeHinted)
          }
          assert(used == newUsed, "slots used")
          assert(hinted == newHinted, "slots hinted")
          def count(what: UInt, slots: BigInt): Unit = assert(what.peek().litValue == slots.bitCount)
          walk match {
            case RowWalk.count =>
              count(dut.io.usedCount, before)
              count(dut.io.hintedCount, beforeHinted)
              dut.io.stray.expect((beforeHinted & ~before) != 0)
              kernel = before & ~beforeHinted
              kernelKnown = true
            case RowWalk.load =>
              count(dut.io.usedCount, newUsed)
              count(dut.io.hintedCount, beforeHinted & record)
              dut.io.hintedLeft.expect((beforeHinted & ~record) != 0)
            case RowWalk.release =>
              count(dut.io.hintedCount, beforeHinted & range)
            case RowWalk.probe =>
              count(dut.io.usedCount, before & range)
            case _ =>
          }
          // Whoever reads what the kernel had in use may do so until the next walk that counts.
          if (kernelKnown) {
            val seen = (0 until p.slots / p.dumpBits).map { index =>
              dut.io.kernel.index.poke(index)
              dut.io.kernel.word.peek().litValue << (index * p.dumpBits)
            }.sum
            assert(seen == kernel, "what the kernel had in use")
          }
        }
        for (_ <- 1 to random.nextInt(5)) step()
      }
      for (kind <- kinds) assert(times(kind) > 3, s"$kind hardly came")
    }
  }
}
