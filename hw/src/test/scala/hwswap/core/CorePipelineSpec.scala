// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import org.scalatest.Assertions
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** An allocation or a free, as it goes into the core. */
private sealed trait Step
private final case class Take(cpu: Int, order: Int) extends Step
private final case class Give(device: Int, offset: Int, nr: Int) extends Step

/** What came back: status, device and offset; and in which cycle. */
private final case class Outcome(status: Int, device: Int, offset: Int)

/** Keeps the core's input full, or nearly so. */
private class CoreStream(dut: Core) extends Peeks with Assertions {

  /** All steps in a row.
    *
    * @param gaps
    *   whether a request may be offered, and whether a response is taken, in a cycle
    * @return
    *   what came back, and the cycle of the response
    */
  def run(steps: Seq[Step], gaps: () => (Boolean, Boolean) = () => (true, true)): Seq[(Outcome, Int)] = {
    val results = mutable.ArrayBuffer.empty[(Outcome, Int)]
    var at, cycle, quiet = 0
    while (results.size < steps.size) {
      val (offers, takes) = gaps()
      val offering = offers && at < steps.size
      dut.io.req.valid.poke(offering)
      if (offering) show(steps(at))
      dut.io.resp.ready.poke(takes)
      val accepted = offering && bit(dut.io.req.ready)
      if (takes && bit(dut.io.resp.valid)) {
        val bits = dut.io.resp.bits
        def int(value: UInt): Int = value.peek().litValue.toInt
        results += ((Outcome(int(bits.status), int(bits.device), int(bits.offset)), cycle))
        quiet = 0
      }
      if (accepted) at += 1
      dut.clock.step()
      cycle += 1
      quiet += 1
      assert(quiet < 5000, s"no answer to step ${results.size}")
    }
    dut.io.req.valid.poke(false)
    dut.io.resp.ready.poke(false)
    results.toSeq
  }

  private def show(step: Step): Unit = {
    val bits = dut.io.req.bits
    step match {
      case Take(cpu, order) =>
        bits.op.poke(CoreOp.alloc)
        bits.cpu.poke(cpu)
        bits.order.poke(order)
      case Give(device, offset, nr) =>
        bits.op.poke(CoreOp.free)
        bits.device.poke(device)
        bits.offset.poke(offset)
        bits.nr.poke(nr)
    }
  }
}

/** The core with its input kept full: the same answers as one request at a time, and how many cycles each takes. */
class CorePipelineSpec extends AnyFunSpec with CoreTest with Seeded {
  private val Slots = 512
  private implicit val p: Params = Params(devices = 3, cpus = 3, clusters = 16)
  private val devices = Seq((0, 4 * Slots, 0, -1), (1, 5 * Slots, 4, 3), (2, 6 * Slots - 77, 9, -1))

  private def withStream(p: Params)(body: (CoreDriver, CoreStream) => Unit): Unit =
    simulate(new Core()(p)) { dut =>
      dut.io.req.valid.poke(false)
      dut.io.resp.ready.poke(false)
      dut.io.clear.poke(false)
      val core = new CoreDriver(dut.io, cycles => dut.clock.step(cycles), p)
      core.policy()
      body(core, new CoreStream(dut))
    }

  /** Random steps, chosen while they are done one at a time, and what came back. Some make no sense. */
  private def steps(core: CoreDriver, random: Random, count: Int): Seq[(Step, Outcome)] = {
    val held = mutable.ArrayBuffer.empty[(Int, Int, Int)]
    var favourite = Take(0, 0)

    /** What was held there is not any more; what is left of it is held slot by slot. */
    def drop(freed: Give): Unit = {
      val gone = (freed.offset until freed.offset + freed.nr).toSet
      val hit = held.filter(h => h._1 == freed.device && (h._2 until h._2 + h._3).exists(gone))
      held --= hit
      held ++= hit.flatMap { case (device, offset, nr) =>
        (offset until offset + nr).filterNot(gone).map((device, _, 1))
      }
    }
    (1 to count).map { step =>
      if (random.nextInt(6) == 0)
        favourite = Take(random.nextInt(p.cpus), if (random.nextBoolean()) 0 else random.nextInt(p.orders))
      val growing = step / 150 % 2 == 0
      random.nextInt(20) match {
        case 0 =>
          val nonsense = Give(random.nextInt(5), random.nextInt(4000), random.nextInt(600))
          val answer = core.free(nonsense.device, nonsense.offset, nonsense.nr)
          if (answer.status == StatusCode.Ok) drop(nonsense) // it made sense
          (nonsense, Outcome(answer.status, answer.device, answer.offset))
        case 1 =>
          val nonsense = Take(p.cpus + random.nextInt(9), random.nextInt(16))
          val answer = core.alloc(nonsense.cpu, nonsense.order)
          (nonsense, Outcome(answer.status, answer.device, answer.offset))
        case 2 if held.nonEmpty =>
          // A run of slots, whoever got them, often of several words.
          val (device, first, _) = held(random.nextInt(held.size))
          val slots = held.filter(_._1 == device).flatMap(h => h._2 until h._2 + h._3).toSet
          val run = Iterator.from(first).takeWhile(s => slots(s) && s / Slots == first / Slots).size
          val some = Give(device, first, 1 + random.nextInt(run))
          val answer = core.ok(core.free(some.device, some.offset, some.nr))
          drop(some)
          (some, Outcome(answer.status, answer.device, answer.offset))
        case n if held.isEmpty || n < (if (growing) 15 else 7) =>
          val take = if (random.nextInt(3) == 0) Take(random.nextInt(p.cpus), favourite.order) else favourite
          val answer = core.alloc(take.cpu, take.order)
          if (answer.status == StatusCode.Ok) held += ((answer.device, answer.offset, 1 << take.order))
          (take, Outcome(answer.status, answer.device, answer.offset))
        case _ =>
          // The newest more often: the same cluster as the allocations.
          val at = if (random.nextBoolean()) held.size - 1 else random.nextInt(held.size)
          val (device, offset, nr) = held.remove(at)
          val answer = core.ok(core.free(device, offset, nr))
          (Give(device, offset, nr), Outcome(answer.status, answer.device, answer.offset))
      }
    }
  }

  private def start(core: CoreDriver): Unit =
    for ((device, pages, base, priority) <- devices) core.on(device, pages, base, priority = priority)

  describe("the core with its input full") {
    it("answers as it does one request at a time, whatever the gaps") {
      val random = seeded()
      withStream(p) { (core, stream) =>
        for (round <- 1 to 4) {
          core.clear()
          start(core)
          val expected = steps(core, random, 900)
          core.sound()
          core.clear()
          start(core)
          val (offers, takes) = Seq((100, 100), (100, 60), (50, 100), (70, 70))(round - 1)
          val results = stream.run(
            expected.map(_._1),
            () => (random.nextInt(100) < offers, random.nextInt(100) < takes)
          )
          for ((((step, outcome), (result, _)), i) <- expected.zip(results).zipWithIndex)
            assert(result == outcome, s"round $round, step $i: $step")
          core.sound()
        }
      }
    }

    it("takes 2 cycles a hit or free, at most 6 with a list move, and 3 a scanned cluster") {
      withStream(p) { (core, stream) =>
        /** Cycles between the responses to steps from the second on: the first fills the pipeline. */
        def cycles(steps: Seq[Step]): Seq[Int] = {
          val results = stream.run(steps)
          assert(results.forall(_._1.status == StatusCode.Ok))
          results.map(_._2).sliding(2).map(pair => pair(1) - pair(0)).toSeq
        }
        core.on(0, 16 * Slots, 0)
        core.take(0, 0, 2)
        core.take(1, 0, 2)
        core.take(2, 3, 2)
        assert(cycles(Seq.fill(100)(Take(0, 0))).forall(_ == 2), "one CPU")
        assert(cycles(Seq.tabulate(100)(i => Take(i % 2, 0))).forall(_ == 2), "two CPUs in turn")
        assert(cycles(Seq.tabulate(60)(i => Take(i % 3, if (i % 3 == 2) 3 else 0))).forall(_ == 2), "three in turn")

        // The first of these moves cluster 0 to NONFULL; the others find it there.
        assert(cycles((3 to 60).map(Give(0, _, 1))).forall(_ == 2), "frees in one cluster")
        assert(cycles((3 to 40).flatMap(i => Seq(Give(0, Slots + i, 1), Give(0, 60 + i, 1)))).forall(_ <= 6))
        core.take(0, 0, 1) // back to FRAG

        // Slots of several words: whole ones, and parts.
        core.clear()
        core.on(0, 16 * Slots, 0)
        core.take(0, 5, 15)
        assert(
          cycles(Seq.tabulate(4)(i => Give(0, Slots + 96 * i, 64))).drop(1).forall(_ == 3),
          "whole words of one cluster"
        )
        core.take(1, 0, 500)
        assert(
          cycles(Seq.tabulate(4)(i => Give(0, 10 + 100 * i, 90))).drop(1).forall(_ == 8),
          "parts, in the cluster just changed"
        )
        core.sound()
        core.clear()
        core.on(0, 16 * Slots, 0)
        core.take(0, 0, 200)

        // Free, which moves the cluster to NONFULL, and allocate, which moves it to FRAG.
        assert(cycles(Seq.tabulate(40)(i => if (i % 2 == 0) Give(0, 110 + i, 1) else Take(0, 0))).forall(_ <= 6))

        // Clusters of order 7, each without a free run, on NONFULL[7]: one request scans them all, and each scan fails.
        core.clear()
        core.on(0, 16 * Slots, 0)
        core.take(0, 7, 4 * 12)
        val clusters = 1 to 12
        for (c <- clusters) core.ok(core.free(0, c * Slots + 5, 1))
        val scan = core.alloc(1, 7)
        assert(core.place(scan)._2 == 13 * Slots && core.seen("scan") == 13)
        assert(scan.cycles <= 6 + 3 * 12 + 20, s"${scan.cycles} cycles")
        for (c <- clusters) core.ok(core.free(0, c * Slots + 6, 1))
        val few = clusters.take(2)
        core.clear()
        core.on(0, 16 * Slots, 0)
        core.take(0, 7, 4 * 12)
        for (c <- few) core.ok(core.free(0, c * Slots + 5, 1))
        val short = core.alloc(1, 7)
        assert(scan.cycles - short.cycles == 3 * (clusters.size - few.size), "cycles a scanned cluster")
        core.sound()
      }
    }
  }
}
