// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random

/** The bits of hinted slots, as a unit reads them, are those that were marked and written. */
class HintedSlotsSpec extends AnyFunSpec with ChiselSim with Seeded {
  private val p = Params(devices = 1, cpus = 1, clusters = 16)
  private val all = (BigInt(1) << p.wordSlots) - 1

  /** Slots in one word, or of whole words. */
  private def range(random: Random): (Int, Int) =
    if (random.nextInt(3) == 0) {
      val first = random.nextInt(p.words)
      val count = 1 + random.nextInt(p.words - first)
      (first * p.wordSlots, (first + count) * p.wordSlots - 1)
    } else {
      val start = random.nextInt(p.wordSlots)
      val word = random.nextInt(p.words) * p.wordSlots
      (word + start, word + start + random.nextInt(p.wordSlots - start))
    }

  // Clusters that are used: of few, each word is soon wanted again.
  for (clusters <- Seq(1, p.clusters))
    it(s"holds what is noted and written in $clusters clusters, with pauses") {
      val random = seeded()
      simulate(new HintedSlots(p)) { dut =>
        val bits = Array.fill(p.clusters, p.words)(BigInt(0))
        dut.io.mark.valid.poke(false)
        dut.io.read.valid.poke(false)
        dut.io.write.valid.poke(false)
        def idle(most: Int): Unit = dut.clock.step(random.nextInt(most + 1).max(1))

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
          var cycles = 0
          while (dut.io.busy.peek().litToBoolean) {
            assert(cycles < 100, "noting does not end")
            dut.clock.step()
            cycles += 1
          }
          for (slot <- first to last)
            bits(cluster)(slot / p.wordSlots) = bits(cluster)(slot / p.wordSlots).setBit(slot % p.wordSlots)
        }

        /** A unit that reads and writes in each cycle as it likes, but not both of one word. */
        def unit(cycles: Int): Unit = {
          var expected = Seq.fill(3)(Option.empty[BigInt])
          for (_ <- 1 to cycles) {
            val (readAt, writeAt) =
              ((random.nextInt(clusters), random.nextInt(p.words)), (random.nextInt(clusters), random.nextInt(p.words)))
            val (reads, writes) = (random.nextInt(3) > 0, random.nextInt(3) > 0 && readAt != writeAt)
            for ((port, (cluster, word)) <- Seq(dut.io.read -> readAt, dut.io.write -> writeAt)) {
              port.bits.cluster.poke(cluster)
              port.bits.word.poke(word)
            }
            dut.io.read.valid.poke(reads)
            dut.io.write.valid.poke(writes)
            val value = BigInt(p.wordSlots, random)
            dut.io.newWord.poke(value.U)
            for (word <- expected.head) assert(dut.io.word.peek().litValue == word)
            expected = expected.drop(1) :+ Option.when(reads)(bits(readAt._1)(readAt._2))
            if (writes) bits(writeAt._1)(writeAt._2) = value
            dut.clock.step()
          }
          dut.io.write.valid.poke(false)
          dut.io.read.valid.poke(false)
          for (last <- expected) {
            for (word <- last) assert(dut.io.word.peek().litValue == word)
            dut.clock.step()
          }
        }

        // What is there after reset means nothing.
        for (cluster <- 0 until p.clusters) mark(cluster, 0, p.slots - 1)
        assert(bits.forall(_.forall(_ == all)))
        for (_ <- 1 to 120) {
          if (random.nextBoolean()) {
            val (first, last) = range(random)
            mark(random.nextInt(clusters), first, last)
          } else unit(1 + random.nextInt(12))
          if (random.nextBoolean()) idle(4)
        }
        // All of it.
        for (cluster <- 0 until p.clusters; word <- 0 until p.words) {
          dut.io.read.bits.cluster.poke(cluster)
          dut.io.read.bits.word.poke(word)
          dut.io.read.valid.poke(true)
          dut.clock.step()
          dut.io.read.valid.poke(false)
          dut.clock.step(2)
          assert(dut.io.word.peek().litValue == bits(cluster)(word), s"word $word of cluster $cluster")
        }
      }
    }

  it("has no memory without advisory mode, and no slot is ever hinted") {
    simulate(new HintedSlots(p.copy(advisory = false))) { dut =>
      dut.io.mark.valid.poke(false)
      dut.io.read.valid.poke(false)
      dut.io.write.valid.poke(true)
      dut.io.newWord.poke(all.U)
      dut.clock.step()
      dut.io.write.valid.poke(false)
      dut.io.read.valid.poke(true)
      dut.clock.step(3)
      dut.io.word.expect(0)
    }
  }
}
