// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

class DevicePickerSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private implicit val p: Params = Params(devices = 5)

  describe("DevicePicker") {
    it("reads the available list by priority, node, and for default priority the sequence of swapons") {
      val random = seeded()
      simulate(new DevicePicker) { dut =>
        dut.io.start.poke(false)

        /** One question; None when there is no such device. */
        def ask(cursor: Option[Int]): Option[Int] = {
          dut.io.after.poke(cursor.isDefined)
          dut.io.cursor.poke(cursor.getOrElse(0))
          pulse(dut.io.start, dut.clock)
          waitFor("the answer", 2 * p.devices + 4)(bit(dut.io.done))(dut.clock.step())
          val answer = Option.when(bit(dut.io.device.valid))(dut.io.device.bits.peek().litValue.toInt)
          dut.clock.step()
          answer
        }

        for (_ <- 1 to 150) {
          val numbers = random.shuffle((0 until p.devices).toVector)
          val members = random.shuffle((0 until p.devices).toVector).take(random.nextInt(p.devices + 1))
          val priority = Vector.fill(p.devices)(Seq(-1, -1, -1, 3, -2)(random.nextInt(5)))
          val list = members.sortBy(-priority(_)) // stable
          // SEQUENTIAL knows no nodes; a CPU may have no device of its own, or only such.
          val far = (0 until p.devices).filter(_ => random.nextInt(6) < 3).toSet.filter(_ => random.nextInt(3) != 0)
          val sequence =
            list.sortBy(d => (-priority(d), if (far(d)) 1 else 0, if (priority(d) == -1) numbers(d) else 0))
          dut.io.far.poke(far.map(1 << _).sum)
          for (d <- 0 until p.devices) {
            dut.io.numbers(d).poke(numbers(d))
            dut.io.places(d).valid.poke(d < list.size)
            dut.io.places(d).device.poke(list.lift(d).getOrElse(0))
            dut.io.places(d).priority.poke(list.lift(d).map(priority).getOrElse(0))
          }
          assert(ask(None) == sequence.headOption)
          for ((device, at) <- sequence.zipWithIndex)
            assert(ask(Some(device)) == sequence.drop(at + 1).headOption)
        }
      }
    }
  }
}
