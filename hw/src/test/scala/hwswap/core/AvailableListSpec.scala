// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import org.scalatest.funspec.AnyFunSpec

class AvailableListSpec extends AnyFunSpec with CoreTest with Seeded {

  /** The list as it shall be: (device, priority), head first. */
  private type Model = Vector[(Int, Int)]

  private def inserted(list: Model, device: Int, priority: Int): Model = {
    val (ahead, behind) = list.span(_._2 >= priority)
    (ahead :+ (device -> priority)) ++ behind
  }

  private def run(p: Params, steps: Int): Unit = {
    val random = seeded()
    simulate(new AvailableList()(p)) { dut =>
      var list: Model = Vector.empty
      val operations = Seq(dut.io.add, dut.io.remove, dut.io.requeue)
      operations.foreach(_.poke(false))
      for (_ <- 1 to steps) {
        val device = random.nextInt(p.devices)
        val member = list.find(_._1 == device)
        val priority = Seq(-32768, -2, -1, 0, 5, 32767)(random.nextInt(6))
        val (operation, after) = member match {
          case None => (dut.io.add, inserted(list, device, priority))
          case Some(_) if random.nextInt(3) == 0 => (dut.io.remove, list.filter(_._1 != device))
          case Some((_, own)) => (dut.io.requeue, inserted(list.filter(_._1 != device), device, own))
        }
        operations.foreach(o => o.poke(o eq operation))
        dut.io.device.poke(device)
        dut.io.priority.poke(priority)
        dut.clock.step()
        operations.foreach(_.poke(false))
        dut.clock.step()
        list = after

        dut.io.view.members.expect(list.map(BigInt(1) << _._1).sum.U)
        val first = list.map(_._1).headOption
        dut.io.view.first.valid.expect(first.isDefined)
        first.foreach(dut.io.view.first.bits.expect(_))
        for (((cursor, _), at) <- list.zipWithIndex) {
          dut.io.cursor.poke(cursor)
          val successor = list.drop(at + 1).map(_._1).headOption
          dut.io.view.successor.valid.expect(successor.isDefined)
          successor.foreach(dut.io.view.successor.bits.expect(_))
        }
      }
    }
  }

  describe("AvailableList") {
    it("keeps five devices in order of priority, equals in order of arrival") {
      run(Params(devices = 5), 1000)
    }
    it("keeps 32 devices") {
      run(Params(devices = 32), 300)
    }
    it("keeps one device") {
      run(Params(devices = 1), 50)
    }
    it("stops when a device is added twice") {
      stopsWith("a device is added to the available list twice") {
        simulate(new AvailableList()(Params(devices = 3))) { dut =>
          Seq(dut.io.remove, dut.io.requeue).foreach(_.poke(false))
          dut.io.device.poke(2)
          dut.io.priority.poke(-1)
          for (_ <- 1 to 2) {
            pulse(dut.io.add, dut.clock)
            dut.clock.step()
          }
        }
      }
    }
  }
}
