// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

class TrunksSpec extends AnyFunSpec with ChiselSim with Seeded {

  /** The numbers that follow a seed, by Scala's own 32-bit arithmetic. */
  private def numbers(seed: Int): Iterator[Int] =
    Iterator.iterate(if (seed == 0) 1 else seed)(step).drop(1)

  private def step(state: Int): Int = {
    val a = state ^ (state << 13)
    val b = a ^ (a >>> 17)
    b ^ (b << 5)
  }

  /** First cluster of the trunk that a number stands for. */
  private def cluster(number: Int, clusters: Int): Int = {
    val trunks = (clusters + 31) / 32
    val bits = 32 - Integer.numberOfLeadingZeros(trunks - 1)
    val trunk = (number & 0xffffffffL) & ((1L << bits) - 1)
    (if (trunk >= trunks) trunk - trunks else trunk).toInt * 32
  }

  for (clusters <- Seq(8, 1024, 65536))
    it(s"draws trunks of devices in a store of $clusters clusters") {
      val random = seeded()
      simulate(new Trunks()(Params(clusters = clusters))) { dut =>
        dut.io.draw.poke(false)
        dut.io.reseed.poke(false)
        dut.io.clusters.poke(1)
        var source = numbers(0)
        for (_ <- 1 to 30) {
          val number = source.next()
          for (_ <- 1 to 5) {
            val size =
              Seq(1, clusters, 1 + random.nextInt(clusters), 32.min(clusters), 33.min(clusters))(random.nextInt(5))
            dut.io.clusters.poke(size)
            dut.clock.step()
            dut.io.cluster.expect(cluster(number, size))
            dut.io.isFirst.expect(cluster(number, size) == 0)
          }
          if (random.nextInt(4) == 0) {
            val seed = Seq(0, 1, -1, random.nextInt())(random.nextInt(4))
            dut.io.seed.poke((seed & 0xffffffffL).U)
            dut.io.reseed.poke(true)
            source = numbers(seed)
          } else {
            dut.io.draw.poke(true)
          }
          dut.clock.step()
          dut.io.reseed.poke(false)
          dut.io.draw.poke(false)
        }
      }
    }
}
