// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** A request to the core, as numbers. */
private final case class Entered(
    op: CoreOp.Type,
    cpu: Int,
    order: Int,
    device: Int,
    offset: Long,
    nr: Int,
    cluster: Int
)

/** A device, as the intake looks at it. */
private final case class Drive(claimed: Boolean, listed: Boolean, base: Int, pages: Int) {
  def clusters: Int = (pages + 511) / 512
}

/** A hint, or none. */
private final case class HintedPlace(valid: Boolean, device: Int, cluster: Int, last: Int)

/** Plays everybody around the intake: requests that come when they like, the hints' memory, an executor that takes
  * requests when it likes and writes hints, units.
  */
private class IntakeBench(dut: Intake, random: Random, shared: Boolean)(implicit p: Params) extends Peeks {
  private val drives = Seq(
    Drive(claimed = true, listed = true, 0, 5 * 512 - 17),
    Drive(claimed = true, listed = false, 5, 512),
    Drive(claimed = false, listed = false, 0, 0),
    Drive(claimed = true, listed = true, 6, 10 * 512),
    Drive(claimed = true, listed = true, 1, 3)
  )
  private val hints = mutable.Map.empty[(Int, Int), HintedPlace]
  private val plain = Seq(CoreOp.alloc, CoreOp.free)
  private val units = CoreOp.all.filterNot(plain.contains)

  def draw(): Entered = {
    val op = random.nextInt(10) match {
      case 0 | 1 | 2 | 3 => CoreOp.alloc
      case 4 | 5 | 6 | 7 => CoreOp.free
      case 8 => units(random.nextInt(units.size))
      case _ => CoreOp.all(random.nextInt(CoreOp.all.size))
    }
    // Mostly requests that make sense.
    def odd: Boolean = random.nextInt(12) == 0
    val device = if (odd) random.nextInt(32) else Seq(0, 3)(random.nextInt(2))
    val pages = drives.lift(device).map(_.pages).getOrElse(0).max(2)
    val order = if (odd) random.nextInt(16) else random.nextInt(p.orders)
    val offset = random.nextInt(16) match {
      case 0 => random.nextInt() & 0xffffffffL
      case 1 => pages - 1L
      case 2 => 0L
      case n =>
        val slot = 1 + random.nextInt(pages - 1)
        if (n < 8) (slot >> order << order).toLong else slot.toLong
    }
    val nr = if (odd) random.nextInt(1024) else 1 + random.nextInt((512 - offset % 512).toInt)
    Entered(
      op,
      if (odd) random.nextInt(256) else random.nextInt(p.cpus),
      order,
      device,
      offset,
      nr,
      random.nextInt(p.clusters)
    )
  }

  private def isAlloc(r: Entered): Boolean = r.op == CoreOp.alloc
  private def isPlain(r: Entered): Boolean = plain.contains(r.op)

  /** Why it is refused, as the interface has it; the first reason counts. */
  private def status(r: Entered): Int = {
    val free = r.op == CoreOp.free
    val drive = drives.lift(r.device).filter(d => d.claimed && d.listed)
    val inCluster = r.nr > 0 && r.offset > 0 && r.offset % 512 + r.nr <= 512
    if (isAlloc(r) && (r.cpu >= p.cpus || r.order >= p.orders)) StatusCode.BadCpu
    else if (free && drive.isEmpty) StatusCode.BadDevice
    else if (free && !(inCluster && r.offset + r.nr <= drive.get.pages)) StatusCode.BadRange
    else StatusCode.Ok
  }

  private def key(r: Entered): (Int, Int) = (if (shared) 0 else r.cpu, r.order)

  private def pokeKey(port: HintKey, key: (Int, Int)): Unit = {
    port.ofDevice.poke(false)
    port.index.poke(key._1)
    port.order.poke(key._2)
  }

  private def pokePlace(port: CpuHint, place: HintedPlace): Unit = {
    port.valid.poke(place.valid)
    port.device.poke(place.device)
    port.cluster.poke(place.cluster)
    port.last.poke(place.last)
    port.whole.poke(false)
  }

  private def somePlace(): HintedPlace =
    HintedPlace(random.nextInt(4) > 0, random.nextInt(p.devices), random.nextInt(p.clusters), random.nextInt(p.slots))

  private def someKey(): (Int, Int) = (random.nextInt(if (shared) 1 else p.cpus), random.nextInt(p.orders))

  private def start(): Unit = {
    dut.io.policy.hint.poke(if (shared) HintPolicyCode.Shared else HintPolicyCode.PerCpu)
    dut.io.req.valid.poke(false)
    dut.io.forward.newHint.valid.poke(false)
    dut.io.unit.done.poke(false)
    dut.io.next.take.poke(false)
    for ((drive, i) <- drives.zipWithIndex) {
      val device = dut.io.devices(i)
      device.info.claimed.poke(drive.claimed)
      device.info.base.poke(drive.base)
      device.info.pages.poke(drive.pages)
      device.clusters.poke(drive.clusters)
      device.listed.poke(drive.listed)
    }
  }

  /** Checks that the request taken is the one let in, with the hint as it is then. */
  private def compare(r: Entered, read: Option[Int]): Unit = {
    val op = dut.io.next.op.bits
    val expected = status(r)
    op.status.expect(expected)
    op.refused.expect(expected != StatusCode.Ok)
    op.free.expect(r.op == CoreOp.free)
    op.alloc.expect(isAlloc(r))
    if (expected != StatusCode.Ok) dut.io.next.needsCluster.expect(false)
    else {
      if (isAlloc(r)) {
        val hint = hints.getOrElse(key(r), HintedPlace(valid = false, 0, 0, 0))
        assert((int(op.key.index), int(op.key.order)) == key(r))
        op.cpu.expect(r.cpu)
        op.order.expect(r.order)
        op.hint.valid.expect(hint.valid)
        dut.io.next.needsCluster.expect(hint.valid)
        if (hint.valid) {
          op.hint.last.expect(hint.last)
          op.hint.whole.expect(false)
          op.device.expect(hint.device)
          dut.io.next.cluster.expect(hint.cluster)
        }
      } else if (r.op == CoreOp.free) {
        op.device.expect(r.device)
        op.nr.expect(r.nr)
        op.range.start.expect(r.offset % 512)
        op.range.last.expect(r.offset % 512 + r.nr - 1)
      }
      val drive = drives.lift(r.device).filter(d => d.claimed && r.offset < d.pages)
      if (r.op == CoreOp.dump) dut.io.next.cluster.expect(r.cluster)
      else if (r.op == CoreOp.free || CoreOp.ofSlot.contains(r.op)) {
        dut.io.next.needsCluster.expect(true)
        for (d <- drive) dut.io.next.cluster.expect((d.base + r.offset / 512) % p.clusters)
      }
    }
    if (bit(dut.io.next.needsCluster))
      assert(read.contains(int(dut.io.next.cluster)), "the cluster was not read just before")
  }

  /** So many requests, with the chances in per cent that one is offered, and that the present one is taken. */
  def run(count: Int, offers: Int, takes: Int): Map[Int, Int] = {
    start()
    val inside = mutable.Queue.empty[Entered]
    val statuses = mutable.Map.empty[Int, Int].withDefaultValue(0)
    var offered = Option.empty[Entered]
    var arriving = Option.empty[(Int, Int)]
    var write, nextWrite = Option.empty[((Int, Int), HintedPlace)]
    var unit = Option.empty[Entered] // let in, and not done
    var unitLeft = -1 // cycles until a unit is done; none is at work below 0
    var exclusive = 0
    var read = Option.empty[Int]
    var lastKey, presentKey = (0, 0)
    var taken, quiet = 0
    while (taken < count) {
      // A request once offered stays.
      if (offered.isEmpty && random.nextInt(100) < offers) offered = Some(draw())
      dut.io.req.valid.poke(offered.isDefined)
      for (r <- offered) {
        val bits = dut.io.req.bits
        bits.op.poke(r.op)
        bits.cpu.poke(r.cpu)
        bits.order.poke(r.order)
        bits.device.poke(r.device)
        bits.offset.poke(r.offset)
        bits.nr.poke(r.nr)
        bits.cluster.poke(r.cluster)
      }
      val hintsReady = random.nextInt(10) > 0
      dut.io.hintsReady.poke(hintsReady)

      // The hints' memory: the hint read one cycle ago is there, unless it was written then.
      pokePlace(
        dut.io.hint,
        arriving.map(hints.getOrElse(_, HintedPlace(valid = false, 0, 0, 0))).getOrElse(somePlace())
      )
      write = nextWrite
      nextWrite = Option.when(unitLeft < 0 && random.nextInt(4) == 0)((someKey(), somePlace()))
      dut.io.forward.newHint.valid.poke(write.isDefined)
      val (writeKey, writePlace) = write.getOrElse((someKey(), somePlace()))
      pokeKey(dut.io.forward.newHint.bits.key, writeKey)
      pokePlace(dut.io.forward.newHint.bits.hint, writePlace)
      pokeKey(dut.io.forward.nextKey, nextWrite.map(_._1).getOrElse(someKey()))
      lastKey = presentKey
      presentKey = someKey()
      pokeKey(dut.io.forward.key, presentKey)

      if (exclusive > 0) exclusive -= 1
      else if (unitLeft < 0 && random.nextInt(20) == 0) exclusive = random.nextInt(10)
      dut.io.next.exclusive.poke(exclusive > 0 || unitLeft >= 0)
      dut.io.unit.done.poke(unitLeft == 0)
      dut.io.next.take.poke(false)

      // Output.
      val valid = bit(dut.io.next.op.valid)
      val takes_ = valid && random.nextInt(100) < takes
      dut.io.next.take.poke(takes_)
      if (valid) {
        assert(inside.nonEmpty, "a request comes out that never went in")
        withClue(s"request $taken, ${inside.head}: ")(compare(inside.head, read))
        if (isAlloc(inside.head) && status(inside.head) == StatusCode.Ok)
          assert(bit(dut.io.forward.alike) == (lastKey == key(inside.head)), "whether it is like the present one")
      }
      if (unitLeft >= 0) {
        val r = unit.get
        dut.io.unit.req.op.expect(r.op)
        dut.io.unit.req.offset.expect(r.offset)
        dut.io.unit.req.nr.expect(r.nr)
        dut.io.unit.req.device.expect(r.device)
        val drive = drives.lift(r.device).filter(_.claimed)
        dut.io.unit.claimed.expect(drive.isDefined)
        for (d <- drive) {
          dut.io.unit.device.info.base.expect(d.base)
          dut.io.unit.device.info.pages.expect(d.pages)
        }
      }

      // Input.
      val ready = bit(dut.io.req.ready)
      if (ready) assert(hintsReady && unit.isEmpty, "a request is let in that has to wait")
      read = Option.when(bit(dut.io.read.valid))(int(dut.io.read.bits))
      if (read.isDefined) assert(exclusive == 0 && unitLeft < 0, "the store is read, which is somebody else's")
      arriving = None
      if (ready && offered.isDefined) {
        val r = offered.get
        if (isAlloc(r) && r.cpu < p.cpus && r.order < p.orders) {
          readsHint(key(r))
          // A hint that is written in the cycle in which it is read comes as nothing defined.
          arriving = Option.when(!write.exists(_._1 == key(r)))(key(r))
        }
        inside.enqueue(r)
        if (!isPlain(r)) unit = Some(r)
        offered = None
      }
      for ((key, place) <- write) hints(key) = place
      dut.clock.step()
      if (unitLeft == 0) unit = None
      unitLeft = (unitLeft - 1).max(-1)
      quiet += 1
      if (takes_) {
        val r = inside.dequeue()
        statuses(status(r)) += 1
        if (!isPlain(r)) unitLeft = 1 + random.nextInt(10)
        taken += 1
        quiet = 0
      }
      assert(quiet < 2000, "nothing comes out any more")
    }
    statuses.toMap
  }

  private def readsHint(key: (Int, Int)): Unit = {
    dut.io.readHint.valid.expect(true)
    assert((int(dut.io.readHint.bits.index), int(dut.io.readHint.bits.order)) == key, "another hint is read")
  }
}

/** Requests leave the intake in order, checked, with the newest hint and with their cluster read, whatever the pace. */
class IntakeSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private val p = Params(devices = 5, cpus = 3, clusters = 16)

  // Requests are offered in so many per cent of the cycles, and taken in so many.
  for (
    (name, offers, takes, shared) <- Seq(
      ("both sides at once", 100, 100, false),
      ("idle cycles", 25, 100, false),
      ("back-pressure", 100, 25, true)
    )
  )
    it(s"lets requests through as they are: $name") {
      val random = seeded()
      simulate(new Intake()(p)) { dut =>
        val statuses = new IntakeBench(dut, random, shared)(p).run(900, offers, takes)
        assert(statuses(StatusCode.Ok) > 300)
        for (status <- Seq(StatusCode.BadCpu, StatusCode.BadDevice, StatusCode.BadRange))
          assert(statuses(status) > 10)
      }
    }
}
