// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable

/** An allocation or a free, as it goes into the core. */
private sealed trait Step
private final case class Take(cpu: Int, order: Int) extends Step
private final case class Give(device: Int, offset: Int, nr: Int) extends Step

/** Keeps the core's input full. */
private class CoreStream(dut: Core) extends Peeks {

  /** All steps in a row, which all succeed; gives the cycle of each response. */
  def run(steps: Seq[Step]): Seq[Int] = {
    val responses = mutable.ArrayBuffer.empty[Int]
    var at, cycle = 0
    dut.io.resp.ready.poke(true)
    waitFor("the last answer", 5000)(responses.size == steps.size) {
      val offering = at < steps.size
      dut.io.req.valid.poke(offering)
      if (offering) show(steps(at))
      val accepted = offering && bit(dut.io.req.ready)
      if (bit(dut.io.resp.valid)) {
        dut.io.resp.bits.status.expect(StatusCode.Ok)
        responses += cycle
      }
      if (accepted) at += 1
      dut.clock.step()
      cycle += 1
    }
    dut.io.req.valid.poke(false)
    dut.io.resp.ready.poke(false)
    responses.toSeq
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

/** The cycles per request when the core's input is kept full; random streams are compared elsewhere, with the golden
  * model.
  */
class CorePipelineSpec extends AnyFunSpec with CoreTest {
  private val Slots = 512
  private implicit val p: Params = Params(devices = 3, cpus = 3, clusters = 16)

  describe("the core with its input full") {
    it("takes 2 cycles a hit or free, at most 6 with a list move, and 3 a scanned cluster") {
      withCore(p) { core =>
        val stream = new CoreStream(core.dut)

        /** Cycles between the responses to steps from the second on: the first fills the pipeline. */
        def cycles(steps: Seq[Step]): Seq[Int] = stream.run(steps).sliding(2).map(pair => pair(1) - pair(0)).toSeq
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
