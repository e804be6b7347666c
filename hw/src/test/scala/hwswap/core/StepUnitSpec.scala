// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** What each STEP command writes, and that a refused one writes nothing. */
class StepUnitSpec extends AnyFunSpec with ChiselSim with Seeded {
  import StatusCode.{BadDevice, BadRange, NoSpace, Ok}

  private implicit val p: Params = Params(devices = 4, cpus = 3, clusters = 16)

  private def unit(body: UnitBench => Unit): Unit =
    simulate(new StepUnit) { dut =>
      dut.io.start.poke(false)
      val bench = new UnitBench(dut)
      bench.device(CoreDriver.Ssd)
      body(bench)
    }
  private def nothing(asked: Asked, status: Int): Unit = {
    assert(asked.status == status)
    assert(asked.meta.isEmpty && asked.move.isEmpty && asked.hint.isEmpty && asked.requeue.isEmpty)
    assert(asked.walks.forall(_ == RowWalk.probe) && asked.change == DeviceOp.none)
  }

  /** Where a cluster of this count may be put, by the register map's words. */
  private def fits(flag: Int, count: Int, discards: Boolean): Boolean = flag match {
    case FlagCode.None => true
    case FlagCode.Free => count == 0
    case FlagCode.Nonfull => count > 0
    case FlagCode.Frag => count > 0 && count < 512
    case FlagCode.Full => count == 512
    case FlagCode.Discard => count == 0 && discards
    case _ => false
  }

  /** The list of a flag and order, -1 for none. */
  private def list(flag: Int, order: Int): Int = flag match {
    case FlagCode.Free => 0
    case FlagCode.Nonfull => 1 + order
    case FlagCode.Frag => 11 + order
    case FlagCode.Full => 21
    case FlagCode.Discard => 22
    case _ => -1
  }

  describe("StepUnit") {
    it("puts clusters where their count allows") {
      val random = seeded()
      unit { bench =>
        var done = 0
        for (_ <- 1 to 400) {
          val discards = random.nextBoolean()
          bench.device(if (discards) CoreDriver.Discarding else CoreDriver.Ssd)
          val count = Seq(0, 0, 1, 300, 512, 512)(random.nextInt(6))
          val possible = (0 to 5).filter(fits(_, count, discards = true))
          val present = possible(random.nextInt(possible.size))
          val order = if (present == FlagCode.Free) 0 else random.nextInt(10)
          val taken = present == FlagCode.Discard && random.nextBoolean()
          bench.cluster(4, ClusterFlag.all(present), order, count, taken)
          val flag = random.nextInt(8)
          val wanted = if (random.nextBoolean()) order else random.nextInt(10)
          val takes = random.nextInt(4) == 0
          val asked = bench.run(CoreOp.stepPut) { r =>
            r.offset.poke(512 + random.nextInt(512))
            r.flags.poke(flag)
            r.order.poke(wanted)
            r.taken.poke(takes)
          }
          val from = if (taken) -1 else list(present, order)
          val to = if (takes) -1 else list(flag, wanted)
          val allowed = fits(flag, count, discards) && (!takes || flag == FlagCode.Discard) &&
            (count == 0 || wanted == order) && (from != to || to == -1)
          if (allowed) {
            done += 1
            val newOrder = if (flag == FlagCode.Free) 0 else wanted
            assert(asked.status == Ok && asked.meta.contains((ClusterFlag.all(flag), newOrder, count, takes)))
            assert(asked.move.isDefined == (from != -1 || to != -1))
            for ((unlink, push, off, onto) <- asked.move) {
              assert(unlink == (from != -1) && push == (to != -1))
              assert((!unlink || off == from) && (!push || onto == to))
            }
            assert(asked.walks.isEmpty && asked.change == DeviceOp.none)
          } else nothing(asked, BadRange)
        }
        assert(done > 50)
        nothing(bench.run(CoreOp.stepPut)(_.offset.poke(4 * 512)), BadRange)
      }
    }

    it("takes the first cluster of a list, or a named one that is on it") {
      unit { bench =>
        bench.lists(Seq(0, 13), 5)
        bench.cluster(5, ClusterFlag.frag, 2, 40)
        def take(flag: Int, order: Int, named: Option[Int]): Asked = bench.run(CoreOp.stepTake) { r =>
          r.flags.poke(flag)
          r.order.poke(order)
          r.named.poke(named.isDefined)
          r.offset.poke(named.getOrElse(0))
        }
        for (
          asked <- Seq(
            take(FlagCode.Frag, 2, None),
            take(FlagCode.Frag, 2, Some(1030)),
            take(FlagCode.None, 0, Some(1024))
          )
        ) {
          assert((asked.status, asked.offset, asked.device, asked.more) == (Ok, 1024, 1, 1))
          assert(asked.meta.contains((ClusterFlag.none, 2, 40, false)))
          assert(asked.move.map(m => (m._1, m._2, m._3)).contains((true, false, 13)))
          assert(asked.cycles <= 6)
        }
        nothing(take(FlagCode.Frag, 3, None), NoSpace)
        nothing(take(FlagCode.Frag, 3, Some(1030)), BadRange)
        nothing(take(FlagCode.None, 0, None), BadRange)
        nothing(take(6, 0, None), BadRange)
        nothing(take(FlagCode.None, 0, Some(2048)), BadRange)
        bench.cluster(6, ClusterFlag.frag, 2, 40)
        assert(take(FlagCode.Frag, 2, Some(1536)).more == 0, "not the first")
        bench.cluster(6, ClusterFlag.none, 2, 40)
        nothing(take(FlagCode.None, 0, Some(1536)), BadRange)
        bench.cluster(6, ClusterFlag.discard, 2, 0, taken = true)
        nothing(take(FlagCode.None, 0, Some(1536)), BadRange)
      }
    }

    it("allocates and frees slots") {
      unit { bench =>
        def slots(op: CoreOp.Type, offset: Int, nr: Int): Asked = bench.run(op) { r =>
          r.offset.poke(offset)
          r.nr.poke(nr)
          r.order.poke(5)
        }
        bench.used(0)
        bench.cluster(3, ClusterFlag.none, 2, 0)
        val first = slots(CoreOp.stepGive, 8, 32)
        assert(first.meta.contains((ClusterFlag.none, 5, 32, false)) && first.walks == Seq(RowWalk.probe, RowWalk.mark))
        assert(first.change == DeviceOp.count && first.usedDelta == 32 && first.move.isEmpty)
        bench.cluster(3, ClusterFlag.nonfull, 2, 100)
        assert(slots(CoreOp.stepGive, 8, 32).meta.contains((ClusterFlag.nonfull, 2, 132, false)))
        bench.used(32)
        val back = slots(CoreOp.stepFree, 8, 32)
        assert(
          back.meta.contains((ClusterFlag.nonfull, 2, 68, false)) && back.walks == Seq(RowWalk.probe, RowWalk.clear)
        )
        assert(back.change == DeviceOp.count && back.usedDelta == -32)
        bench.used(100)
        nothing(slots(CoreOp.stepFree, 8, 100), BadRange) // empty, and on a list
        bench.used(0)
        for ((offset, nr) <- Seq(0 -> 1, 8 -> 0, 510 -> 3, 4 * 512 - 10 -> 1))
          nothing(slots(CoreOp.stepGive, offset, nr), BadRange)
        for (flag <- Seq(ClusterFlag.free, ClusterFlag.full, ClusterFlag.discard)) {
          bench.cluster(3, flag, 0, if (flag == ClusterFlag.full) 512 else 0)
          bench.used(0)
          nothing(slots(CoreOp.stepGive, 8, 32), BadRange)
          bench.used(32)
          nothing(slots(CoreOp.stepFree, 8, 32), BadRange)
        }
        bench.cluster(3, ClusterFlag.frag, 2, 100)
        bench.used(31)
        nothing(slots(CoreOp.stepGive, 8, 32), BadRange)
        nothing(slots(CoreOp.stepFree, 8, 32), BadRange)
      }
    }

    it("writes places to go on, of CPUs on fixed devices and of rotating devices") {
      unit { bench =>
        def next(offset: Int, order: Int, ofDevice: Boolean): Asked = bench.run(CoreOp.stepNext) { r =>
          r.offset.poke(offset)
          r.order.poke(order)
          r.cpu.poke(2)
          r.flags.poke(if (ofDevice) 1 else 0)
        }
        assert(next(512 + 48, 4, ofDevice = false).hint.contains((false, 2, true, 4, 48)))
        assert(next(1024, 9, ofDevice = false).hint.contains((false, 2, true, 5, 0)))
        assert(next(0, 3, ofDevice = false).hint.exists(!_._3))
        nothing(next(520, 4, ofDevice = false), BadRange)
        nothing(next(2048, 4, ofDevice = false), BadRange)
        nothing(next(512, 4, ofDevice = true), BadRange)
        bench.device(CoreDriver.Rotating)
        assert(next(512 + 48, 4, ofDevice = true).hint.contains((true, 1, true, 4, 48)))
        nothing(next(512, 4, ofDevice = false), BadRange)
      }
    }

    it("changes the available list") {
      unit { bench =>
        bench.availableList(3, Some(2))
        val visit = bench.run(CoreOp.stepVisit)(_ => ())
        assert((visit.status, visit.requeue, visit.device, visit.offset) == (Ok, Some(1), 3, 3))
        bench.availableList(1, None)
        assert(bench.run(CoreOp.stepVisit)(_ => ()).offset == 0)
        nothing(bench.run(CoreOp.stepAvailable)(_.offset.poke(1)), BadRange)
        assert(bench.run(CoreOp.stepAvailable)(_.offset.poke(0)).change == DeviceOp.leave)
        bench.device(CoreDriver.Ssd, available = false)
        nothing(bench.run(CoreOp.stepVisit)(_ => ()), BadRange)
        nothing(bench.run(CoreOp.stepAvailable)(_.offset.poke(0)), BadRange)
        assert(bench.run(CoreOp.stepAvailable)(_.offset.poke(1)).change == DeviceOp.join)
        bench.device(CoreDriver.Ssd, listed = false)
        for (op <- CoreOp.steps) nothing(bench.run(op)(_ => ()), BadDevice)
      }
    }
  }
}
