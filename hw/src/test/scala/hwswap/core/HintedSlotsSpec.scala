// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.simulator.Exceptions
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.Assertions
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random

/** HintedSlots as its users drive it, and a row of bits for each cluster beside it. */
private class HintedBench(dut: HintedSlots, random: Random)(implicit p: Params) extends Peeks with Assertions {
  val bits: Array[BigInt] = Array.fill(p.clusters)(BigInt(0))
  private val wordMask = (BigInt(1) << p.wordSlots) - 1
  private val row = BigInt(1) << p.slots

  Seq(dut.io.mark.valid, dut.io.read.valid, dut.io.write.valid, dut.io.lookUp).foreach(_.poke(false))
  dut.reset.poke(true)
  dut.clock.step()
  dut.reset.poke(false)
  settle(p.clusters)

  private def wordOf(cluster: Int, word: Int): BigInt = (bits(cluster) >> (word * p.wordSlots)) & wordMask

  /** Waits until nobody uses the memories, for at most so many cycles; how many it took. */
  def settle(most: Int): Int = {
    var cycles = 0
    while (bit(dut.io.busy)) {
      assert(cycles < most, "noting does not end")
      dut.clock.step()
      cycles += 1
    }
    cycles
  }

  def mark(cluster: Int, first: Int, last: Int): Unit = {
    dut.io.busy.expect(false)
    dut.io.cluster.poke(cluster)
    dut.io.mark.bits.start.poke(first)
    dut.io.mark.bits.last.poke(last)
    dut.io.mark.valid.poke(true)
    dut.clock.step()
    dut.io.mark.valid.poke(false)
    // Who asked goes on with something else.
    dut.io.cluster.poke(random.nextInt(p.clusters))
    dut.io.mark.bits.start.poke(random.nextInt(p.slots))
    dut.io.mark.bits.last.poke(random.nextInt(p.slots))
    val wholeWords = first % p.wordSlots == 0 && (last + 1) % p.wordSlots == 0
    val words = last / p.wordSlots - first / p.wordSlots + 1
    assert(settle(100) == (if (wholeWords) 2 + words else 5))
    bits(cluster) |= (BigInt(1) << (last + 1)) - (BigInt(1) << first)
  }

  /** A walk over the words `first` to `last`, as a unit makes it: each is compared, and replaced three cycles after it
    * was named by what of it is in `keep`.
    */
  def walk(cluster: Int, first: Int, last: Int, keep: Option[BigInt]): Unit = {
    dut.io.busy.expect(false)
    dut.io.cluster.poke(cluster)
    dut.clock.step()
    dut.io.lookUp.poke(true)
    dut.clock.step()
    dut.io.lookUp.poke(false)
    val old = bits(cluster)
    for (cycle <- 0 to last - first + 3) {
      val (named, there) = (first + cycle, first + cycle - 3)
      dut.io.read.valid.poke(named <= last)
      dut.io.read.bits.poke(named.min(p.words - 1))
      if (there >= first) {
        assert(dut.io.word.peek().litValue == ((old >> (there * p.wordSlots)) & wordMask), s"word $there of $cluster")
        for (kept <- keep) {
          val outside = wordMask << (there * p.wordSlots)
          bits(cluster) &= (row - 1 - outside) | kept
          dut.io.newWord.poke(wordOf(cluster, there).U)
          dut.io.write.bits.poke(there)
          dut.io.write.valid.poke(true)
        }
      }
      dut.clock.step()
      dut.io.write.valid.poke(false)
    }
    dut.clock.step(2)
  }

  def count(cluster: Int): Unit = walk(cluster, 0, p.words - 1, None)
}

/** The bits of hinted slots, as a unit reads them, are those that were marked, without those that were taken out. */
class HintedSlotsSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {

  // 20 rows in one bank; 320 rows in several.
  private val few = Params(devices = 1, cpus = 1, clusters = 64, hintRingLog2 = 1)
  private val many = Params(devices = 1, cpus = 2, clusters = 512, hintRingLog2 = 4)

  private def withSlots(p: Params)(body: (HintedSlots, HintedBench, Random) => Unit): Unit = {
    val random = seeded()
    simulate(new HintedSlots()(p))(dut => body(dut, new HintedBench(dut, random)(p), random))
  }

  /** Slots in one word, or of whole words. */
  private def range(p: Params, random: Random): (Int, Int) =
    if (random.nextInt(3) == 0) {
      val first = random.nextInt(p.words)
      val count = 1 + random.nextInt(p.words - first)
      (first * p.wordSlots, (first + count) * p.wordSlots - 1)
    } else {
      val start = random.nextInt(p.wordSlots)
      val word = random.nextInt(p.words) * p.wordSlots
      (word + start, word + start + random.nextInt(p.wordSlots - start))
    }

  for ((name, p, steps) <- Seq(("20 rows", few, 400), ("320 rows", many, 1500)))
    it(s"holds what is marked and not taken out, with pauses, in $name that change hands") {
      withSlots(p) { (dut, bench, random) =>
        for (cluster <- random.shuffle((0 until p.clusters).toList).take(p.hintRows))
          bench.mark(cluster, 0, 0)
        var mostRows, taken = 0
        for (_ <- 1 to steps) {
          val hinted = bench.bits.indices.filter(bench.bits(_) != 0)
          mostRows = mostRows.max(hinted.size)
          val cluster =
            if (hinted.nonEmpty && random.nextInt(3) > 0) hinted(random.nextInt(hinted.size))
            else random.nextInt(p.clusters)
          val ends = Seq.fill(2)(random.nextInt(p.words)).sorted
          random.nextInt(8) match {
            case 0 =>
              // A record or a new device: all words.
              val keep = if (random.nextBoolean()) BigInt(0) else BigInt(p.slots, random)
              if (bench.bits(cluster) != 0) taken += 1
              bench.walk(cluster, 0, p.words - 1, Some(keep))
            case 1 =>
              // A release: some.
              bench.walk(cluster, ends.head, ends.last, Some(if (random.nextInt(3) > 0) 0 else BigInt(p.slots, random)))
            case 2 => bench.count(cluster)
            case _ if hinted.size < p.hintRows || bench.bits(cluster) != 0 =>
              val (first, last) = range(p, random)
              bench.mark(cluster, first, last)
            case _ =>
              // No hint is left: one has to go.
              val gone = hinted(random.nextInt(hinted.size))
              bench.walk(gone, 0, p.words - 1, Some(0))
          }
          if (random.nextBoolean()) dut.clock.step(1 + random.nextInt(4))
        }
        assert(mostRows == p.hintRows && taken > 10, s"$mostRows rows of ${p.hintRows}, $taken rows taken back")
        for (cluster <- 0 until p.clusters) bench.count(cluster)
      }
    }

  it("finds nothing hinted after reset, whatever was") {
    withSlots(few) { (dut, bench, random) =>
      for (cluster <- 0 until few.hintRows) bench.mark(cluster * 3, 0, few.slots - 1)
      val again = new HintedBench(dut, random)(few)
      for (cluster <- 0 until few.clusters) again.count(cluster)
      // All rows are free.
      for (cluster <- 0 until few.hintRows) again.mark(few.clusters - 1 - cluster, 5, 7)
      for (cluster <- 0 until few.clusters) again.count(cluster)
    }
  }

  it("reports a cluster for which there is no row") {
    val failure = intercept[Exceptions.AssertionFailed] {
      withSlots(few) { (_, bench, _) =>
        for (cluster <- 0 to few.hintRows) bench.mark(cluster, 0, 0)
      }
    }
    assert(failure.getMessage.contains("more clusters have hinted slots"), failure.getMessage)
  }

  it("has no memory without advisory mode, and no slot is ever hinted") {
    simulate(new HintedSlots()(few.copy(advisory = false))) { dut =>
      Seq(dut.io.mark.valid, dut.io.read.valid, dut.io.lookUp).foreach(_.poke(false))
      dut.io.busy.expect(false)
      dut.io.write.valid.poke(true)
      dut.io.newWord.poke(((BigInt(1) << few.wordSlots) - 1).U)
      dut.clock.step()
      dut.io.write.valid.poke(false)
      dut.io.read.valid.poke(true)
      dut.clock.step(3)
      dut.io.word.expect(0)
    }
  }
}
