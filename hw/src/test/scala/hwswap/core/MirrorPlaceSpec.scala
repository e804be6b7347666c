// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Every combination of flags against the rules, one row of the table each. */
class MirrorPlaceSpec extends AnyFunSpec with ChiselSim {
  import FlagCode._
  private implicit val p: Params = Params()

  /** Where a cluster belongs: flag and order. The engine's own order is 3, the kernel's 5. */
  private def expected(own: Int, kernel: Int, count: Int, hinted: Boolean): (Int, Int) =
    (kernel, hinted, count) match {
      case (k, _, _) if k > Discard => (None, 0)
      case (Discard, _, _) => (Discard, 5)
      case (None, false, _) => (None, 5)
      case (None | Free, true, 512) => (Full, 3)
      case (_, _, 512) => (Full, 5)
      case (_, _, 0) => (Free, 0)
      case (None | Free, true, _) if own == Nonfull || own == Frag => (own, 3)
      case (Free, true, _) => (Frag, 3)
      case (None, true, _) => (if (own == Full) Frag else own, 3)
      case (Frag, _, _) => (Frag, 5)
      case _ => (Nonfull, 5)
    }

  describe("MirrorPlace") {
    it("follows the rules for every flag of the engine and the kernel, full, empty and in between, hinted or not") {
      simulate(new MirrorPlace) { dut =>
        dut.io.order.poke(3)
        dut.io.kernelOrder.poke(5)
        for {
          own <- ClusterFlag.all
          kernel <- 0 to 15
          count <- Seq(0, 1, 511, 512)
          hinted <- Seq(false, true) if !hinted || count > 0
        } {
          dut.io.flag.poke(own)
          dut.io.kernelFlag.poke(kernel)
          dut.io.count.poke(count)
          dut.io.hinted.poke(hinted)
          val (flag, order) = expected(own.litValue.toInt, kernel, count, hinted)
          withClue(s"engine $own, kernel $kernel, count $count, hinted $hinted: ") {
            assert(dut.io.newFlag.peek().litValue == flag)
            assert(dut.io.newOrder.peek().litValue == order)
          }
        }
      }
    }

    it("keeps a cluster with an order there is not off the lists") {
      simulate(new MirrorPlace) { dut =>
        dut.io.flag.poke(ClusterFlag.frag)
        dut.io.order.poke(2)
        dut.io.kernelFlag.poke(Frag)
        dut.io.kernelOrder.poke(10)
        dut.io.count.poke(7)
        dut.io.hinted.poke(true)
        dut.io.newFlag.expect(ClusterFlag.none)
        dut.io.newOrder.expect(0)
      }
    }
  }
}
