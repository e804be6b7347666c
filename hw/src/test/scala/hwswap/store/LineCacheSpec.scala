// SPDX-License-Identifier: Apache-2.0
package hwswap
package store

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import chisel3.util._
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random
import hwswap.bus.{Axi4, AxiMemory, AxiMerge, AxiSignals}

/** Several caches with one user, on one AXI4 port. */
class CachesUnderTest(shapes: Seq[CacheShape], offsets: Seq[Int]) extends Module {
  val fields = IO(MixedVec(shapes.flatMap(shape => shape.fields.map(new CacheFieldPort(shape, _)))))
  val axi = IO(new Axi4)
  val run = IO(Output(Bool()))
  val flush = IO(Input(Bool()))
  val idle = IO(Output(Bool()))
  val error = IO(Output(Bool()))
  val rounds, misses = IO(Output(UInt(2.W)))

  private val caches = shapes.map(shape => Module(new LineCache(shape)))
  private val masters = shapes.zip(offsets).map { case (shape, offset) => Module(new CacheMaster(shape, offset)) }
  private val merge = Module(new AxiMerge(shapes.map(_ => 0)))
  run := !caches.map(_.io.hold).reduce(_ || _)
  for (((cache, master), port) <- caches.zip(masters).zip(merge.io.masters)) {
    cache.io.run := run
    cache.io.flush := flush
    cache.io.memory <> master.io.memory
    master.io.base := CachesUnderTest.Base.U
    port <> master.io.axi
  }
  for ((outer, inner) <- fields.zip(caches.flatMap(_.io.fields))) inner <> outer
  axi <> merge.io.axi
  idle := caches.map(_.io.idle).reduce(_ && _)
  error := masters.map(_.io.error).reduce(_ || _)
  rounds := PopCount(caches.map(_.io.events.round))
  misses := PopCount(caches.map(_.io.events.miss))
}

object CachesUnderTest {
  val Base: Long = 0x123456000L
}

/** The caches against plain arrays: random accesses on all ports at once, with memory that keeps them waiting. */
class LineCacheSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {

  /** Items are few for the cache's size, so that lines come, go and come back. */
  private def rows(lines: Int, ways: Int) =
    CacheShape("row", Seq(CacheField("slots", 0, 512, 16)), 64, 8, 1, lines, ways)
  private def records(lines: Int, ways: Int) = CacheShape(
    "record",
    Seq(CacheField("meta", 0, 21), CacheField("next", 64, 20), CacheField("prev", 96, 20)),
    128,
    2,
    4,
    lines,
    ways
  )

  private class Bench(dut: CachesUnderTest, shapes: Seq[CacheShape], random: Random, eager: Int) {
    val memory = new AxiMemory(AxiSignals(dut.axi), random, eager)
    private val kinds = shapes.flatMap(shape => shape.fields.map(shape -> _))

    /** What each field of each item holds. What was never written is not looked at. */
    private val model = kinds.map(_ => mutable.Map.empty[Int, BigInt])
    private val expected = mutable.Map.empty[Int, BigInt]
    var held = 0
    var rounds = 0
    dut.flush.poke(false)
    memory.after()

    def step(): Unit = {
      rounds += dut.rounds.peek().litValue.toInt
      memory.before()
      dut.clock.step()
      memory.after()
    }

    /** An item near the one before, or anywhere. */
    private var near = 0
    private def pick(items: Int): Int = {
      if (random.nextInt(4) == 0) near = random.nextInt(1 << 30)
      (near + random.nextInt(3)) % items
    }

    /** One cycle in which the user works on, and those before it in which it is held. */
    def cycle(busy: Int): Unit = {
      var waited = 0
      while (!bit(dut.run)) {
        // Whatever the user shows while it is held means nothing.
        for (port <- dut.fields) {
          port.read.valid.poke(random.nextBoolean())
          port.write.valid.poke(random.nextBoolean())
        }
        held += 1
        waited += 1
        assert(waited < 5000, "the cache holds its user for ever")
        step()
      }
      for ((i, value) <- expected) assert(dut.fields(i).data.peek().litValue == value, s"field ${kinds(i)._2.name}")
      expected.clear()
      for (((port, (shape, field)), i) <- dut.fields.zip(kinds).zipWithIndex) {
        val (reads, writes) = (random.nextInt(100) < busy, random.nextInt(100) < busy)
        val (from, to) = (pick(shape.items), pick(shape.items))
        port.read.valid.poke(reads)
        port.read.bits.poke(from)
        if (reads) for (value <- model(i).get(from)) expected(i) = value
        val fits = writes && !(reads && from == to)
        port.write.valid.poke(fits)
        port.write.bits.poke(to)
        if (fits) {
          val data = BigInt(field.width, random)
          val all = (1 << field.enables) - 1
          // The first write of an item is whole.
          val enable = if (!model(i).contains(to) || random.nextInt(3) == 0) all else random.nextInt(all + 1)
          port.newData.poke(data.U)
          port.enable.poke(enable)
          val part = field.width / field.enables
          val mask = (0 until field.enables)
            .filter(k => (enable >> k & 1) == 1)
            .map(k => ((BigInt(1) << part) - 1) << (k * part))
            .foldLeft(BigInt(0))(_ | _)
          model(i)(to) = (model(i).getOrElse(to, BigInt(0)) &~ mask) | (data & mask)
        }
      }
      step()
    }

    /** Memory holds what the lines that went there held. */
    def rest(): Unit = {
      for (port <- dut.fields) {
        port.read.valid.poke(false)
        port.write.valid.poke(false)
      }
      dut.flush.poke(true)
      var waited = 0
      while (!bit(dut.idle)) {
        waited += 1
        assert(waited < 5000, "the cache does not come to rest")
        step()
      }
      dut.run.expect(false)
      assert(memory.quiet)
      dut.flush.poke(false)
    }
  }

  private def check(shapes: Seq[CacheShape], offsets: Seq[Int], cycles: Int): Unit = {
    val random = seeded()
    simulate(new CachesUnderTest(shapes, offsets)) { dut =>
      val bench = new Bench(dut, shapes, random, 100)
      for (busy <- Seq(10, 50, 100)) for (_ <- 0 until cycles) bench.cycle(busy)
      bench.rest()
      for (_ <- 0 until cycles) bench.cycle(30)
      assert(bench.held > cycles / 10, "nothing was missing")
      info(s"held for ${bench.held} of ${4 * cycles + bench.held} cycles, ${bench.rounds} rounds")
    }
  }

  it("rows: reads what was written, through write-backs") {
    check(Seq(rows(8, 2)), Seq(0), 500)
  }
  it("records: six ports, four items a line, direct mapped") {
    check(Seq(records(4, 1)), Seq(0), 500)
  }
  it("both, four ways, on one port; memory withholds what it can") {
    val random = seeded()
    val shapes = Seq(rows(16, 4), records(16, 4))
    simulate(new CachesUnderTest(shapes, Seq(0, 64 * 64))) { dut =>
      for (eager <- Seq(60, 20)) {
        val bench = new Bench(dut, shapes, random, eager)
        dut.reset.poke(true)
        bench.step()
        dut.reset.poke(false)
        for (_ <- 0 until 400) bench.cycle(40)
        bench.rest()
        val addresses = bench.memory.bursts.map(_._2 - CachesUnderTest.Base)
        assert(addresses.forall(a => a >= 0 && a < 64 * 64 + 128 * 16 && a % 64 == 0))
        assert(bench.memory.bursts.forall(_._3 == 8))
      }
    }
  }
  it("asks at once for all that is missing") {
    val random = seeded()
    val shapes = Seq(records(16, 4))
    simulate(new CachesUnderTest(shapes, Seq(0))) { dut =>
      val bench = new Bench(dut, shapes, random, 100)
      while (!bit(dut.run)) bench.step()
      // Three readers, three lines.
      for ((port, i) <- dut.fields.zipWithIndex) {
        port.read.valid.poke(true)
        port.read.bits.poke(4 * i)
        port.write.valid.poke(false)
      }
      bench.step()
      while (!bit(dut.run)) bench.step()
      assert(bench.rounds == 1)
      assert(bench.memory.bursts.map(_._2 - CachesUnderTest.Base) == Seq(0, 64, 128))
    }
  }
  it("tells an error of memory") {
    val random = seeded()
    val shapes = Seq(rows(8, 2))
    simulate(new CachesUnderTest(shapes, Seq(0))) { dut =>
      val bench = new Bench(dut, shapes, random, 100)
      bench.memory.bad = _ => true
      while (!bit(dut.run)) bench.step()
      dut.fields.head.read.valid.poke(true)
      dut.fields.head.read.bits.poke(3)
      dut.fields.head.write.valid.poke(false)
      var errors = 0
      for (_ <- 0 until 60) {
        errors += dut.error.peek().litValue.toInt
        bench.step()
        dut.fields.head.read.valid.poke(false)
      }
      assert(errors == 8)
    }
  }
  it("refuses sizes that make no cache") {
    for ((lines, ways) <- Seq((6, 2), (8, 3), (2, 4), (64, 1)))
      assertThrows[IllegalArgumentException](rows(lines, ways))
  }
}
