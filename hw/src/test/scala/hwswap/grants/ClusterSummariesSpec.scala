// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3.Bool
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** Summaries, who has which cluster, counts and the index, against maps. */
class ClusterSummariesSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private val p = Params(devices = 3, clusters = 128)
  private val ranges = Seq((0, 20), (20, 3), (40, 80))

  /** A cluster's summary: order, list, epoch, orders with a run. */
  private case class Known(order: Int = 0, list: Int = 0, epoch: Int = 0, run: Int = 0) {
    def free: Boolean = list == FlagCode.Free
    def partly: Boolean = list == FlagCode.Nonfull || list == FlagCode.Frag
    def kind(open: Boolean): Option[Int] =
      if (free) Some(RunTree.Free)
      else Option.when(partly)(if (!open && order > 0 && run <= order) RunTree.Spent else order)
    def orders(open: Boolean): Set[Int] = (0 until run).toSet.filter { k =>
      free || (partly && k < 9 && (open || k == 0 || k == order))
    }
  }

  private class Bench(dut: ClusterSummaries, random: Random, var open: Boolean) {
    val known: mutable.Map[Int, Known] = mutable.Map.empty.withDefaultValue(Known())
    val granted: mutable.Set[Int] = mutable.Set.empty
    val epochs: Array[Int] = Array.fill(p.devices)(0)
    val live: Array[Boolean] = Array.fill(p.devices)(false)
    dut.io.open.poke(open)
    dut.io.reading.valid.poke(false)
    dut.io.request.valid.poke(false)
    dut.io.changed.valid.poke(false)
    for ((entry, (base, clusters)) <- dut.io.devices.zip(ranges)) {
      entry.live.poke(false)
      entry.file.poke(false)
      entry.rotating.poke(false)
      entry.priority.poke(0)
      entry.epoch.poke(0)
      entry.base.poke(base)
      entry.clusters.poke(clusters)
    }

    def until(condition: Bool): Unit = waitFor("readiness", 10000)(bit(condition))(dut.clock.step())

    def read(cluster: Int, now: Known): Unit = {
      known(cluster) = now
      val bits = dut.io.reading.bits
      bits.cluster.poke(cluster)
      bits.summary.word.order.poke(now.order)
      bits.summary.word.list.poke(now.list)
      bits.summary.word.epoch.poke(now.epoch)
      bits.summary.run.poke(now.run)
      dut.io.reading.valid.poke(true)
      until(dut.io.reading.ready)
      dut.clock.step()
      dut.io.reading.valid.poke(false)
    }

    private def request(
        op: SummaryOp.Type,
        cluster: Int = 0,
        order: Int = 0,
        kind: Int = 0,
        of: Int = 0
    ): SummaryAnswer = {
      val bits = dut.io.request.bits
      bits.op.poke(op)
      bits.cluster.poke(cluster)
      bits.order.poke(order)
      bits.kind.poke(kind)
      bits.device.poke(of)
      dut.io.request.valid.poke(true)
      until(dut.io.request.ready)
      dut.clock.step()
      dut.io.request.valid.poke(false)
      until(dut.io.answer.valid)
      dut.io.answer.bits
    }

    /** The lowest cluster that is to be found. */
    def lowest(kind: Int, order: Int, of: Int): Option[Int] = {
      val (base, clusters) = ranges(of)
      (base until base + clusters).find { c =>
        !granted(c) && known(c).kind(open).contains(kind) && usable(c)(order)
      }
    }

    /** Has the lowest cluster that there is granted, of a device that is live; returns it. */
    def own(kind: Int, order: Int, of: Int): Option[Int] = {
      val expected = lowest(kind, order, of)
      val answer = request(SummaryOp.own, order = order, kind = kind, of = of)
      answer.found.expect(expected.nonEmpty)
      for (c <- expected) answer.cluster.expect(c)
      granted ++= expected
      dut.clock.step()
      expected
    }

    /** Kinds that an order may come from, with the order. */
    def choices: Seq[(Int, Int)] = for {
      kind <- 0 until 12
      order <- 0 until 10
      if kind == RunTree.Free || (order < 9 && (if (open) kind < 10 else order == 0 || order == kind))
    } yield (kind, order)

    def drop(cluster: Int): Unit = {
      granted -= cluster
      request(SummaryOp.drop, cluster)
      dut.clock.step()
    }

    def change(device: Int, alive: Boolean): Unit = {
      dut.io.changed.bits.poke(device)
      pulse(dut.io.changed.valid, dut.clock)
      live(device) = alive
      epochs(device) = random.nextInt(3)
      dut.io.devices(device).live.poke(alive)
      dut.io.devices(device).epoch.poke(epochs(device))
      if (alive) {
        val (base, clusters) = ranges(device)
        granted --= base until base + clusters
        request(SummaryOp.sweep, of = device)
        dut.clock.step()
      }
    }

    def deviceOf(cluster: Int): Option[Int] = ranges.indices.find { d =>
      live(d) && cluster >= ranges(d)._1 && cluster < ranges(d)._1 + ranges(d)._2
    }
    def usable(cluster: Int): Set[Int] =
      deviceOf(cluster).filter(epochs(_) == known(cluster).epoch).fold(Set.empty[Int])(_ => known(cluster).orders(open))

    def settle(): Unit = {
      until(dut.io.request.ready)
      for ((bits, d) <- dut.io.orders.zipWithIndex if live(d)) {
        val (base, clusters) = ranges(d)
        val expected = (base until base + clusters).flatMap(usable(_)).distinct.map(1 << _).sum
        bits.expect(expected)
        val free = (base until base + clusters).count { c =>
          known(c).free && known(c).epoch == epochs(d) && !granted(c)
        }
        dut.io.spare(d).expect(free >= clusters / 8)
      }
    }
  }

  it("finds what is there, and nothing else, when placement changed while devices were down") {
    val random = seeded()
    simulate(new ClusterSummaries()(p)) { dut =>
      val bench = new Bench(dut, random, open = false)
      import bench._
      change(2, alive = true)
      for (round <- 0 until 12) {
        for (cluster <- 40 until 60)
          read(cluster, Known(random.nextInt(10), random.nextInt(6), epochs(2), random.nextInt(11)))
        settle()
        change(2, alive = false)
        // Clusters are read on both sides of the change.
        for (cluster <- 40 until 46) read(cluster, Known(3, FlagCode.Frag, epochs(2), 2))
        until(dut.io.request.ready)
        open = round % 2 == 0
        dut.io.open.poke(open)
        for (cluster <- 44 until 50) read(cluster, Known(4, FlagCode.Frag, epochs(2), 3))
        change(2, alive = true)
        for ((kind, order) <- choices; cluster <- own(kind, order, of = 2)) drop(cluster)
        settle()
      }
    }
  }

  it("says of what is read whether it is new, and takes it and requests in turn") {
    val random = seeded()
    simulate(new ClusterSummaries()(p)) { dut =>
      val bench = new Bench(dut, random, open = false)
      import bench._
      for (_ <- 0 until 100) {
        val cluster = random.nextInt(4)
        val before = known(cluster)
        val now = before.copy(list = random.nextInt(2), epoch = random.nextInt(2), run = random.nextInt(2))
        read(cluster, if (random.nextBoolean()) now else before)
        var news = 0
        waitFor("the end", 100)(bit(dut.io.settled)) {
          if (bit(dut.io.news)) news += 1
          dut.clock.step()
        }
        assert(news == (if (known(cluster) == before) 0 else 1))
        dut.io.news.expect(false)
      }
      dut.io.request.bits.op.poke(SummaryOp.own)
      dut.io.request.bits.device.poke(0)
      dut.io.request.valid.poke(true)
      dut.io.reading.valid.poke(true)
      for (_ <- 0 until 20; (next, other) <- Seq((dut.io.request, dut.io.reading), (dut.io.reading, dut.io.request))) {
        until(next.ready)
        other.ready.expect(false)
        dut.clock.step()
      }
    }
  }

  it("counts nothing of a device from its new entry until it is swept") {
    val random = seeded()
    simulate(new ClusterSummaries()(p)) { dut =>
      val bench = new Bench(dut, random, open = false)
      import bench._
      for (delay <- 0 until 12) {
        change(0, alive = true)
        until(dut.io.reading.ready)
        read(3, Known(0, FlagCode.Free, epochs(0), 10))
        for (_ <- 0 until delay) dut.clock.step()
        dut.io.changed.bits.poke(0)
        pulse(dut.io.changed.valid, dut.clock)
        // A live entry that comes with more clusters, say: until it is swept nothing is known.
        for (_ <- 0 until 40) {
          dut.io.orders(0).expect(0)
          dut.io.spare(0).expect(false)
          dut.clock.step()
        }
        read(4, Known(0, FlagCode.Free, epochs(0), 10))
        for (_ <- 0 until 40) {
          dut.io.orders(0).expect(0)
          dut.clock.step()
        }
        change(0, alive = false)
      }
    }
  }

  for (open <- Seq(false, true))
    it(s"knows, counts and finds clusters, open $open") {
      val random = seeded()
      simulate(new ClusterSummaries()(p)) { dut =>
        val bench = new Bench(dut, random, open)
        import bench.{open => _, _}
        for (d <- 0 until p.devices) change(d, alive = true)
        val places = Seq.fill(12)(random.nextInt(128)) ++ Seq(0, 19, 20, 22, 119, 120)
        var owned = 0
        for (_ <- 0 until 700) {
          val cluster = places(random.nextInt(places.length))
          random.nextInt(100) match {
            case n if n < 45 =>
              read(cluster, Known(random.nextInt(10), random.nextInt(6), random.nextInt(3), random.nextInt(11)))
            case n if n < 60 => granted.toSeq.sorted.lift(random.nextInt(6)).foreach(drop)
            case n if n < 63 => change(random.nextInt(p.devices), random.nextInt(4) > 0)
            case n if n < 70 => settle()
            case _ =>
              val d = random.nextInt(p.devices)
              val there = choices.filter { case (kind, order) => lowest(kind, order, of = d).nonEmpty }
              val some = if (there.nonEmpty && random.nextBoolean()) there else choices
              val (kind, order) = some(random.nextInt(some.length))
              if (live(d)) owned += own(kind, order, of = d).size
          }
        }
        settle()
        assert(owned > 20)
      }
    }
}
