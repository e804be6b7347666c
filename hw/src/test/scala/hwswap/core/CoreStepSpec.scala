// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import org.scalatest.funspec.AnyFunSpec

/** STEP commands, one by one; random ones are compared elsewhere, with the golden model. */
class CoreStepSpec extends AnyFunSpec with CoreTest {
  import StatusCode.{BadDevice, BadRange, NoSpace}
  import FlagCode.{Discard, Frag, Free, Full, None => Off, Nonfull}

  rule("take: the first of a list, or a named cluster, which is nobody's then") { core =>
    core.on(0, 5 * 512, 0)
    val head = core.ok(core.stepTake(0, Free))
    assert((head.device, head.offset, head.more) == (0, 512, 1))
    assert(core.place(core.alloc(0, 9)) == (0, 1024), "the next of FREE")
    val named = core.ok(core.stepTake(0, Off, named = Some(2048 + 77)))
    assert((named.offset, named.more) == (2048, 0), "not the first")
    val last = core.ok(core.stepTake(0, Free, named = Some(1536)))
    assert((last.offset, last.more) == (1536, 1))
    assert(core.stepTake(0, Free).status == NoSpace)
    assert(core.alloc(1, 9).status == NoSpace)
    assert(core.check(0).offset == 3, "three clusters on no list")
    // Not on that list; on no list; no cluster; no flag; no device.
    assert(core.stepTake(0, Free, named = Some(0)).status == BadRange)
    assert(core.stepTake(0, Nonfull, order = 1, named = Some(0)).status == BadRange)
    assert(core.stepTake(0, Off, named = Some(1536)).status == BadRange)
    assert(core.stepTake(0, Off, named = Some(5 * 512)).status == BadRange)
    assert(core.stepTake(0, Off).status == BadRange && core.stepTake(0, 6).status == BadRange)
    assert(core.stepTake(1, Free).status == BadDevice && core.stepTake(31, Free).status == BadDevice)
    // They come back in another sequence.
    for (c <- Seq(4, 1, 3)) core.ok(core.stepPut(0, c * 512, Free))
    core.sound(0)
    assert((1 to 3).map(_ => core.place(core.alloc(1, 9))._2 / 512) == Seq(4, 1, 3))
    core.sound(0)
  }

  rule("put: where the count allows, with the cluster's order") { core =>
    core.on(0, 4 * 512, 0, flags = CoreDriver.Discarding)
    core.take(0, 3, 2)
    // Cluster 1: order 3, 16 slots, on FRAG. It moves from list to list.
    core.ok(core.stepPut(0, 512, Nonfull, 3))
    assert(core.seen("move") == 1)
    core.sound(0)
    assert(core.stepPut(0, 512, Nonfull, 3).status == BadRange, "there already")
    assert(core.stepPut(0, 512, Nonfull, 2).status == BadRange, "of another order")
    for (flag <- Seq(Free, Full, Discard, 6, 15)) assert(core.stepPut(0, 512, flag, 3).status == BadRange)
    core.ok(core.stepPut(0, 512, Off, 3))
    core.ok(core.stepPut(0, 512, Frag, 3))
    assert(core.place(core.alloc(1, 3)) == (0, 1024) && core.place(core.alloc(0, 3)) == (0, 528))
    // An empty one: FREE, DISCARD with an order, or being discarded.
    for (flag <- Seq(Nonfull, Frag, Full)) assert(core.stepPut(0, 1536, flag).status == BadRange)
    assert(core.stepPut(0, 1536, Free).status == BadRange)
    assert(core.stepPut(0, 1536, Free, taken = true).status == BadRange)
    core.ok(core.stepPut(0, 1536, Discard, 5))
    assert(core.ok(core.discardTake(0)).offset == 1536)
    core.ok(core.stepPut(0, 1536, Free))
    core.ok(core.stepPut(0, 1536, Discard, 5, taken = true))
    assert(core.discardTake(0).status == NoSpace)
    core.ok(core.discardDone(0, 1536))
    core.sound(0)
    core.on(1, 1024, 4)
    assert(core.stepPut(1, 512, Discard).status == BadRange, "its device does not discard")
    assert(core.stepPut(2, 0, Off).status == BadDevice)
  }

  rule("give and free: slots, count, and the order of an empty cluster; nothing else") { core =>
    core.on(0, 2 * 512, 0)
    assert(core.stepGive(0, 512, 8).status == BadRange, "the cluster is on FREE")
    core.ok(core.stepTake(0, Free))
    core.ok(core.stepGive(0, 520, 8, 3))
    core.ok(core.stepGive(0, 1000, 24, 7))
    assert(core.used(0) == 1 + 32)
    assert(core.stepGive(0, 527, 2).status == BadRange && core.stepFree(0, 527, 2).status == BadRange)
    for ((offset, nr) <- Seq(0L -> 1, 1024L -> 1, 1023L -> 2, 512L -> 0))
      assert(core.stepGive(0, offset, nr).status == BadRange)
    core.ok(core.stepPut(0, 512, Frag, 3))
    core.sound(0)
    assert(core.place(core.alloc(0, 3)) == (0, 512), "its order is 3")
    core.ok(core.stepFree(0, 1000, 24))
    assert(core.used(0) == 1 + 16)
    core.sound(0)
    // A device that gets full by steps stays available; the next free or allocation sets that right.
    core.ok(core.stepGive(0, 528, 496))
    core.ok(core.stepGive(0, 1, 511))
    assert(core.used(0) == 1024 && core.available(0))
    core.ok(core.stepPut(0, 512, Full, 3))
    core.ok(core.stepPut(0, 0, Full))
    assert(core.stepFree(0, 512, 1).status == BadRange, "the cluster is on FULL")
    assert(core.alloc(1, 0).status == NoSpace)
    core.ok(core.stepAvailable(0, joins = false))
    core.sound(0)
    core.ok(core.free(0, 512, 1))
    assert(core.available(0) && core.place(core.alloc(1, 0)) == (0, 512) && !core.available(0))
    core.sound(0)
  }

  rule("next: where a CPU goes on, or all do on a rotating device") { core =>
    core.on(0, 4 * 512, 0)
    core.on(1, 4 * 512, 4, flags = CoreDriver.Rotating, priority = -5)
    core.ok(core.stepTake(0, Free))
    core.ok(core.stepGive(0, 512, 4, 2))
    core.ok(core.stepPut(0, 512, Frag, 2))
    core.ok(core.stepNext(0, 2, 512 + 100, cpu = Some(1)))
    assert(core.place(core.alloc(1, 2)) == (0, 612) && core.seen("fast") == 1)
    core.ok(core.stepNext(0, 2, 512, cpu = Some(1)))
    assert(core.place(core.alloc(1, 2)) == (0, 516), "from the cluster's first slot on")
    core.ok(core.stepNext(0, 2, 0, cpu = Some(1)))
    assert(core.place(core.alloc(1, 2)) == (0, 1024) && core.seen("free") == 1)
    for ((device, offset, cpu) <- Seq((0, 514, Some(1)), (0, 4 * 512, Some(1)), (1, 4, Some(1)), (0, 4, None)))
      assert(core.stepNext(device, 2, offset, cpu).status == BadRange)
    assert(core.stepNext(2, 2, 4, None).status == BadDevice)
    core.ok(core.swapoffBegin(0))
    assert(core.place(core.alloc(0, 0)) == (1, 1))
    core.ok(core.stepNext(1, 0, 300))
    assert(core.place(core.alloc(2, 0)) == (1, 300))
    core.ok(core.stepNext(1, 0, 0))
    assert(core.place(core.alloc(2, 0)) == (1, 512), "nowhere: the first of FREE")
    core.sound(0, 1)
  }

  rule("visit and available: the available list, step by step") { core =>
    for (device <- 0 to 3) core.on(device, 512, device, priority = if (device == 3) 9 else -1)
    def visit(device: Int): (Int, Int) = {
      val answer = core.ok(core.stepVisit(device))
      (answer.device, answer.offset)
    }
    assert(visit(0) == (3, 1 + 1), "device 1 came behind it")
    assert(visit(3) == (3, 1 + 1) && visit(0) == (3, 0) && visit(2) == (3, 1))
    core.ok(core.stepAvailable(3, joins = false))
    assert(core.stepAvailable(3, joins = false).status == BadRange && core.stepVisit(3).status == BadRange)
    assert(core.place(core.alloc(0, 0)) == (1, 1))
    core.ok(core.stepAvailable(3, joins = true))
    assert(core.stepAvailable(3, joins = true).status == BadRange)
    assert(core.stepAvailable(4, joins = true).status == BadDevice && core.stepVisit(4).status == BadDevice)
    assert(core.place(core.alloc(1, 0)) == (3, 1))
    core.sound(0, 1, 2, 3)
  }

  describe("the core, step by step") {
    it("does single steps") {
      keepsTheRules()
    }
  }
}
