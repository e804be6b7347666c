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
      core.on(device, pages, base, priority = priority, epoch = device)

  /** An order, small ones more often. */
  private def order(random: Random): Int = if (random.nextBoolean()) 0 else random.nextInt(p.orders)

  private def authoritative(core: CoreDriver, random: Random, steps: Int): Unit = {
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
        core.sound(devices.indices: _*)
      }
    }
    for ((device, offset, slots) <- held)
      core.ok(core.free(device, offset, slots))
    assert(devices.indices.map(core.used) == overhead)
    assert(core.freeSlots == devices.map(d => (d._2 + Slots - 1) / Slots * Slots).sum - overhead.sum)
    core.sound(devices.indices: _*)
  }

  private def advisory(core: CoreDriver, random: Random, steps: Int): Unit = {
    start(core)
    val hints = mutable.ArrayBuffer.empty[(Int, Int, Int)] // device, offset, order
    val hinted = Array.fill(p.clusters)(BigInt(0))
    val kernel = Array.tabulate(p.clusters)(c => core.dump(c).record.bitmap)
    val sequence = Array.fill(p.clusters)(random.nextInt().toLong & 0xffffffffL)
    def cluster(device: Int, offset: Int): Int = devices(device)._3 + offset / Slots
    def mask(offset: Int, order: Int): BigInt = ((BigInt(1) << (1 << order)) - 1) << (offset % Slots)
    for (step <- 1 to steps) {
      if (step % 150 == 0) core.policy(placement = random.nextInt(2))
      random.nextInt(10) match {
        case 0 | 1 | 2 | 3 =>
          val wanted = order(random)
          val answer = core.hintAlloc(random.nextInt(p.cpus), wanted)
          if (answer.status == StatusCode.Ok) {
            val at = cluster(answer.device, answer.offset)
            val slots = mask(answer.offset, wanted)
            assert((slots & (kernel(at) | hinted(at))) == 0, s"step $step: a hint for slots in use")
            assert(answer.epoch == answer.device && answer.offset % (1 << wanted) == 0)
            hinted(at) |= slots
            hints += ((answer.device, answer.offset, wanted))
          }
        case 4 | 5 | 6 if hints.nonEmpty =>
          val (device, offset, order) = hints.remove(random.nextInt(hints.size))
          val at = cluster(device, offset)
          core.ok(core.release(device, offset, order, device))
          hinted(at) &= ~mask(offset, order)
        case _ =>
          // The kernel took or freed something; now and then what was hinted.
          val device = random.nextInt(devices.size)
          val at = devices(device)._3 + random.nextInt((devices(device)._2 + Slots - 1) / Slots)
          val run = mask(random.nextInt(Slots), random.nextInt(6)) & ((BigInt(1) << Slots) - 1)
          val bitmap = random.nextInt(5) match {
            case 0 => BigInt(0)
            case 1 => kernel(at) | (hinted(at) & BigInt(Slots, random))
            case 2 => kernel(at) & ~run
            case _ => kernel(at) | run
          }
          sequence(at) = (sequence(at) + 1 + random.nextInt(1000)) & 0xffffffffL
          val flag = random.nextInt(7)
          assert(core.apply(at, Record(bitmap, flag, random.nextInt(11), sequence(at), device)).taken)
          kernel(at) = bitmap
          hinted(at) &= ~bitmap
          assert(core.ok(core.dump(at)).record.bitmap == bitmap)
      }
      if (step % 50 == 0) {
        assert(core.hintedSlots == hinted.map(_.bitCount).sum)
        for ((device, pages, base, _) <- devices) {
          val clusters = base until base + (pages + Slots - 1) / Slots
          assert(core.used(device) == clusters.map(c => (kernel(c) | hinted(c)).bitCount).sum)
        }
        core.sound(devices.indices: _*)
      }
    }
  }

  describe("the core") {
    it("keeps its invariants under random allocations and frees") {
      val random = seeded()
      withCore(p)(authoritative(_, random, 2400))
    }
    it("keeps its invariants under random records, hints and releases") {
      val random = seeded()
      withCore(p, advisory = true)(advisory(_, random, 1500))
    }
  }
}
