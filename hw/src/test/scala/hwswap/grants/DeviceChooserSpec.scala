// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable

/** The chooser against the rules as they are written, with clusters that are in a list here. */
class DeviceChooserSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private val p = Params(devices = 5, clusters = 256)

  /** A cluster that nobody has: whose, of which kind (an order, FREE, or spent), with how many orders. */
  private case class Cluster(number: Int, device: Int, kind: Int, run: Int) {
    def free: Boolean = kind == RunTree.Free
    def serves(order: Int, open: Boolean): Boolean =
      run > order && (free || (order < 9 && (open || order == 0 || kind == order)))

    /** Lowest first. */
    def rank(order: Int, open: Boolean): (Int, Int, Int) =
      if (free) (99, 0, number)
      else if (open) ((kind - order).abs, kind, number)
      else if (kind == order) (0, 0, number)
      else if (kind == RunTree.Spent) (1, 0, number)
      else (2, -kind, number)
  }
  private case class Device(live: Boolean, file: Boolean, rotating: Boolean, priority: Int) {
    def serves(order: Int): Boolean = live && !rotating && !(file && order > 0)
  }

  for (open <- Seq(false, true))
    it(s"takes the best priority that has room, then whose turn it is, then the best cluster, open $open") {
      val random = seeded()
      simulate(new DeviceChooser()(p)) { dut =>
        val turn = mutable.ListBuffer.from(0 until p.devices)
        def last(device: Int): Unit = {
          turn -= device
          turn += device
        }
        dut.io.open.poke(open)
        dut.io.start.valid.poke(false)
        dut.io.answer.valid.poke(false)
        dut.io.last.valid.poke(false)
        for (entry <- dut.io.devices) {
          entry.base.poke(0)
          entry.clusters.poke(1)
          entry.epoch.poke(0)
        }
        var chosen, lower = 0
        for (_ <- 0 until 250) {
          val devices = Seq.fill(p.devices)(
            Device(
              random.nextInt(5) > 0,
              random.nextInt(5) == 0,
              random.nextInt(8) == 0,
              Seq(-1, -1, 5)(random.nextInt(3))
            )
          )
          val clusters = Seq.tabulate(random.nextInt(12)) { i =>
            val (kind, run) = (random.nextInt(11), random.nextInt(11))
            val spent = !open && kind > 0 && kind < 10 && run <= kind
            Cluster(20 * i + random.nextInt(20), random.nextInt(p.devices), if (spent) RunTree.Spent else kind, run)
          }
          val order = Seq(0, 0, 1, 3, 4, 8, 9)(random.nextInt(7))
          val alone = random.nextBoolean()
          val spare = Seq.fill(p.devices)(random.nextBoolean())
          def mayOpen(device: Int): Boolean = open || (alone && (order == 0 || order == 9 || spare(device)))
          def mine(device: Int): Seq[Cluster] =
            clusters.filter(c => c.device == device && c.serves(order, open) && (!c.free || mayOpen(device)))
          dut.io.alone.poke(alone)
          for ((port, value) <- dut.io.spare.zip(spare)) port.poke(value)
          // What is counted may be of clusters that somebody has: who finds a run finds single slots, too.
          val counted = Seq.tabulate(p.devices) { d =>
            val more = if (random.nextInt(4) == 0) random.nextInt(1024) | 1 else 0
            more | (0 to 9).filter(k => clusters.exists(c => c.device == d && c.serves(k, open))).map(1 << _).sum
          }
          for (((entry, orders), (device, number)) <- dut.io.devices.zip(dut.io.orders).zip(devices.zipWithIndex)) {
            entry.live.poke(device.live)
            entry.file.poke(device.file)
            entry.rotating.poke(device.rotating)
            entry.priority.poke(device.priority)
            orders.poke(counted(number))
          }
          if (random.nextInt(6) == 0) {
            val device = random.nextInt(p.devices)
            dut.io.last.bits.poke(device)
            pulse(dut.io.last.valid, dut.clock)
            last(device)
          }
          val least = turn.filter(d => devices(d).live && counted(d) % 2 == 1).map(devices(_).priority).maxOption
          val ready = turn.toSeq.filter(d => devices(d).serves(order) && mine(d).nonEmpty)
          val expected = ready
            .find(d => least.contains(devices(d).priority))
            .map(d => (d, mine(d).minBy(_.rank(order, open))))
          if (expected.isEmpty && ready.nonEmpty) lower += 1

          dut.io.start.bits.poke(order)
          dut.io.request.ready.poke(false)
          pulse(dut.io.start.valid, dut.clock)
          var cycles = 0
          while (!dut.io.done.peek().litToBoolean) {
            cycles += 1
            assert(cycles < 2000, "it does not end")
            val ask = dut.io.request.valid.peek().litToBoolean && random.nextBoolean()
            dut.io.request.ready.poke(ask)
            val request = dut.io.request.bits
            val (kind, run, device) =
              (request.kind.peek().litValue, request.order.peek().litValue, request.device.peek().litValue)
            dut.clock.step()
            if (ask) {
              dut.io.request.ready.poke(false)
              for (_ <- 0 until random.nextInt(3)) dut.clock.step()
              val found = clusters.filter(c => c.device == device && c.kind == kind && c.run > run).map(_.number)
              dut.io.answer.bits.found.poke(found.nonEmpty)
              dut.io.answer.bits.cluster.poke(found.minOption.getOrElse(0))
              pulse(dut.io.answer.valid, dut.clock)
            }
          }
          dut.io.found.valid.expect(expected.nonEmpty)
          for ((device, cluster) <- expected) {
            dut.io.found.bits.expect(cluster.number)
            dut.io.device.expect(device)
            last(device)
            chosen += 1
          }
          dut.clock.step()
        }
        assert(chosen > 60)
        assert(lower > 3, "hardly ever has only a device of a lower priority a cluster")
      }
    }
}
