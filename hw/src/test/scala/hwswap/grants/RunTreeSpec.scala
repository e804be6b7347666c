// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** The tree against a list of values, with how long it takes. */
class RunTreeSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private def ready(dut: RunTree, most: Int): Unit = waitFor("the end", most)(bit(dut.io.ready))(dut.clock.step())

  for (clusters <- Seq(8, 64, 2048, 65536))
    it(s"finds the lowest of $clusters clusters") {
      val random = seeded()
      val p = Params(clusters = clusters)
      val levels = (p.clusterBits + 3) / 4
      simulate(new RunTree()(p)) { dut =>
        dut.io.set.valid.poke(false)
        dut.io.find.valid.poke(false)
        dut.clock.step()
        ready(dut, clusters + 16)
        val values = Array.fill(3, clusters)(0)
        // Few places, so that rows become empty again.
        val places = Seq.fill(40)(random.nextInt(clusters)) ++ Seq(0, 1, clusters - 1, 15, 16, 17).filter(_ < clusters)
        for (_ <- 0 until 600) {
          val kind = random.nextInt(3)
          if (random.nextInt(100) < 60) {
            val cluster = places(random.nextInt(places.length))
            values(kind)(cluster) = if (random.nextBoolean()) 0 else random.nextInt(11)
            dut.io.set.bits.kind.poke(5 * kind)
            dut.io.set.bits.cluster.poke(cluster)
            dut.io.set.bits.value.poke(values(kind)(cluster))
            pulse(dut.io.set.valid, dut.clock)
            ready(dut, 6 * levels)
          } else {
            def end = if (random.nextBoolean()) random.nextInt(clusters) else places(random.nextInt(places.length))
            val (one, other) = (end, end)
            val (first, last) = (one.min(other), one.max(other))
            val above = random.nextInt(10)
            dut.io.find.bits.kind.poke(5 * kind)
            dut.io.find.bits.above.poke(above)
            dut.io.find.bits.first.poke(first)
            dut.io.find.bits.last.poke(last)
            pulse(dut.io.find.valid, dut.clock)
            ready(dut, 3 * (2 * levels - 1))
            val expected = (first to last).find(values(kind)(_) > above)
            dut.io.found.valid.expect(expected.nonEmpty)
            for (cluster <- expected) dut.io.found.bits.expect(cluster)
          }
        }
      }
    }
}
