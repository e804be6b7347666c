// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import org.scalatest.funspec.AnyFunSpec

/** The rules of allocation and free, one by one; refusals are in the scripts of the whole engine. */
class CoreAllocSpec extends AnyFunSpec with CoreTest {
  private val NoSpace = StatusCode.NoSpace

  // Allocation.
  rule("starts with the partial clusters, goes on where the CPU was, and takes a free cluster for a new order") {
    core =>
      core.on(0, 4 * 512, 0)
      assert(core.used(0) == 1 && core.freeSlots == 4 * 512 - 1)
      // Cluster 0 holds the header, so it is on NONFULL[0].
      val first = core.alloc(0, 0)
      assert(core.place(first) == (0, 1) && core.seen("nonfull") == 1)
      val second = core.alloc(0, 0)
      assert(core.place(second) == (0, 2) && core.seen("fast") == 1 && !core.seen.contains("move"))
      assert(second.cycles <= 12, s"a hit of the hint takes ${second.cycles} cycles")
      // Another CPU finds the cluster on FRAG only after the free ones.
      assert(core.place(core.alloc(1, 0)) == (0, 512) && core.seen("free") == 1)
      assert(core.place(core.alloc(0, 4)) == (0, 1024))
      assert(core.place(core.alloc(0, 4)) == (0, 1040))
      assert(core.place(core.alloc(2, 9)) == (0, 1536))
      // No free cluster is left: order 9 fails, order 4 goes on with its FRAG cluster, from its start.
      assert(core.alloc(1, 9).status == NoSpace && core.seen("fail") == 1)
      assert(core.place(core.alloc(1, 4)) == (0, 1056) && core.seen("frag") == 1)
      // Order 3 finds no cluster of its own order.
      assert(core.alloc(1, 3).status == NoSpace)
      assert(core.used(0) == 1 + 3 + 3 * 16 + 512)
  }

  rule("steals for order 0, lowest order first, FRAG before NONFULL; the cluster keeps its order") { core =>
    core.on(0, 4 * 512, 0)
    val zero = core.take(0, 0, 511)
    assert(zero.last == (0, 511))
    // Orders 5 and 3 have a cluster each; cluster 3 becomes NONFULL[3].
    assert(core.place(core.alloc(0, 5)) == (0, 512))
    assert(core.place(core.alloc(0, 3)) == (0, 1024))
    assert(core.place(core.alloc(1, 3)) == (0, 1536) && core.seen("free") == 1)
    core.take(1, 3, 1)
    core.ok(core.free(0, 1536, 8))
    // CPU 2 has no hint. FRAG[3] comes first: cluster 2.
    assert(core.place(core.alloc(2, 0)) == (0, 1032) && core.seen("steal") == 1)
    // Its hint points there now, and order 3 goes on there, too.
    assert(core.place(core.alloc(2, 0)) == (0, 1033) && core.seen("fast") == 1)
    assert(core.place(core.alloc(0, 3)) == (0, 1040) && core.seen("fast") == 1)
    // NONFULL[3] is order 3's first choice without a hint.
    assert(core.place(core.alloc(2, 3)) == (0, 1536) && core.seen("nonfull") == 1)
  }

  rule("drains NONFULL into FRAG when no cluster there has a run, and scans one FRAG cluster only") { core =>
    // Clusters 1, 2 and 3 serve order 8: two runs each.
    core.on(0, 4 * 512, 0)
    val runs = core.take(0, 8, 6)
    assert(runs.map(_._2) == Seq(512, 768, 1024, 1280, 1536, 1792))
    // One slot of a run of clusters 1 and 2 comes back: NONFULL[8], without room for another run.
    core.ok(core.free(0, 512, 1))
    core.ok(core.free(0, 1024, 1))
    assert(core.alloc(1, 8).status == NoSpace)
    assert(core.seen("scan") == 3 && core.seen("move") == 3)
    // Now FRAG[8] is (2, 1): cluster 1 was scanned twice, and only one FRAG cluster is scanned.
    core.ok(core.free(0, 1280, 256))
    assert(core.place(core.alloc(1, 8)) == (0, 1280) && core.seen("nonfull") == 1)
  }

  rule("keeps a FRAG cluster's place when the hint leads to it") { core =>
    core.on(0, 3 * 512, 0)
    core.take(0, 0, 2) // cluster 0 to FRAG[0], CPU 0's hint in it
    core.take(1, 0, 2) // cluster 1 after it, CPU 1's hint
    core.take(2, 9, 1)
    // CPU 0 scans cluster 0 again: it stays in front, so a CPU without a hint comes to cluster 0.
    assert(core.place(core.alloc(0, 0)) == (0, 3))
    assert(!core.seen.contains("move"))
    assert(core.place(core.alloc(2, 0)) == (0, 4) && core.seen("frag") == 1)
    // It was moved to the tail by that: the next without a hint comes to cluster 1.
    core.ok(core.swapoffBegin(0))
    assert(core.alloc(2, 0).status == NoSpace) // drops the hint
    core.ok(core.swapon(0))
    assert(core.place(core.alloc(2, 0)) == (0, 514) && core.seen("frag") == 1)
  }

  rule("drops the hint at the cluster's end, and leaves one to an unusable cluster as it is") { core =>
    core.on(0, 4 * 512, 0)
    assert(core.take(0, 8, 2).map(_._2) == Seq(512, 768))
    // Cluster 1 is full, the hint was dropped with the last slot.
    assert(core.place(core.alloc(0, 8)) == (0, 1024) && core.seen("free") == 1)
    // The hint points to cluster 2 at slot 256. Empty it: FREE has no table, the slow path follows, and finds
    // cluster 3 first, which is in front on FREE.
    core.ok(core.free(0, 1024, 256))
    assert(core.place(core.alloc(0, 8)) == (0, 1536) && core.seen("free") == 1)
  }

  rule("sets a cluster's order when it is empty, and clears it on FREE only") { core =>
    core.on(0, 2 * 512, 0)
    assert(core.place(core.alloc(0, 7)) == (0, 512))
    // Order 6 cannot use the cluster of order 7; after it went to FREE it can.
    assert(core.alloc(0, 6).status == NoSpace)
    core.ok(core.free(0, 512, 128))
    assert(core.place(core.alloc(0, 6)) == (0, 512))
  }

  // Free.
  rule("moves to the tail of NONFULL of the cluster's order once, and to FREE when nothing is left") { core =>
    core.on(0, 3 * 512, 0)
    core.take(0, 2, 4)
    core.ok(core.free(0, 512, 2))
    assert(core.seen == Map("freed" -> 1, "move" -> 1))
    val again = core.ok(core.free(0, 514, 1))
    assert(core.seen == Map("freed" -> 1) && again.cycles <= 12)
    core.ok(core.free(0, 515, 13))
    assert(core.seen == Map("freed" -> 1, "move" -> 1) && core.used(0) == 1)
  }

  // Devices.
  rule("take turns within a priority, highest first, and a full one comes back behind its equals") { core =>
    // Three devices of one cluster each: 0 and 1 are equals, 2 is better.
    core.on(0, 512, 0)
    core.on(1, 512, 1)
    core.on(2, 512, 2, priority = 7)
    val best = core.take(0, 0, 511)
    assert(best.forall(_._1 == 2) && !core.available(2))
    assert(core.place(core.alloc(0, 0)) == (0, 1))
    // Device 0 went to a place after device 1 when it was visited: a CPU without a hint gets device 1, then 0 again.
    assert(core.place(core.alloc(1, 0)) == (1, 1))
    assert(core.place(core.alloc(2, 0)) == (0, 2))
    // Device 1 fills up and comes back after device 0.
    core.take(1, 0, 510)
    assert(!core.available(1) && core.available(0))
    core.ok(core.free(1, 100, 1))
    assert(core.available(1))
    // CPU 1's hint was dropped with the last slot.
    assert(core.place(core.alloc(1, 0))._1 == 0)
    core.ok(core.free(2, 9, 1))
    assert(core.place(core.alloc(1, 0))._1 == 0) // its hint, whatever the priorities say
  }

  rule("come back full when their swapoff is given up, and leave when their last slot is taken again") { core =>
    core.on(0, 512, 0, priority = 7)
    core.on(1, 2 * 512, 1)
    core.take(0, 0, 511)
    assert(!core.available(0))
    core.ok(core.swapoffBegin(0))
    core.ok(core.swapon(0))
    assert(core.available(0) && core.used(0) == 512)
    // A large order tries device 0 alone, a single slot goes to the next one.
    assert(core.alloc(0, 2).status == NoSpace)
    assert(core.place(core.alloc(0, 0)) == (1, 1))
    core.ok(core.free(0, 9, 1))
    assert(core.place(core.alloc(1, 0)) == (0, 9) && !core.available(0))
    assert(core.place(core.alloc(0, 2)) == (1, 512))
  }

  rule("get one attempt by a large order, behind their equals before it; files refuse large orders") { core =>
    val file = 1 << MemMap.DeviceFlags.Flags.Solidstate.lsb
    core.on(0, 2 * 512, 0, flags = file)
    core.on(1, 2 * 512, 2)
    assert(core.alloc(0, 4).status == NoSpace)
    assert(core.place(core.alloc(0, 4)) == (1, 512))
    assert(core.alloc(1, 4).status == NoSpace)
    assert(core.place(core.alloc(0, 0)) == (1, 1))
  }

  rule("give nothing after SWAPOFF_BEGIN, take frees, and come back with SWAPON") { core =>
    core.on(0, 2 * 512, 0)
    core.on(1, 2 * 512, 2)
    assert(core.take(0, 0, 2) == Seq((0, 1), (0, 2)))
    assert(core.freeSlots == 4 * 512 - 4)
    core.ok(core.swapoffBegin(0))
    assert(!core.available(0) && core.freeSlots == 2 * 512 - 1)
    // The hint leads to device 0, where the scan finds room and allocates nothing; then the other device.
    assert(core.place(core.alloc(0, 0)) == (1, 1))
    assert(core.seen("scan") == 2)
    core.ok(core.free(0, 1, 1))
    assert(!core.available(0) && core.used(0) == 2)
    assert(core.swapon(1).status == StatusCode.BadDevice)
    core.ok(core.swapon(0))
    assert(core.available(0) && core.used(0) == 2)
    assert(core.place(core.alloc(1, 0)) == (1, 512))
    assert(core.place(core.alloc(2, 0)) == (0, 1))
  }

  rule("take the CPUs' hints with them") { core =>
    core.on(0, 2 * 512, 0)
    core.take(0, 0, 2)
    core.ok(core.swapoffBegin(0))
    core.ok(core.swapoff(0))
    assert(core.alloc(0, 0).status == NoSpace && !core.seen.contains("scan"))
    assert(core.check(0).status == StatusCode.BadDevice)
    // The same clusters, for another device.
    core.on(3, 600, 0)
    assert(core.place(core.alloc(0, 0)) == (3, 1) && core.seen("nonfull") == 1)
  }

  rule("give nothing when all slots are in use from the start; the kernel refuses such a device") { core =>
    core.ok(core.prepare(0, 2, 0))
    core.ok(core.markBad(0, 1, 1))
    core.ok(core.swapon(0))
    assert(core.available(0) && core.used(0) == 512 && core.alloc(0, 0).status == NoSpace)
  }

  rule("list clusters with a bad slot on NONFULL[0], also when all their slots are bad") { core =>
    core.ok(core.prepare(0, 3 * 512 + 5, 4))
    core.ok(core.markBad(0, 512, 512))
    core.ok(core.markBad(0, 1030, 1))
    core.ok(core.swapon(0))
    assert(core.used(0) == 1 + 512 + 1 + 507)
    // Every cluster is on NONFULL[0], so a large order finds nothing.
    assert(core.alloc(0, 3).status == NoSpace)
    core.take(0, 0, 511)
    // The scan of the bad cluster fails, and it becomes FULL.
    assert(core.place(core.alloc(0, 0)) == (0, 1024) && core.seen("scan") == 2)
    assert(core.take(0, 0, 6).last == (0, 1031))
    core.take(0, 0, 504)
    assert(core.take(0, 0, 5).map(_._2) == (1536 to 1540))
    assert(!core.available(0))
  }

  // Discarding devices.
  rule("keep emptied clusters from use until the host has discarded them; new clusters come first") { core =>
    core.on(0, 4 * 512, 0, flags = CoreDriver.Discarding)
    // FREE before NONFULL[0], where cluster 0 is.
    assert(core.place(core.alloc(0, 0)) == (0, 512) && core.seen("free") == 1)
    assert(core.place(core.alloc(1, 2)) == (0, 1024))
    core.ok(core.free(0, 1024, 4))
    assert(core.seen("move") == 1)
    // The CPU's hint leads to a cluster that waits for its discard.
    assert(core.place(core.alloc(1, 2)) == (0, 1536))
    assert(core.alloc(2, 2).status == NoSpace || core.seen("frag") == 1)
    core.sound()
    val taken = core.ok(core.discardTake(0))
    assert(taken.offset == 1024)
    assert(core.discardTake(0).status == NoSpace)
    assert(core.alloc(2, 9).status == NoSpace)
    core.sound()
    assert(core.discardDone(0, 512).status == StatusCode.BadRange)
    core.ok(core.discardDone(0, 1024 + 77))
    assert(core.discardDone(0, 1024).status == StatusCode.BadRange)
    assert(core.place(core.alloc(2, 9)) == (0, 1024))
    // Without write permission nothing waits for a discard.
    core.ok(core.swapoffBegin(0))
    core.ok(core.free(0, 1024, 512))
    assert(core.discardTake(0).status == NoSpace)
  }

  // Rotating devices.
  rule("go on where any CPU left off on a rotating device, and leave the CPUs' hints alone") { core =>
    core.on(0, 4 * 512, 0, flags = CoreDriver.Rotating)
    assert(core.place(core.alloc(0, 0)) == (0, 1) && core.seen("nonfull") == 1)
    assert(core.place(core.alloc(1, 0)) == (0, 2) && core.seen("fast") == 1 && !core.seen.contains("move"))
    assert(core.place(core.alloc(2, 0)) == (0, 3))
    assert(core.place(core.alloc(0, 3)) == (0, 512))
    assert(core.place(core.alloc(1, 3)) == (0, 520) && core.seen("fast") == 1)
    // The place is at the end of the cluster: a new cluster.
    core.ok(core.free(0, 520, 8))
    assert(core.place(core.alloc(1, 3)) == (0, 528))
    // A solid-state device of higher priority is tried first, and its hint before everything.
    core.on(1, 2 * 512, 4, priority = 5)
    assert(core.place(core.alloc(0, 0)) == (1, 1))
    assert(core.place(core.alloc(1, 0)) == (1, 512))
    core.ok(core.swapoffBegin(1))
    core.ok(core.swapoff(1))
    assert(core.place(core.alloc(0, 0)) == (0, 4) && core.seen("fast") == 1)
    // The device goes and another comes to its place: nothing is left of the offsets.
    core.ok(core.swapoffBegin(0))
    core.ok(core.swapoff(0))
    core.on(0, 4 * 512, 0, flags = CoreDriver.Rotating)
    assert(core.place(core.alloc(0, 0)) == (0, 1) && core.seen("nonfull") == 1)
  }

  // Policies.
  rule("with FREE_FIRST take a free cluster before NONFULL, and scan all of FRAG") { core =>
    core.policy(scan = ScanPolicyCode.FreeFirst)
    core.on(0, 5 * 512, 0)
    assert(core.place(core.alloc(0, 0)) == (0, 512) && core.seen("free") == 1)
    assert(core.take(0, 8, 4).map(_._2) == Seq(1024, 1280, 1536, 1792))
    assert(core.take(0, 8, 2).map(_._2) == Seq(2048, 2304))
    // Clusters 2 to 4 to FRAG[8] without a run: freed from, and their scan failed.
    for (c <- 2 to 4) core.ok(core.free(0, c * 512, 1))
    assert(core.alloc(1, 8).status == NoSpace && core.seen("scan") == 3)
    assert(core.alloc(1, 8).status == NoSpace && core.seen("scan") == 3, "all of FRAG[8], in its old sequence")
    core.sound()
    // One more on NONFULL[8]: it joins FRAG only after the clusters there have been counted.
    core.ok(core.free(0, 2 * 512 + 1, 1))
    assert(core.alloc(1, 8).status == NoSpace && core.seen("scan") == 3)
    core.ok(core.free(0, 4 * 512 + 256, 256))
    assert(core.place(core.alloc(1, 8)) == (0, 4 * 512 + 256))
  }

  rule("with SEQUENTIAL use devices of default priority in the sequence of their swapons") { core =>
    core.policy(device = DevicePolicyCode.Sequential)
    core.on(2, 512, 0)
    core.on(0, 512, 1)
    core.on(1, 512, 2, priority = -3)
    core.on(3, 512, 3, priority = -3)
    assert((0 to 2).map(cpu => core.place(core.alloc(cpu, 0))) == Seq((2, 1), (2, 2), (2, 3)))
    core.take(0, 0, 508)
    assert(!core.available(2))
    assert((0 to 2).map(cpu => core.place(core.alloc(cpu, 0))) == Seq((0, 1), (0, 2), (0, 3)))
    core.ok(core.free(2, 7, 1))
    assert(core.place(core.alloc(0, 0)) == (0, 4), "its hint, whatever the policy says")
    core.ok(core.swapoffBegin(0))
    assert(core.place(core.alloc(1, 0)) == (2, 7))
    // Others take turns as ever.
    assert((0 to 1).map(cpu => core.place(core.alloc(cpu, 0))) == Seq((1, 1), (3, 1)))
  }

  rule("with SHARED give all CPUs one place to go on") { core =>
    core.policy(hint = HintPolicyCode.Shared)
    core.on(0, 4 * 512, 0)
    assert((0 to 2).map(cpu => core.place(core.alloc(cpu, 0))) == Seq((0, 1), (0, 2), (0, 3)))
    assert(core.seen("fast") == 1)
    assert(core.place(core.alloc(2, 1)) == (0, 512))
    assert(core.place(core.alloc(1, 1)) == (0, 514) && core.seen("fast") == 1)
  }

  rule("with NODE_FIRST use devices of the CPU's node before the others of their priority") { core =>
    core.policy(device = DevicePolicyCode.NodeFirst)
    core.node(1, 3)
    core.on(0, 512, 0)
    core.on(1, 512, 1, node = 3)
    core.on(2, 512, 2, priority = 5, node = 7)
    assert(core.place(core.alloc(1, 0)) == (2, 1), "of a higher priority, though it is far")
    core.take(1, 0, 510)
    assert(core.place(core.alloc(1, 0)) == (1, 1) && core.place(core.alloc(0, 0)) == (0, 1))
    assert(core.place(core.alloc(2, 0)) == (0, 2))
    core.take(2, 0, 509)
    assert(core.place(core.alloc(0, 0)) == (1, 2), "the other node's, when its own is full")
    core.node(1, 0)
  }

  rule("with RANDOM_TRUNK go on nowhere on a device of one trunk, which begins with the header") { core =>
    core.on(0, 4 * 512, 0)
    core.policy(hint = HintPolicyCode.RandomTrunk, seed = Some(5))
    core.take(0, 9, 2)
    assert(core.place(core.alloc(0, 9)) == (0, 1536) && core.seen("free") == 1)
  }

  rule("a dump shows what the core holds of a cluster, and changes nothing") { core =>
    core.on(0, 3 * 512 - 10, 4)
    assert(core.take(0, 4, 2) == Seq((0, 512), (0, 528)))
    def row(slots: Range): BigInt = slots.foldLeft(BigInt(0))(_.setBit(_))
    def dumps(cluster: Int): Dumped = core.ok(core.dump(cluster)).dumped.get
    assert(dumps(4) == Dumped(row(0 until 1), FlagCode.Nonfull, 0, 1)(0, 0))
    assert(dumps(5) == Dumped(row(0 until 32), FlagCode.Frag, 4, 32)(0, 0))
    assert(dumps(6) == Dumped(row(502 until 512), FlagCode.Nonfull, 0, 10)(0, 0))
    assert(dumps(4).next == 6 && dumps(6).prev == 4, "two of NONFULL, one behind the other")
    core.ok(core.free(0, 512, 16))
    assert(dumps(5) == Dumped(row(16 until 32), FlagCode.Nonfull, 4, 16)(0, 0))
    assert(core.place(core.alloc(0, 4)) == (0, 544) && core.seen("fast") == 1)
  }

  // Clear.
  rule("forgets devices, available list and hints, also in the middle of a request") { core =>
    core.on(0, 2 * 512, 0)
    core.take(0, 0, 3)
    core.interruptedAlloc(0, 0)
    assert(core.freeSlots == 0 && !core.available(0))
    assert(core.alloc(0, 0).status == NoSpace && !core.seen.contains("scan"))
    core.on(0, 2 * 512, 0)
    assert(core.place(core.alloc(0, 0)) == (0, 1))
  }

  // Latencies, from the request's acceptance to the response.

  rule("answers take the cycles the units promise") { core =>
    assert(core.alloc(0, 0).cycles == 7, "nothing is available")
    core.on(0, 4 * 512, 0)
    assert(core.alloc(0, 0).cycles == 14, "the first cluster of the first device")
    assert(core.alloc(0, 0).cycles == 6, "a hit of the hint")
    assert(core.free(0, 1, 1).cycles == 6, "a free with a list move")
    assert(core.free(0, 2, 1).cycles == 6, "a free")
    assert(core.alloc(0, 0).cycles == 6, "a hit with a list move")
    assert(core.take(1, 8, 4).size == 4)
    core.ok(core.free(0, 512, 1))
    core.ok(core.free(0, 1024, 1))
    assert(core.take(1, 8, 2).size == 2)
    core.ok(core.free(0, 1536, 1))
    val failing = core.alloc(2, 8)
    assert(failing.status == NoSpace && core.seen("scan") == 2)
    assert(failing.cycles == 32, "the scans of a NONFULL and a FRAG cluster fail")
    assert(core.dump(0).cycles == 30)
  }

  describe("the core") {
    it("keeps the rules of allocation and free") {
      withCore()(tryAll)
    }
  }
}
