// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** The scan against a memory that changes while it reads: what it clears, what it reads when, and that nothing is
  * lost.
  */
class MarkScannerSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private val groups = 0x1000L
  private val dirty = 0x2000L
  private val words = 0x4000L
  private val bitmaps = 0x200000L

  private class Bench(dut: MarkScanner, random: Random, var eager: Int) {
    val memory = new BurstMemory(dut.io.memory, random, eager)
    val found: mutable.Map[Int, (BigInt, Int)] = mutable.Map.empty
    val begun: mutable.ArrayBuffer[Int] = mutable.ArrayBuffer.empty
    var rounds = 0

    /** Stores of the kernel, in the order in which they become visible. */
    val stores: mutable.Queue[() => Unit] = mutable.Queue.empty
    private val settings = dut.io.settings
    settings.grant.poke(false)
    settings.open.poke(false)
    settings.pause.poke(random.nextInt(4))
    settings.groups.poke(groups)
    settings.dirty.poke(dirty)
    settings.words.poke(words)
    for (chunk <- settings.chunks) chunk.poke(bitmaps)
    for (address <- Seq(settings.cpuLines, settings.engineLine, settings.rings)) address.poke(0)
    settings.scan.poke(true)
    memory.after()

    def step(): Unit = {
      if (stores.nonEmpty && random.nextInt(100) < 30) stores.dequeue()()
      dut.io.scanned.ready.poke(random.nextInt(100) < eager)
      dut.io.settled.poke(random.nextInt(100) < eager)
      if (dut.io.scanned.valid.peek().litToBoolean && dut.io.scanned.ready.peek().litToBoolean) {
        val summary = dut.io.scanned.bits.summary
        val word = Seq((summary.word.order, 0), (summary.word.list, 4), (summary.word.epoch, 8))
        found(dut.io.scanned.bits.cluster.peek().litValue.toInt) =
          (word.map { case (u, at) => u.peek().litValue << at }.sum, summary.run.peek().litValue.toInt - 1)
      }
      if (dut.io.begins.valid.peek().litToBoolean) begun += dut.io.begins.bits.peek().litValue.toInt
      if (dut.io.round.peek().litToBoolean) rounds += 1
      memory.before()
      dut.clock.step()
      memory.after()
    }

    /** Changes a cluster as the kernel does: data, then the byte on top, then that on top of it. */
    def change(cluster: Int, used: BigInt, word: BigInt): Unit = {
      for (i <- 0 until 8)
        stores.enqueue(() => memory.store(bitmaps + 64L * cluster + 8 * i, 8, used >> (64 * i) & AllOnes))
      stores.enqueue(() => memory.store(words + 4L * cluster, 4, word))
      stores.enqueue(() => memory.store(dirty + cluster, 1, 1))
      stores.enqueue(() => memory.store(groups + cluster / 64, 1, 1))
    }

    def round(): Unit = {
      val target = rounds + 1
      waitFor("the end of a round", 100000)(rounds >= target)(step())
    }
  }
  private val AllOnes = (BigInt(1) << 64) - 1

  for (clusters <- Seq(64, 8192))
    it(s"misses no change in $clusters clusters") {
      val random = seeded()
      val p = Params(clusters = clusters)
      simulate(new MarkScanner()(p)) { dut =>
        val truth = mutable.Map.empty[Int, (BigInt, Int)]
        val bench = new Bench(dut, random, 100)
        val memory = bench.memory
        // What is written is 0, to a byte that is not 0.
        memory.onWrite = (address, value) => {
          assert(value == 0 && memory.bytes.getOrElse(address, 0) != 0, f"$address%x is cleared and was not set")
          assert(address >= groups && address < dirty + clusters)
        }
        val places = Seq.fill(20)(random.nextInt(clusters)) ++ Seq(0, clusters - 1)
        for (eager <- Seq(100, 40); _ <- 0 until 8) {
          bench.eager = eager
          memory.eager = eager
          for (_ <- 0 until 1 + random.nextInt(12)) {
            val cluster = places(random.nextInt(places.length))
            val used = Bitmaps.bitmap(random)
            val word = BigInt(random.nextInt(10) | random.nextInt(6) << 4 | random.nextInt(256) << 8)
            truth(cluster) = (word, Bitmaps.largest(used))
            bench.change(cluster, used, word)
          }
          while (bench.stores.nonEmpty) bench.step()
          bench.round()
          bench.round()
          assert(!memory.bytes.exists { case (address, b) => address < dirty + clusters && b != 0 }, "a mark is left")
          assert(bench.found == truth)
        }
      }
    }

  it("takes a word of a list or order that there is not for none") {
    val random = seeded()
    simulate(new MarkScanner()(Params(clusters = 64))) { dut =>
      val bench = new Bench(dut, random, 100)
      for ((word, expected) <- Seq((0xa5_3a, 0xa5_00), (0xa5_64, 0xa5_00), (0xa5_b9, 0xa5_39))) {
        bench.change(3, 0, word)
        while (bench.stores.nonEmpty) bench.step()
        bench.round()
        bench.round()
        assert(bench.found(3) == ((BigInt(expected), 9)))
      }
    }
  }

  it("leaves a byte that was set behind its read") {
    val random = seeded()
    simulate(new MarkScanner()(Params(clusters = 64))) { dut =>
      val bench = new Bench(dut, random, 100)
      val memory = bench.memory
      memory.store(dirty + 1, 1, 1)
      memory.store(groups, 1, 1)
      var reads = 0
      memory.onWrite = (address, _) =>
        if (address == dirty + 1) {
          memory.store(dirty + 2, 1, 1)
          memory.store(groups, 1, 1)
        }
      memory.onRead = (address, _) => if (address == dirty) reads += 1
      bench.round()
      assert(bench.begun == Seq(1) && memory.bytes(dirty + 2) == 1 && reads == 1)
      bench.round()
      assert(bench.begun == Seq(1, 2) && memory.bytes(dirty + 2) == 0)
    }
  }
}
