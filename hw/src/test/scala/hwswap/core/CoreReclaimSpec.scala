// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import org.scalatest.funspec.AnyFunSpec

/** What the host is asked to reclaim, place by place; random hosts are compared elsewhere, with the golden model. */
class CoreReclaimSpec extends AnyFunSpec with CoreTest {
  import StatusCode.{BadOpcode, BadRange, NeedReclaim, NoSpace}

  /** Device, offset, number of slots, and whether the cluster is from FULL. */
  private def question(answer: Answer): (Int, Int, Int, Boolean) = {
    assert(answer.status == NeedReclaim, s"status ${answer.status}")
    (answer.device, answer.offset, answer.more & 0x3ff, answer.more >> 15 == 1)
  }

  rule("asks only when more than half of swap is in use, and only who wants to be asked") { core =>
    core.on(0, 4 * 512, 0)
    core.take(0, 8, 2)
    core.take(0, 7, 2)
    core.ok(core.free(0, 512, 4))
    // 512 - 4 + 256 + 1 of 2047.
    assert(core.place(core.ask(1, 0)) == (0, 1))
    core.take(0, 7, 2)
    assert(core.used(0) == 1 + 512 - 4 + 512 + 1)
    // CPU 2 has no place: NONFULL[0] is empty, FREE has a cluster.
    assert(core.place(core.ask(2, 0)) == (0, 1536))
    core.take(2, 0, 2)
    // FREE is empty, so a cluster of FULL comes next: the one of order 7.
    assert(core.alloc(2, 9).status == NoSpace)
    assert(question(core.ask(2, 9)) == (0, 1024, 512, true))
    assert(core.reclaimDone(2, 9, 0, 1024, tried = false).status == NoSpace)
    core.sound(0)
  }

  rule("asks about what a hit passes over, and allocates what was freed there") { core =>
    core.on(0, 2 * 512, 0)
    assert(core.take(0, 0, 600).last == (0, 512 + 88))
    for (offset <- Seq(512 + 4, 512 + 5, 512 + 60)) core.ok(core.free(0, offset, 1))
    core.ok(core.stepNext(0, 0, 512, cpu = Some(1)))
    assert(question(core.ask(1, 0)) == (0, 512, 4, false))
    // The host fails to reclaim a slot, then tries another that it can free.
    for (answer <- Seq(core.alloc(1, 0), core.check(0), core.dump(0))) assert(answer.status == BadOpcode)
    assert(core.reclaimDone(1, 0, 0, 1, tried = true).status == BadRange, "another cluster")
    assert(core.reclaimDone(1, 1, 0, 512, tried = true).status == BadRange, "another order")
    assert(question(core.reclaimDone(1, 0, 0, 513, tried = true)) == (0, 514, 2, false))
    core.ok(core.free(0, 514, 1))
    val last = core.reclaimDone(1, 0, 0, 514, tried = true)
    assert(core.place(last) == (0, 514) && core.seen("fast") == 1 && core.seen("scan") == 1)
    assert(core.reclaimDone(1, 0, 0, 512, tried = false).status == BadOpcode, "nothing waits any more")
    assert(question(core.ask(1, 0)) == (0, 515, 1, false), "it goes on at slot 515, which is in use")
    assert(core.place(core.reclaimDone(1, 0, 0, 515, tried = false)) == (0, 516))
    core.sound(0)
  }

  rule("takes a cluster off its list while it asks, and goes on behind it") { core =>
    core.on(0, 3 * 512, 0)
    core.take(0, 7, 8)
    core.take(0, 0, 400)
    for (c <- 1 to 2; i <- 0 to 2) core.ok(core.free(0, c * 512 + 128 * i, 32))
    assert(core.ask(1, 7).status == NoSpace, "without room for another run no cluster is looked at")
    for (c <- 1 to 2) core.ok(core.free(0, c * 512 + 128 * 3, 32))
    // NONFULL[7]: clusters 1 and 2, each with room but without a run.
    assert(question(core.ask(1, 7)) == (0, 512, 512, false))
    core.ok(core.free(0, 800, 50))
    assert(question(core.reclaimDone(1, 7, 0, 768, tried = true)) == (0, 896, 128, false))
    // Nothing there: it goes on with the other cluster, and all of that can be freed. The cluster is on FREE then, and
    // not this search's any more, but FREE comes next.
    assert(question(core.reclaimDone(1, 7, 0, 896, tried = false)) == (0, 1024, 512, false))
    for (i <- 0 to 3) core.ok(core.free(0, 1024 + 128 * i + 32, 96))
    val last = core.reclaimDone(1, 7, 0, 1024, tried = true)
    assert(core.place(last) == (0, 1024) && core.seen("free") == 1)
    core.sound(0)
  }

  describe("the core, with a host that reclaims") {
    it("asks where the kernel reclaims") {
      keepsTheRules()
    }
  }
}
