// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** The DMA for swap tables against a memory with random waiting and latency: every length and end, errors at every
  * place, transfers after each other, flushes, and how near it comes to one beat per cycle.
  */
class TableDmaSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded with Cases[Dma[UInt]] {
  private val bursts = 8
  private val readerBits = 2
  private def gen = UInt(readerBits.W)

  /** Takes the words read with a chance of `taking` percent per cycle. */
  private class Bench(dut: Dma[UInt], random: Random, eager: Int, latency: Int = 0, taking: Int = 100) {
    val memory = new AxiMemory(dut.io.axi, random, eager, latency)
    var cycle = 0L
    private val read = dut.io.port.read
    private val write = dut.io.port.write
    dut.io.flush.poke(false)
    read.drop.poke(false)
    for (valid <- Seq(read.req.valid, write.req.valid, write.data.valid)) valid.poke(false)
    read.data.ready.poke(false)
    // Signals that another memory left on the bus are not this one's.
    restart(dut)
    memory.after()

    /** Words as they come: (word, error, last). */
    val came = mutable.ArrayBuffer.empty[(Long, Boolean, Boolean)]
    private val toAsk = mutable.Queue.empty[(Long, Int)]
    private val toWrite = mutable.Queue.empty[Long]
    private var writing = Option.empty[(Long, Int)]
    private var written = Option.empty[(Boolean, Int)]

    /** One cycle, of reads and writes alike. */
    def step(): Unit = {
      read.req.valid.poke(toAsk.nonEmpty)
      for ((address, words) <- toAsk.headOption) {
        read.req.bits.reader.poke(random.nextInt(1 << readerBits))
        read.req.bits.address.poke(address / 8)
        read.req.bits.words.poke(words)
      }
      write.req.valid.poke(writing.nonEmpty)
      for ((address, words) <- writing) {
        write.req.bits.address.poke(address / 8)
        write.req.bits.words.poke(words)
      }
      read.data.ready.poke(random.nextInt(100) < taking)
      val offer = toWrite.nonEmpty && random.nextInt(100) < eager
      write.data.valid.poke(offer)
      if (offer) {
        write.data.bits.word.poke(AxiMemory.unsigned(toWrite.head).U)
        write.data.bits.keep.poke(true)
      }
      val asked = toAsk.nonEmpty && bit(read.req.ready)
      val started = writing.nonEmpty && bit(write.req.ready)
      val gave = offer && bit(write.data.ready)
      if (bit(read.data.valid) && bit(read.data.ready))
        came += ((read.data.bits.word.peek().litValue.toLong, bit(read.data.bits.error), bit(read.data.bits.last)))
      if (bit(write.done.valid))
        written = Some((bit(write.done.bits.error), write.done.bits.goodWords.peek().litValue.toInt))
      memory.step(dut.clock)
      cycle += 1
      if (asked) toAsk.dequeue()
      if (started) writing = None
      if (gave) toWrite.dequeue()
    }

    def until(what: String)(condition: => Boolean): Unit = waitFor(what, 20000)(condition)(step())

    def ask(address: Long, words: Int): Unit = toAsk.enqueue((address, words))
    def start(address: Long, data: Seq[Long]): Unit = {
      writing = Some((address, data.length))
      toWrite ++= data
      written = None
    }

    /** The end of the write that was started. */
    def ended(): (Boolean, Int) = {
      until("the end of a write")(written.nonEmpty)
      toWrite.clear()
      written.get
    }

    /** Flushes; returns how a write ended meanwhile, if one did. */
    def flush(): Option[(Boolean, Int)] = {
      dut.io.flush.poke(true)
      toAsk.clear()
      toWrite.clear()
      writing = None
      until("idle after a flush")(bit(dut.io.idle))
      step()
      dut.io.flush.poke(false)
      came.clear()
      val end = written
      written = None
      end
    }
  }

  private def fill(bench: Bench, address: Long, data: Seq[Long]): Unit =
    for ((word, i) <- data.zipWithIndex) bench.memory(address + 8 * i) = word

  inTurn("moves every word of reads and writes at once, in bursts the bus allows") { dut =>
    val random = seeded()
    for ((eager, taking, latency) <- Seq((100, 100, 0), (70, 100, 20), (60, 30, 5), (20, 90, 0))) {
      val bench = new Bench(dut, random, eager, latency, taking)
      for (_ <- 0 until 12) {
        // Near a 4 KiB line, below or above it; the writes elsewhere than the reads.
        val reads = Seq.fill(1 + random.nextInt(4)) {
          val words = if (random.nextInt(4) == 0) 512 else 1 + random.nextInt(90)
          (0x10000L + 8192 * random.nextInt(8) - 8 * random.nextInt(90), Seq.fill(words)(random.nextLong()))
        }
        val data = Seq.fill(1 + random.nextInt(200))(random.nextLong())
        val target = 0x900000L + 8 * random.nextInt(1024)
        for ((address, words) <- reads) fill(bench, address, words)
        val expected = reads.flatMap { case (address, words) =>
          words.indices.map(i => (bench.memory(address + 8 * i), false, i == words.length - 1))
        }
        bench.came.clear()
        for ((address, words) <- reads) bench.ask(address, words.length)
        bench.start(target, data)
        assert(bench.ended() == ((false, data.length)))
        bench.until("the words")(bench.came.length == expected.length)
        assert(bench.came.toSeq == expected)
        assert(data.indices.forall(i => bench.memory(target + 8 * i) == data(i)))
        bench.until("rest")(bit(dut.io.idle))
      }
      // Bursts in the middle of a transfer are whole.
      val lengths = bench.memory.bursts.map(_._3)
      assert(lengths.count(_ == Axi.MaxBeats) > lengths.length / 3)
    }
  }

  inTurn("says which words are good after an error at any place, and goes on") { dut =>
    val random = seeded()
    for (_ <- 0 until 40) {
      val bench = new Bench(dut, random, 40 + random.nextInt(61), random.nextInt(12), 80)
      val words = 1 + random.nextInt(200)
      val address = 0x20000L + 8 * random.nextInt(600)
      val wrong = random.nextInt(words)
      val data = Seq.fill(words)(random.nextLong())
      fill(bench, address, data)
      bench.memory.bad = _ == address + 8 * wrong
      bench.ask(address, words)
      bench.until("the words")(bench.came.length == words)
      assert(bench.came.indexWhere(_._2) == wrong)
      assert(bench.came.take(wrong).map(_._1) == data.take(wrong))
      val (error, good) = {
        bench.start(address, data.map(~_))
        bench.ended()
      }
      // Good up to where the burst with the error starts.
      val index = address / 8
      val burst = ((index + wrong) / 16 * 16 - index).max(0)
      assert(error && good == burst, s"$words words, wrong at $wrong")
      assert((0 until good).forall(i => bench.memory(address + 8 * i) == ~data(i)))
      bench.memory.bad = _ => false
      bench.start(address, data)
      assert(bench.ended() == ((false, words)))
    }
  }

  inTurn("ends reads and writes on a flush, says which words are good, and harms no memory") { dut =>
    val random = seeded()
    var cut = 0
    for (_ <- 0 until 60) {
      val bench = new Bench(dut, random, 20 + random.nextInt(81), random.nextInt(30), 50)
      val old = Seq.fill(300)(random.nextLong())
      val data = Seq.fill(300)(random.nextLong())
      fill(bench, 0x3010, old)
      for (_ <- 0 until 3) bench.ask(0x7008, 1 + random.nextInt(512))
      bench.start(0x3010, data)
      for (_ <- 0 until random.nextInt(150)) bench.step()
      val end = bench.flush()
      assert(bench.memory.quiet)
      assert(old.indices.forall(i => Set(old(i), data(i))(bench.memory(0x3010 + 8 * i))))
      // A write whose rest was made up has not written all that was asked.
      for ((error, good) <- end) {
        assert(error || good == 300, s"$good words are good, and no error")
        assert((0 until good).forall(i => bench.memory(0x3010 + 8 * i) == data(i)))
        if (error) cut += 1
      }
      fill(bench, 0x7000, Seq(5L, 6L))
      bench.ask(0x7000, 2)
      bench.start(0x3010, data)
      assert(bench.ended() == ((false, 300)))
      assert(bench.came.map(_._1) == Seq(5L, 6L))
      assert(data.indices.forall(i => bench.memory(0x3010 + 8 * i) == data(i)))
    }
    assert(cut > 0, "no write was cut off")
  }

  inTurn("moves 512 words at 90 % of a beat a cycle and more, with a latency of 30 cycles") { dut =>
    val random = seeded()
    val latency = 30
    val bench = new Bench(dut, random, 100, latency)
    def cycles(body: => Unit): Long = {
      val start = bench.cycle
      body
      bench.cycle - start
    }
    val read = cycles {
      bench.ask(0x4000, 512)
      bench.until("the words")(bench.came.length == 512)
    }
    val tables = 8
    val many = cycles {
      for (i <- 0 until tables) bench.ask(0x4000 + 4096 * i, 512)
      bench.until("the words")(bench.came.length == 512 * (1 + tables))
    }
    val write = cycles {
      bench.start(0x4000, Seq.fill(512)(7L))
      bench.ended()
    }
    info(s"512 words: read in $read cycles, $tables tables in $many, written in $write")
    for ((words, took) <- Seq(512 -> read, 512 * tables -> many, 512 -> write))
      assert(words >= 0.9 * took, s"$words words in $took cycles")
  }

  it("moves words") {
    simulate(new Dma(gen, bursts))(tryAll)
  }
}
