// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** The reader against a memory whose content is known: what it reads, in which order and when, and what it makes of it.
  */
class ClusterReaderSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private val wordBase = 0x4000_0040L
  private val chunkBase = 0x2000_0000L

  /** Chunks need not follow each other. */
  private val chunkApart = 0x40_0000L

  /** What is known of a cluster: order, list, epoch, orders with a run. */
  private case class Known(order: Int = 0, list: Int = 0, epoch: Int = 0, run: Int = 0)

  /** What is to be known of a cluster with this word and bitmap. */
  private def known(word: Long, used: BigInt): Known = {
    val (order, list, epoch) = ((word & 15).toInt, (word >> 4 & 7).toInt, (word >> 8 & 255).toInt)
    if (order > 9 || list > FlagCode.Discard) Known(epoch = epoch)
    else if (list == FlagCode.Free) Known(order, list, epoch, 10)
    else if (listed(word)) Known(order, list, epoch, Bitmaps.largest(used) + 1)
    else Known(order, list, epoch)
  }

  /** Its bitmap is read. */
  private def listed(word: Long): Boolean =
    (word & 15) <= 9 && Set(FlagCode.Nonfull.toLong, FlagCode.Frag.toLong).contains(word >> 4 & 7)

  private class Bench(dut: ClusterReader, p: Params, random: Random, eager: Int = 100) {
    val memory = new BurstMemory(dut.io.memory, random, eager)
    val word: Array[Long] = Array.fill(p.clusters)(0L)
    val used: Array[BigInt] = Array.fill(p.clusters)(BigInt(0))

    /** What the round and what was asked for have given to the index: cluster, and what it is. */
    val reads, answers = mutable.ArrayBuffer.empty[(Int, Known)]

    /** Bursts that were asked for: address and words. */
    val bursts = mutable.ArrayBuffer.empty[(Long, Int)]
    var asked: Option[Int] = None
    var cycle = 0

    /** In which cycles rounds began and were finished, and asked clusters were answered. */
    val begins, rounds = mutable.ArrayBuffer.empty[Int]
    private var rested = true

    /** The index: what it has, how many cycles it takes for what it is reads, and how many more for what it is at work
      * on; in the last of these it says if that is new.
      */
    val index = mutable.Map.empty[Int, Known].withDefaultValue(Known())
    var indexTakes: () => Int = () => if (eager == 100) 3 else 1 + random.nextInt(20)
    private var work: Option[(Int, Boolean)] = None

    memory.onRead = (address, words) => {
      bursts += ((address, words))
      if (address < wordBase) assert(words == 8 && clusterAt(address) < p.clusters, f"$address%x is read")
      else assert(address + 8 * words <= wordBase + 4 * p.clusters, f"$address%x is read")
    }
    private val settings = dut.io.settings
    for (address <- Seq(settings.cpuLines, settings.engineLine, settings.rings)) address.poke(0)
    settings.grant.poke(false)
    settings.open.poke(false)
    settings.words.poke(wordBase)
    for ((chunk, i) <- settings.chunks.zipWithIndex) chunk.poke(chunkBase + chunkApart * i)
    dut.io.reading.ready.poke(false)
    dut.io.news.poke(false)
    dut.io.settled.poke(true)
    dut.io.again.valid.poke(false)
    rests()
    switch(on = false)
    restart(dut)
    memory.after()

    def clusterAt(bitmap: Long): Int =
      ((bitmap - chunkBase) / chunkApart * 32768 + (bitmap - chunkBase) % chunkApart / 64).toInt
    def rests(pause: Int = 0, pace: Int = 0): Unit = {
      settings.pause.poke(pause)
      settings.pace.poke(pace)
    }
    def switch(on: Boolean): Unit = settings.read.poke(on)

    def store(cluster: Int, newWord: Long, newUsed: BigInt): Unit = {
      word(cluster) = newWord
      used(cluster) = newUsed
      val at = wordBase + 4L * (cluster & ~1)
      memory.words(at) = BigInt(word(cluster & ~1)) | BigInt(word(cluster | 1)) << 32
      for ((bits, i) <- Bitmaps.words(newUsed).zipWithIndex)
        memory.words(chunkBase + chunkApart * (cluster / 32768) + 64L * (cluster % 32768) + 8 * i) = bits
    }

    /** Any list and order, those that there are not included, and in bits nobody looks at anything. */
    def change(cluster: Int): Unit = {
      val lists = Seq(FlagCode.Nonfull, FlagCode.Frag, random.nextInt(8))
      val order = if (random.nextInt(8) == 0) random.nextInt(16) else random.nextInt(10)
      val rest = random.nextInt() & 0xffffff80L
      store(cluster, rest | lists(random.nextInt(3)) << 4 | order, Bitmaps.bitmap(random))
    }
    def now(cluster: Int): (Int, Known) = (cluster, known(word(cluster), used(cluster)))

    def step(): Unit = {
      val readies = work.isEmpty && random.nextInt(100) < eager
      dut.io.reading.ready.poke(readies)
      dut.io.news.poke(work.exists { case (left, news) => left == 1 && news })
      dut.io.again.valid.poke(asked.nonEmpty)
      for (cluster <- asked) dut.io.again.bits.poke(cluster)
      val gives = bit(dut.io.reading.valid)
      dut.io.settled.poke(work.isEmpty && !gives)
      if (rested && !bit(dut.io.idle) && begins.length == rounds.length) begins += cycle - 1
      rested = bit(dut.io.idle)
      if (bit(dut.io.round)) rounds += cycle
      work = work.flatMap { case (left, news) => Option.when(left > 1)((left - 1, news)) }
      if (gives && readies) {
        val (bits, summary) = (dut.io.reading.bits, dut.io.reading.bits.summary)
        val found = (
          int(bits.cluster),
          Known(int(summary.word.order), int(summary.word.list), int(summary.word.epoch), int(summary.run))
        )
        work = Some((indexTakes(), index(found._1) != found._2)).filter(_._1 > 0)
        index(found._1) = found._2
        if (bit(dut.io.again.ready)) {
          assert(asked.contains(found._1))
          answers += found
          asked = None
        } else reads += found
      } else dut.io.again.ready.expect(false)
      memory.before()
      dut.clock.step()
      memory.after()
      cycle += 1
    }

    /** A round, of which the reader rests afterwards. */
    def round(each: () => Unit = () => ()): Unit = {
      reads.clear()
      bursts.clear()
      switch(on = true)
      val target = rounds.length + 1
      waitFor("the end of a round", 40000 + 100 * p.clusters)(rounds.length == target) {
        each()
        step()
      }
      switch(on = false)
      assert(bit(dut.io.idle))
    }

    /** Cycles until a cluster was read again. */
    def ask(cluster: Int): Int = {
      asked = Some(cluster)
      waitFor("an answer", 2000)(asked.isEmpty)(step())
    }
    def steps(count: Int): Unit = for (_ <- 0 until count) step()
  }

  for (clusters <- Seq(8, 16, 64))
    it(s"reads $clusters clusters in turn, and of each what there is need of") {
      val random = seeded()
      val p = Params(clusters = clusters)
      simulate(new ClusterReader()(p)) { dut =>
        for (eager <- Seq(100, 30)) {
          val bench = new Bench(dut, p, random, eager)
          import bench._
          for (cluster <- 0 until clusters) change(cluster)
          for (_ <- 0 until 6) {
            rests(random.nextInt(3), random.nextInt(3))
            round()
            assert(reads == (0 until clusters).map(now))
            val expected = (0 until clusters).flatMap { c =>
              val words = Option.when(c % 16 == 0)((wordBase + 4L * c, 8.min(clusters / 2)))
              words ++ Option.when(listed(word(c)))((chunkBase + 64L * c, 8))
            }
            assert(bursts == expected)
            for (_ <- 0 until random.nextInt(8)) change(random.nextInt(clusters))
          }
        }
      }
    }

  it("takes a word of a list or order that there is not for none, and knows runs by the list alone") {
    val p = Params(clusters = 8)
    simulate(new ClusterReader()(p)) { dut =>
      val bench = new Bench(dut, p, seeded())
      import bench._
      val expected = Seq(
        0xa5_3aL -> Known(0, 0, 0xa5, 0),
        0xa5_64L -> Known(0, 0, 0xa5, 0),
        0xa5_b9L -> Known(9, FlagCode.Frag, 0xa5, 9),
        0xffff_a5_24L -> Known(4, FlagCode.Nonfull, 0xa5, 9),
        0x01_10L -> Known(0, FlagCode.Free, 1, 10),
        0x01_47L -> Known(7, FlagCode.Full, 1, 0),
        0x01_50L -> Known(0, FlagCode.Discard, 1, 0),
        0x00_00L -> Known()
      )
      for (((word, _), cluster) <- expected.zipWithIndex) store(cluster, word, 1)
      round()
      assert(reads == expected.indices.map(i => (i, expected(i)._2)))
    }
  }

  it("rests for PACE after each burst of a round, and answers meanwhile") {
    val random = seeded()
    val p = Params(clusters = 64)
    simulate(new ClusterReader()(p)) { dut =>
      val bench = new Bench(dut, p, random)
      import bench._
      indexTakes = () => 0
      for (cluster <- 0 until 64) change(cluster)
      def cycles(pace: Int): Int = {
        rests(pace = pace)
        round()
        rounds.last - begins.last
      }
      val flat = cycles(0)
      for (pace <- Seq(1, 2, 9, 300)) assert(cycles(pace) == flat + pace * bursts.length)
      // A read that the builder asks for takes its own cycles and adds no rest.
      val whole = rounds.last - begins.last
      round(() => if (cycle % 700 == 0) assert(ask(random.nextInt(64)) < 60))
      assert(answers.length > 10 && rounds.last - begins.last < whole + 60 * answers.length)
    }
  }

  it("rests for PAUSE after a round that found nothing new alone") {
    val p = Params(clusters = 16)
    simulate(new ClusterReader()(p)) { dut =>
      val random = seeded()
      val bench = new Bench(dut, p, random)
      import bench._
      val pause = 50
      rests(pause = pause)
      // Cluster, word and bitmap that are stored before a round, and whether that is new to the index.
      val changes = Seq(
        (0, 0, BigInt(0), false),
        (3, 0x01_30, Bitmaps.All, true),
        (3, 0x01_30, Bitmaps.All, false),
        (3, 0x01_30, BigInt(1), true),
        (3, 0x01_30, BigInt(2), false),
        (8, 0, BigInt(1), false),
        (15, 0x02_10, BigInt(0), true),
        (15, 0x03_10, BigInt(0), true),
        (15, 0x03_10, BigInt(0), false)
      )
      switch(on = true)
      var before = true
      for ((cluster, word, used, news) <- changes) {
        store(cluster, word, used)
        val count = rounds.length
        waitFor("a round", 1000)(begins.length > count)(step())
        for (end <- rounds.lastOption) assert(begins.last == end + 1 + (if (before) 0 else pause))
        // A read that the builder asks for is no news to the round.
        if (!news) {
          store(7, 0x30, Bitmaps.bitmap(random))
          ask(7)
        }
        waitFor("its end", 1000)(rounds.length > count)(step())
        before = news
      }
    }
  }

  it("mends with the next round what was old or torn") {
    val random = seeded()
    val p = Params(clusters = 16)
    simulate(new ClusterReader()(p)) { dut =>
      for (eager <- Seq(100, 30)) {
        val bench = new Bench(dut, p, random, eager)
        import bench._
        var stale = 0
        for (_ <- 0 until 10) {
          round { () =>
            if (random.nextInt(20) == 0) change(random.nextInt(16))
            if (asked.isEmpty && random.nextInt(50) == 0) asked = Some(random.nextInt(16))
          }
          if (asked.nonEmpty) waitFor("an answer", 1000)(asked.isEmpty)(step())
          stale += (0 until 16).count(c => index(c) != now(c)._2)
          round()
          assert((0 until 16).forall(c => index(c) == now(c)._2))
        }
        assert(stale > 0)
      }
    }
  }

  it("reads what is asked for before the round goes on, which loses nothing by it") {
    val random = seeded()
    val p = Params(clusters = 64)
    simulate(new ClusterReader()(p)) { dut =>
      for (eager <- Seq(100, 30)) {
        val bench = new Bench(dut, p, random, eager)
        import bench._
        for (_ <- 0 until 4) {
          for (cluster <- 0 until 64) change(cluster)
          rests(random.nextInt(40), random.nextInt(40))
          answers.clear()
          round { () =>
            val most = if (eager == 100) 60 else 1500
            if (random.nextInt(20) == 0) assert(ask(random.nextInt(64)) < most)
          }
          assert(reads == (0 until 64).map(now))
          assert(answers.nonEmpty && answers.forall { case (c, found) => now(c) == ((c, found)) })
        }
      }
    }
  }

  it("reads the word anew of what is asked for, which its turn in the round has then, too") {
    val random = seeded()
    val p = Params(clusters = 64)
    simulate(new ClusterReader()(p)) { dut =>
      val bench = new Bench(dut, p, random)
      import bench._
      for (_ <- 0 until 20) {
        for (cluster <- 0 until 64) change(cluster)
        // The words of the first block are there.
        var waits = true
        round { () =>
          if (waits && reads.nonEmpty) {
            waits = false
            for (cluster <- Seq(1 + random.nextInt(15), 16 + random.nextInt(48), 1 + random.nextInt(15))) {
              change(cluster)
              ask(cluster)
              assert(answers.last == now(cluster))
            }
          }
        }
        assert(reads == (0 until 64).map(now))
      }
    }
  }

  it("ends a round without READ, and answers all the same") {
    val random = seeded()
    val p = Params(clusters = 64)
    simulate(new ClusterReader()(p)) { dut =>
      val bench = new Bench(dut, p, random)
      import bench._
      rests(pause = 1000, pace = 1000)
      for (cluster <- 0 until 64) change(cluster)
      for (_ <- 0 until 20) {
        switch(on = true)
        steps(1100 + random.nextInt(3000))
        switch(on = false)
        waitFor("rest", 60)(bit(dut.io.idle))(step())
        assert(rounds.isEmpty)
      }
      rests()
      round()
      assert(reads == (0 until 64).map(now))
      round()
      bursts.clear()
      for (_ <- 0 until 20) {
        val cluster = random.nextInt(64)
        change(cluster)
        assert(ask(cluster) < 60)
        assert(answers.last == now(cluster))
        steps(random.nextInt(6))
      }
      assert(rounds.length == 2 && reads.length == 64)
    }
  }

  it("finds bitmaps in all chunks") {
    val random = seeded()
    val p = Params(clusters = 131072, grants = true, core = false)
    simulate(new ClusterReader()(p)) { dut =>
      val bench = new Bench(dut, p, random)
      import bench._
      for (cluster <- Seq(0, 32767, 32768, 131071) ++ Seq.fill(60)(random.nextInt(131072))) {
        change(cluster)
        ask(cluster)
        assert(answers.last == now(cluster))
      }
    }
  }
}
