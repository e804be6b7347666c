// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

class DiscardUnitSpec extends AnyFunSpec with ChiselSim {
  private implicit val p: Params = Params(devices = 2, cpus = 1, clusters = 16)
  private val discard = ListId.discard

  private def unit(body: UnitBench => Unit): Unit =
    simulate(new DiscardUnit) { dut =>
      dut.io.start.poke(false)
      val bench = new UnitBench(dut)
      bench.device(CoreDriver.Discarding)
      body(bench)
    }

  describe("DiscardUnit") {
    it("takes the first cluster off DISCARD and leaves its flag and order") {
      unit { bench =>
        bench.lists(Seq(0, discard), 5)
        bench.cluster(5, ClusterFlag.discard, 7, 0)
        val asked = bench.run(CoreOp.discardTake)(_ => ())
        assert((asked.status, asked.offset) == (StatusCode.Ok, 2 * 512))
        assert(asked.meta.contains((ClusterFlag.discard, 7, 0, true)))
        assert(asked.move.map(m => (m._1, m._2, m._3)).contains((true, false, discard)))
        assert(asked.cycles <= 6)
      }
    }
    it("says when there is none, or no such device") {
      unit { bench =>
        bench.lists(Seq(0, 1, 21), 5)
        assert(bench.run(CoreOp.discardTake)(_ => ()).status == StatusCode.NoSpace)
        bench.device(CoreDriver.Discarding, listed = false)
        assert(bench.run(CoreOp.discardTake)(_ => ()).status == StatusCode.BadDevice)
        assert(bench.run(CoreOp.discardDone)(_ => ()).status == StatusCode.BadDevice)
      }
    }
    it("puts a discarded cluster on FREE without an order, and no other") {
      unit { bench =>
        bench.cluster(6, ClusterFlag.discard, 7, 0, taken = true)
        val asked = bench.run(CoreOp.discardDone)(_.offset.poke(3 * 512 + 1))
        assert(asked.status == StatusCode.Ok && asked.cycles == 2)
        assert(asked.meta.contains((ClusterFlag.free, 0, 0, false)))
        assert(asked.move.map(m => (m._1, m._2, m._4)).contains((false, true, 0)))
        val outside = bench.run(CoreOp.discardDone)(_.offset.poke(4 * 512))
        assert(outside.status == StatusCode.BadRange && outside.meta.isEmpty && outside.move.isEmpty)
        bench.cluster(6, ClusterFlag.discard, 7, 0)
        val listed = bench.run(CoreOp.discardDone)(_.offset.poke(3 * 512))
        assert(listed.status == StatusCode.BadRange && listed.meta.isEmpty && listed.move.isEmpty)
      }
    }
  }
}
