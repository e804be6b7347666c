// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** Random operations, and what has to be true whatever happens. The exact decisions are compared elsewhere, with the
  * golden model.
  */
class CoreRandomSpec extends AnyFunSpec with CoreTest with Seeded {
  private val Slots = 512
  private implicit val p: Params = Params(devices = 3, cpus = 2, clusters = 16)

  /** Three devices, two of them equals, the last with a partial cluster. */
  private val devices = Seq((0, 4 * Slots, 0, -1), (1, 5 * Slots, 4, 3), (2, 6 * Slots - 77, 9, -1))

  private def start(core: CoreDriver): Unit =
    for ((device, pages, base, priority) <- devices)
      core.on(device, pages, base, priority = priority)

  /** An order, small ones more often. */
  private def order(random: Random): Int = if (random.nextBoolean()) 0 else random.nextInt(p.orders)

  private def run(core: CoreDriver, random: Random, steps: Int): Unit = {
    start(core)
    val overhead = devices.map { case (device, _, _, _) => core.used(device) }
    val held = mutable.ArrayBuffer.empty[(Int, Int, Int)] // device, offset, slots
    val inUse = Array.fill(devices.size)(mutable.BitSet.empty)
    for (step <- 1 to steps) {
      if (step % 150 == 0) core.policy(placement = random.nextInt(2))
      // Phases of growing and shrinking.
      if (held.isEmpty || random.nextInt(100) < (if (step / 200 % 2 == 0) 75 else 30)) {
        val wanted = order(random)
        val answer = core.alloc(random.nextInt(p.cpus), wanted)
        val slots = 1 << wanted
        if (answer.status == StatusCode.Ok) {
          val range = answer.offset until answer.offset + slots
          assert(answer.offset % slots == 0 && answer.offset > 0)
          assert(range.last < devices(answer.device)._2, "beyond the last page")
          assert(range.forall(inUse(answer.device).add), s"step $step: given twice")
          held += ((answer.device, answer.offset, slots))
        } else {
          assert(answer.status == StatusCode.NoSpace)
          assert(wanted > 0 || core.freeSlots == 0, s"step $step: order 0 fails although slots are free")
        }
      } else {
        // All of a folio's slots, or some of them.
        val at = random.nextInt(held.size)
        val (device, offset, slots) = held(at)
        held(at) = held.last
        held.dropRightInPlace(1)
        val first = if (random.nextInt(4) == 0) random.nextInt(slots) else 0
        core.ok(core.free(device, offset + first, slots - first))
        (offset + first until offset + slots).foreach(inUse(device).remove)
        if (first > 0) held += ((device, offset, first))
      }
      if (step % 100 == 0) {
        for (device <- devices.indices)
          assert(core.used(device) == overhead(device) + inUse(device).size)
        core.sound()
        dumps(core, inUse.toSeq)
      }
    }
    for ((device, offset, slots) <- held)
      core.ok(core.free(device, offset, slots))
    assert(devices.indices.map(core.used) == overhead)
    assert(core.freeSlots == devices.map(d => (d._2 + Slots - 1) / Slots * Slots).sum - overhead.sum)
    core.sound()
  }

  /** Of each cluster, what DUMP shows goes with what is in use by all that was asked for. */
  private def dumps(core: CoreDriver, inUse: Seq[collection.Set[Int]]): Unit =
    for (((device, pages, base, _), d) <- devices.zipWithIndex; c <- 0 until (pages + Slots - 1) / Slots) {
      val dumped = core.ok(core.dump(base + c)).dumped.get
      val bad = (0 until Slots).filter(s => (c == 0 && s == 0) || c * Slots + s >= pages)
      val expected = (0 until Slots).filter(s => inUse(d)(c * Slots + s)) ++ bad
      assert(dumped.bitmap == expected.map(BigInt(1) << _).sum, s"cluster $c of device $device")
      assert(dumped.count == expected.size && dumped.order < p.orders)
      val flag = dumped.flag
      assert((flag == FlagCode.Full) == (dumped.count == Slots) && (flag == FlagCode.Free) == (dumped.count == 0))
    }

  describe("the core") {
    it("keeps its invariants under random allocations and frees") {
      val random = seeded()
      withCore(p)(run(_, random, 2400))
    }
  }
}
