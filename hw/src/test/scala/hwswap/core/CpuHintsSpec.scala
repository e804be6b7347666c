// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

class CpuHintsSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private implicit val p: Params = Params(devices = 3, cpus = 3, clusters = 16)

  describe("CpuHints") {
    it("keeps a hint for each CPU and order, and drops those into one device") {
      val random = seeded()
      simulate(new CpuHints) { dut =>
        def ready(): Unit = waitFor("the end of a sweep", 300)(bit(dut.io.ready))(dut.clock.step())
        Seq(dut.io.read.valid, dut.io.write.valid, dut.io.drop.valid).foreach(_.poke(false))
        var hints = Map.empty[(Int, Int), (Int, Int, Int)]
        def check(): Unit =
          for (cpu <- 0 until 2 * p.cpus; order <- 0 until p.orders) {
            dut.io.read.bits.ofDevice.poke(cpu >= p.cpus)
            dut.io.read.bits.index.poke(cpu % p.cpus)
            dut.io.read.bits.order.poke(order)
            pulse(dut.io.read.valid, dut.clock)
            val hint = hints.get((cpu, order))
            dut.io.hint.valid.expect(hint.isDefined)
            for ((device, cluster, slot) <- hint) {
              dut.io.hint.device.expect(device)
              dut.io.hint.cluster.expect(cluster)
              dut.io.hint.last.expect(slot)
            }
          }
        ready()
        check()
        for (round <- 1 to 6) {
          for (_ <- 1 to 40) {
            val place = (random.nextInt(2 * p.cpus), random.nextInt(p.orders))
            val hint = (random.nextInt(p.devices), random.nextInt(p.clusters), random.nextInt(p.slots))
            val valid = random.nextInt(6) != 0
            dut.io.write.bits.key.ofDevice.poke(place._1 >= p.cpus)
            dut.io.write.bits.key.index.poke(place._1 % p.cpus)
            dut.io.write.bits.key.order.poke(place._2)
            dut.io.write.bits.hint.valid.poke(valid)
            dut.io.write.bits.hint.device.poke(hint._1)
            dut.io.write.bits.hint.cluster.poke(hint._2)
            dut.io.write.bits.hint.last.poke(hint._3)
            pulse(dut.io.write.valid, dut.clock)
            hints = if (valid) hints.updated(place, hint) else hints - place
          }
          check()
          val device = round % p.devices
          dut.io.drop.bits.poke(device)
          pulse(dut.io.drop.valid, dut.clock)
          ready()
          hints = hints.filter(_._2._1 != device)
          check()
        }
      }
    }
  }
}
