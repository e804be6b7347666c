// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

class ClusterIndexSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {

  /** Cycles a search may take, the cycle of the query included: two words. */
  private val Longest = 10

  private def driven(p: Params)(body: Driver => Unit): Unit =
    simulate(new ClusterIndex()(p)) { dut =>
      Seq(dut.io.update.valid, dut.io.forget.valid, dut.io.search.query.valid).foreach(_.poke(false))
      body(new Driver(dut, p))
    }

  /** The index beside sets of clusters: those that fit, by order, and those that are partly free. */
  private class Driver(dut: ClusterIndex, p: Params) {
    private var fits = Vector.fill(p.orders)(Set.empty[Int])
    private var partly = Set.empty[Int]

    def update(cluster: Int, order: Int, isPartly: Boolean, isFit: Boolean): Unit = {
      dut.io.update.bits.cluster.poke(cluster)
      dut.io.update.bits.order.poke(order)
      dut.io.update.bits.partly.poke(isPartly)
      dut.io.update.bits.fits.poke(isFit)
      pulse(dut.io.update.valid, dut.clock)
      dut.clock.step()
      dut.io.idle.expect(false)
      fits = fits.updated(order, if (isFit) fits(order) + cluster else fits(order) - cluster)
      partly = if (isPartly) partly + cluster else partly - cluster
    }

    /** Lets the last update end. */
    private def rest(): Unit = {
      if (!bit(dut.io.idle)) dut.clock.step()
      dut.io.idle.expect(true)
    }

    private def wait(limit: Int): Unit =
      waitFor("the end of a search", limit - 1)(bit(dut.io.search.ready))(dut.clock.step())

    def find(order: Int, first: Int, last: Int): Unit = {
      rest()
      dut.io.search.query.bits.order.poke(order)
      dut.io.search.query.bits.range.first.poke(first)
      dut.io.search.query.bits.range.last.poke(last)
      pulse(dut.io.search.query.valid, dut.clock)
      wait(Longest)
      def lowest(of: Set[Int]): Option[Int] = of.filter(c => first <= c && c <= last).minOption
      val wanted = Seq(
        dut.io.search.ofOrder -> (if (order < p.orders - 1) lowest(fits(order)) else None),
        dut.io.search.ofAny -> lowest(partly)
      )
      for ((port, cluster) <- wanted) {
        port.valid.expect(cluster.isDefined)
        cluster.foreach(port.bits.expect(_))
      }
    }

    def forget(first: Int, last: Int): Unit = {
      rest()
      dut.io.forget.bits.first.poke(first)
      dut.io.forget.bits.last.poke(last)
      pulse(dut.io.forget.valid, dut.clock)
      wait(4 * p.orders * p.clusters)
      val gone = (first to last).toSet
      fits = fits.map(_ -- gone)
      partly --= gone
    }
  }

  describe("ClusterIndex") {
    it("knows nothing after reset") {
      val p = Params(devices = 1, cpus = 1, clusters = 16)
      driven(p) { index =>
        for (order <- 0 until p.orders) index.find(order, 0, p.clusters - 1)
      }
    }

    for (clusters <- Seq(8, 64, 512))
      it(s"names the lowest of $clusters clusters between two bounds, through random updates") {
        val p = Params(devices = 1, cpus = 1, clusters = clusters)
        val random = seeded()
        driven(p) { index =>
          def bounds(): (Int, Int) = {
            val a = random.nextInt(clusters)
            val b = if (random.nextInt(3) == 0) clusters - 1 else random.nextInt(clusters)
            (a.min(b), a.max(b))
          }
          for (_ <- 1 to 400)
            random.nextInt(40) match {
              case 0 =>
                val (first, last) = bounds()
                index.forget(first, last)
              case n if n < 20 =>
                val partly = random.nextInt(3) != 0
                val fits = partly && random.nextBoolean()
                index.update(random.nextInt(clusters), random.nextInt(p.orders - 1), partly, fits)
              case _ =>
                val (first, last) = bounds()
                index.find(random.nextInt(p.orders), first, last)
            }
        }
      }
  }
}
