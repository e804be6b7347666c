// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

class AllocWalkSpec extends AnyFunSpec with ChiselSim with Seeded {
  private implicit val p: Params = Params()

  private def nonfull(order: Int): Int = 1 + order
  private def frag(order: Int): Int = 11 + order

  /** The lists an order looks at, and whether all of each. */
  private def walk(
      order: Int,
      freeFirst: Boolean,
      allFrag: Boolean,
      noFrag: Boolean
  ): Seq[(Int, Boolean)] = {
    val small = order < 9
    Seq(0 -> false).filter(_ => freeFirst) ++ Seq(nonfull(order) -> true).filter(_ => small) ++
      Seq(0 -> false).filterNot(_ => freeFirst) ++ Seq(frag(order) -> allFrag).filter(_ => small && !noFrag) ++
      (if (order == 0) (1 to 9).flatMap(o => Seq(frag(o) -> true, nonfull(o) -> true)) else Nil)
  }

  describe("AllocWalk") {
    it("names the lists that hold something in the kernel's order") {
      val random = seeded()
      simulate(new AllocWalk) { dut =>
        for (order <- 0 until p.orders; _ <- 1 to 60) {
          val present = (0 until p.lists).filter(_ => random.nextInt(3) == 0).toSet
          val (freeFirst, allFrag, noFrag) = (random.nextBoolean(), random.nextBoolean(), random.nextBoolean())
          dut.io.order.poke(order)
          dut.io.freeFirst.poke(freeFirst)
          dut.io.allFrag.poke(allFrag)
          dut.io.noFrag.poke(noFrag)
          dut.io.nonEmpty.poke(present.map(BigInt(1) << _).sum.U)
          var from = 0
          for ((list, whole) <- walk(order, freeFirst, allFrag, noFrag).filter(step => present(step._1))) {
            dut.io.from.poke(from)
            dut.clock.step()
            dut.io.valid.expect(true)
            dut.io.list.expect(list)
            dut.io.whole.expect(whole)
            from = dut.io.position.peek().litValue.toInt + 1
          }
          dut.io.from.poke(from)
          dut.clock.step()
          dut.io.valid.expect(false)
        }
      }
    }
  }
}
