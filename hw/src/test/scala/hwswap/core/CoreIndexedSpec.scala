// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import org.scalatest.funspec.AnyFunSpec

/** Policy PLACEMENT: INDEXED, rule by rule; random streams are compared elsewhere, with the golden model. */
class CoreIndexedSpec extends AnyFunSpec with CoreTest {
  import StatusCode.NoSpace

  private def indexed(core: CoreDriver): Unit = core.policy(placement = PlacementPolicyCode.Indexed)

  /** A rule of this policy. */
  private def indexedRule(name: String)(body: CoreDriver => Unit): Unit = rule(name) { core =>
    indexed(core)
    body(core)
  }

  indexedRule("takes the lowest cluster of the order that has a run, then a free one, and fails without a scan") {
    core =>
      core.on(0, 6 * 512, 0)
      assert(core.take(0, 8, 8).last == (0, 4 * 512 + 256))
      for (c <- Seq(4, 3)) core.ok(core.free(0, c * 512 + 256, 256))
      core.ok(core.free(0, 2 * 512 + 5, 1))
      assert(core.place(core.alloc(1, 8)) == (0, 3 * 512 + 256), "not the one that was freed from first")
      assert(core.seen("scan") == 1 && core.seen("nonfull") == 1 && core.seen("move") == 1)
      assert(core.place(core.alloc(1, 8)) == (0, 4 * 512 + 256))
      assert(core.place(core.alloc(2, 8)) == (0, 5 * 512) && core.seen("free") == 1 && core.seen("scan") == 1)
      assert(core.place(core.alloc(2, 8)) == (0, 5 * 512 + 256) && core.seen("fast") == 1)
      for (order <- Seq(8, 9)) {
        assert(core.alloc(0, order).status == NoSpace, s"order $order")
        assert(!core.seen.contains("scan") && core.seen("fail") == 1)
      }
  }

  indexedRule("goes on at the CPU's place, and then with the lowest run of that cluster") { core =>
    core.on(0, 3 * 512, 0)
    assert(core.take(0, 7, 3).last == (0, 512 + 256))
    assert(core.place(core.alloc(1, 7)) == (0, 512 + 384) && core.seen("frag") == 1)
    core.ok(core.free(0, 512 + 128, 128))
    assert(core.place(core.alloc(0, 7)) == (0, 512 + 128) && core.seen("fast") == 1 && core.seen("scan") == 1)
  }

  indexedRule("leaves a CPU's place as it is while its cluster has no run") { core =>
    core.on(0, 2 * 512, 0)
    assert(core.take(0, 8, 1) ++ core.take(1, 8, 1) == Seq((0, 512), (0, 768)))
    for (slot <- Seq(512, 812)) core.ok(core.free(0, slot, 1))
    assert(core.alloc(0, 8).status == NoSpace && !core.seen.contains("scan"))
    core.ok(core.free(0, 768, 44))
    core.ok(core.free(0, 813, 211))
    assert(core.place(core.alloc(0, 8)) == (0, 768) && core.seen("fast") == 1)
  }

  indexedRule("for single pages takes the lowest cluster with a free slot when there is nothing else") { core =>
    core.on(0, 4 * 512, 0)
    for ((order, cpu) <- Seq(3, 2, 1).zipWithIndex)
      assert(core.place(core.alloc(cpu, order)) == (0, 512 * (cpu + 1)))
    assert(core.place(core.alloc(0, 0)) == (0, 1) && core.seen("nonfull") == 1)
    core.take(0, 0, 510)
    assert(core.place(core.alloc(1, 0)) == (0, 512 + 8) && core.seen("steal") == 1 && core.seen("scan") == 1)
    assert(core.place(core.alloc(2, 3)) == (0, 512 + 16) && core.seen("frag") == 1, "it still serves order 3")
  }

  indexedRule("takes a free cluster first on a device that wants discards") { core =>
    core.on(0, 3 * 512, 0, flags = CoreDriver.Discarding)
    core.on(1, 3 * 512, 4, priority = -5)
    assert(core.place(core.alloc(0, 0)) == (0, 512) && core.seen("free") == 1)
    core.ok(core.swapoffBegin(0))
    assert(core.place(core.alloc(1, 0)) == (1, 1) && core.seen("nonfull") == 1)
  }

  indexedRule("never looks at a cluster all of whose slots are bad") { core =>
    core.ok(core.prepare(0, 3 * 512, 0, flags = CoreDriver.Discarding))
    core.ok(core.markBad(0, 512, 512))
    core.ok(core.swapon(0))
    assert(core.place(core.alloc(0, 9)) == (0, 1024))
    assert(core.take(0, 0, 511).last == (0, 511))
    core.ok(core.free(0, 1024, 512))
    assert(core.alloc(1, 0).status == NoSpace && !core.seen.contains("scan"), "all that is free is on DISCARD")
  }

  indexedRule("moves a NONFULL cluster to FRAG, and leaves one on FRAG where it is") { core =>
    core.on(0, 4 * 512, 0)
    core.take(0, 4, 3)
    assert(core.place(core.alloc(1, 4)) == (0, 512 + 48))
    assert(core.seen("frag") == 1 && !core.seen.contains("move"))
    core.ok(core.free(0, 512, 16))
    assert(core.place(core.alloc(2, 4)) == (0, 512))
    assert(core.seen("nonfull") == 1 && core.seen("move") == 1)
  }

  indexedRule("finds runs of several words at multiples of their length only") { core =>
    core.on(0, 3 * 512, 0)
    core.take(0, 6, 8)
    core.take(0, 8, 2)
    core.ok(core.free(0, 512 + 32, 64))
    assert(core.alloc(1, 6).status == NoSpace && !core.seen.contains("scan"))
    core.ok(core.free(0, 512 + 96, 31))
    assert(core.alloc(1, 6).status == NoSpace && !core.seen.contains("scan"))
    core.ok(core.free(0, 512 + 127, 1))
    assert(core.place(core.alloc(1, 6)) == (0, 512 + 64) && core.seen("scan") == 1)
  }

  indexedRule("goes on anywhere in a rotating device's cluster, too") { core =>
    core.on(0, 4 * 512, 0, flags = CoreDriver.Rotating)
    assert((0 to 2).map(cpu => core.place(core.alloc(cpu, 2))) == Seq((0, 512), (0, 516), (0, 520)))
    assert(core.take(0, 7, 3).last == (0, 1024 + 256))
    core.ok(core.free(0, 1024 + 128, 128))
    assert(core.place(core.alloc(1, 7)) == (0, 1024 + 384) && core.seen("fast") == 1)
  }

  indexedRule("knows nothing of a device that went, and keeps to the device that is tried") { core =>
    core.on(0, 4 * 512, 0)
    core.on(1, 4 * 512, 4, priority = -7)
    core.take(0, 2, 3)
    core.take(1, 5, 2)
    core.take(2, 0, 3)
    core.ok(core.swapoffBegin(0))
    assert(core.place(core.alloc(2, 2)) == (1, 512), "not in device 0, where order 2 has a run")
    core.ok(core.swapoff(0))
    core.on(0, 4 * 512, 0)
    for (order <- Seq(5, 2)) {
      core.place(core.alloc(0, order))
      assert(core.seen("free") == 1, s"order $order")
    }
  }

  rule("can be chosen, and left again, at any time") { core =>
    core.on(0, 5 * 512, 0)
    core.take(0, 8, 8)
    for (c <- Seq(3, 2, 4)) core.ok(core.free(0, c * 512, 256))
    assert(core.place(core.alloc(0, 8)) == (0, 3 * 512), "the head of NONFULL[8]")
    indexed(core)
    assert(core.place(core.alloc(1, 8)) == (0, 2 * 512), "the lowest")
    core.policy()
    core.ok(core.free(0, 3 * 512, 256))
    assert(core.place(core.alloc(2, 8)) == (0, 4 * 512), "the head of NONFULL[8]")
  }

  describe("the core with policy INDEXED") {
    it("chooses clusters by what it knows of them") {
      withCore()(tryAll)
    }
  }
}
