// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random
import hwswap.bus.{Axi, Axi4, AxiMemory, AxiMerge, AxiSignals}

/** A core with its clusters in DRAM, on one AXI4 port. */
class DramCoreUnderTest(implicit p: Params) extends Module {
  private val core = Module(new DramCore(p.dram.get))
  private val merge = Module(new AxiMerge(core.memory.axi.map(_ => 0)))
  val io = IO(new CoreIO)
  val axi = IO(new Axi4)
  val base = IO(Input(UInt(Axi.AddrBits.W)))
  val flush = IO(Input(Bool()))
  val idle, error, held = IO(Output(Bool()))
  io <> core.io
  for ((port, own) <- merge.io.masters.zip(core.memory.axi)) port <> own
  axi <> merge.io.axi
  core.memory.base := base
  core.memory.flush := flush
  idle := core.memory.idle
  error := core.memory.error
  held := core.memory.events.held
}

/** A core with its clusters in DRAM answers as one that has them on chip, whatever memory does. */
class DramCoreSpec extends AnyFunSpec with CoreTest with Seeded {
  private val onChip = Params(devices = 3, cpus = 2, clusters = 128)
  private val inDram = onChip.copy(dram = Some(DramStore(bitmapLines = 8, recordLines = 8, ways = 2)))
  private val base = 0x87654321000L
  private val slots = onChip.slots
  private val trunks = HintPolicyCode.RandomTrunk

  /** A request, as what is to be called. */
  private type Request = CoreDriver => Answer

  /** Requests that bring devices on, fill them, free here and there, check; drawn once, so that they depend on nothing
    * that a core answers: a free may be refused.
    */
  private def requests(random: Random, count: Int): Seq[Request] = {
    val on: Seq[Request] = Seq(
      _.prepare(0, 60 * slots - 100, 0, flags = CoreDriver.Ssd),
      _.prepare(1, 40 * slots, 60, flags = CoreDriver.Discarding),
      _.prepare(2, 20 * slots, 104, flags = CoreDriver.Rotating),
      _.markBad(0, 700, 5),
      _.swapon(0),
      _.swapon(1),
      _.swapon(2)
    )
    val work = Seq.fill(count) {
      val device = random.nextInt(3)
      val size = Seq(60, 40, 20)(device)
      val (cpu, order) = (random.nextInt(2), if (random.nextInt(3) == 0) 9 else random.nextInt(10))
      val request: Request = random.nextInt(20) match {
        case n if n < 12 => _.alloc(cpu, order)
        case n if n < 18 =>
          // All of a cluster, or a part of it.
          val part = 1 << random.nextInt(10)
          val offset = random.nextInt(size) * slots + random.nextInt(slots / part) * part
          _.free(device, offset, part)
        case 18 => _.discardTake(1)
        case _ =>
          val offset = random.nextInt(40) * slots
          _.discardDone(1, offset)
      }
      request
    }
    val off: Seq[Request] = Seq(_.swapoffBegin(0), _.check(0), _.swapoff(0), _.prepare(0, 7 * slots, 30), _.swapon(0))
    val end: Seq[Request] = Seq(_.check(0), _.check(1), _.check(2))
    on ++ work ++ end ++ off ++ work.take(count / 4) ++ end
  }

  private def bench(p: Params, eager: Int)(body: (CoreDriver, DramCoreUnderTest, AxiMemory) => Unit): Unit =
    simulate(new DramCoreUnderTest()(p)) { dut =>
      dut.io.req.valid.poke(false)
      dut.io.resp.ready.poke(false)
      dut.io.clear.poke(false)
      dut.flush.poke(false)
      dut.base.poke(base)
      val memory = new AxiMemory(AxiSignals(dut.axi), seeded(), eager)
      memory.after()
      val core = new CoreDriver(
        dut.io,
        cycles =>
          for (_ <- 0 until cycles) {
            // Lets inputs settle before the edge: the clock gate looks at them in the clock's low half.
            dut.held.peek()
            memory.before()
            dut.clock.step()
            memory.after()
          },
        p
      )
      core.policy()
      body(core, dut, memory)
    }

  /** What counts of an answer. */
  private def said(answer: Answer): Seq[Int] = Seq(answer.status, answer.device, answer.offset)

  it("gives the same answers as with the clusters on chip") {
    val asked = requests(seeded(), 1200)
    val expected = mutable.ArrayBuffer.empty[Answer]
    withCore(onChip) { core =>
      for (request <- asked) expected += request(core)
      core.sound(0, 1, 2)
    }
    assert(expected.count(_.status == StatusCode.Ok) > asked.size / 3)
    for (eager <- Seq(100, 30))
      bench(inDram, eager) { (core, _, memory) =>
        for ((request, i) <- asked.zipWithIndex)
          assert(said(request(core)) == said(expected(i)), s"request $i, memory ready $eager % of the time")
        core.sound(0, 1, 2)
        assert(memory.bursts.exists(_._1) && memory.bursts.exists(!_._1))
        val bytes = onChip.clusters * 80L
        assert(memory.bursts.forall(b => b._2 >= base && b._2 + 8 * b._3 <= base + bytes), "outside of its region")
      }
  }

  it("is cleared while something is missing, and comes back") {
    val random = seeded()
    bench(inDram, 40) { (core, dut, memory) =>
      def step(): Unit = {
        memory.before()
        dut.clock.step()
        memory.after()
      }
      for (round <- 1 to 6) {
        core.on(0, 60 * slots, 0)
        for (_ <- 0 until 30) core.ok(core.alloc(0, 9))
        dut.io.req.bits.op.poke(CoreOp.free)
        dut.io.req.bits.offset.poke(2 * slots)
        dut.io.req.bits.nr.poke(4)
        dut.io.req.valid.poke(true)
        while (!bit(dut.io.req.ready)) step()
        step()
        dut.io.req.valid.poke(false)
        for (_ <- 0 until random.nextInt(12)) step()
        // What CONTROL.RESET does.
        dut.flush.poke(true)
        while (!bit(dut.idle)) step()
        assert(memory.quiet, s"round $round: idle, but something is under way")
        core.clear()
        dut.flush.poke(false)
        dut.io.resp.valid.expect(false)
        assert(core.used(0) == 0)
      }
    }
  }

  it("draws random trunks from a seed that comes while it is held") {
    val seed = 0x5eed5eedL
    // Whole clusters: each allocation leaves a random trunk as its CPU's hint.
    def draws(core: CoreDriver, count: Int): Seq[Int] = Seq.fill(count)(core.place(core.alloc(0, 9))._2)
    val expected = mutable.ArrayBuffer.empty[Int]
    withCore(onChip) { core =>
      core.on(0, 128 * slots, 0)
      core.policy(hint = trunks, seed = Some(1))
      expected ++= draws(core, 3)
      core.policy(hint = trunks, seed = Some(seed))
      expected ++= draws(core, 12)
    }
    bench(inDram, 40) { (core, dut, memory) =>
      def step(): Unit = {
        dut.held.peek()
        memory.before()
        dut.clock.step()
        memory.after()
      }
      core.on(0, 128 * slots, 0)
      core.policy(hint = trunks, seed = Some(1))
      assert(draws(core, 3) == expected.take(3))
      // CHECK reads the records of all clusters, most of which are not in the caches.
      dut.io.req.bits.op.poke(CoreOp.check)
      dut.io.req.bits.device.poke(0)
      dut.io.req.valid.poke(true)
      while (!bit(dut.io.req.ready)) step()
      step()
      dut.io.req.valid.poke(false)
      while (!bit(dut.held)) step()
      dut.io.policy.seed.poke(seed)
      dut.io.policy.reseed.poke(true)
      step()
      dut.io.policy.reseed.poke(false)
      dut.io.resp.ready.poke(true)
      while (!bit(dut.io.resp.valid)) step()
      step()
      dut.io.resp.ready.poke(false)
      assert(draws(core, 12) == expected.drop(3))
    }
  }

  it("stays held after an error of memory, until it is cleared") {
    bench(inDram, 100) { (core, dut, memory) =>
      core.on(0, 60 * slots, 0)
      memory.bad = _ => true
      dut.io.req.bits.op.poke(CoreOp.check)
      dut.io.req.bits.device.poke(0)
      dut.io.req.valid.poke(true)
      var errors = 0
      for (_ <- 0 until 200) {
        errors += dut.error.peek().litValue.toInt
        memory.before()
        dut.clock.step()
        memory.after()
      }
      assert(errors > 0)
      dut.held.expect(true)
      dut.io.req.valid.poke(false)
      memory.bad = _ => false
      core.clear()
      core.on(0, 60 * slots, 0)
      core.sound(0)
    }
  }

  it("refuses what DRAM has no place for") {
    assertThrows[IllegalArgumentException](inDram.copy(clusters = 1 << 21))
    assertThrows[IllegalArgumentException](onChip.copy(clusters = 1 << 20))
    assertThrows[IllegalArgumentException](DramStore(bitmapLines = 100))
    assertThrows[IllegalArgumentException](DramStore(ways = 3))
  }
}
