// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** Plays the intake, the slow path, the lists, the devices and whoever takes the answers, and follows the rules of
  * `swap_alloc_fast()`, `alloc_swap_scan_cluster()`, `relocate_cluster()` and `__swap_cluster_free_entries()`.
  */
private class ExecutorBench(dut: ExecutorUnderTest, random: Random)(implicit p: Params) extends Peeks {
  private val bases = Seq(0, 6, 12)
  private val writeok = mutable.ArrayBuffer(true, true, true)
  private val discards = Seq(false, true, false)
  private val clusters =
    Seq.tabulate(p.clusters)(c => new ModelCluster(c, bases.lastIndexWhere(_ <= c), p.slots))
  private val hints = mutable.Map.empty[(Int, Int), HintedPlace]
  val seen: mutable.Map[String, Int] = mutable.Map.empty[String, Int].withDefaultValue(0)

  private def hintOf(w: Wants): HintedPlace = hints.getOrElse((w.cpu, w.order), HintedPlace(valid = false, 0, 0, 0))

  private def draw(): Work = random.nextInt(20) match {
    case 0 => Refused(Seq(StatusCode.BadCpu, StatusCode.BadRange, StatusCode.BadDevice)(random.nextInt(3)))
    case 1 if random.nextInt(3) == 0 => ForUnit
    case n if n < 12 =>
      Wants(random.nextInt(2), if (random.nextBoolean()) 0 else random.nextInt(p.orders))
    case _ =>
      val cluster = clusters(random.nextInt(clusters.size))
      val from = random.nextInt(p.slots)
      val first = cluster.used.indexWhere(identity, from)
      if (first < 0) Frees(cluster.number, from, 1 + random.nextInt(p.slots - from))
      else {
        // The slots in use there, or a part; now and then more than these.
        val run = cluster.used.drop(first).takeWhile(identity).length
        val nr = if (random.nextInt(3) == 0) run else 1 + random.nextInt(run)
        Frees(cluster.number, first, if (random.nextInt(12) == 0) (nr + 1).min(p.slots - first) else nr)
      }
  }

  private def listOf(flag: ClusterFlag.Type, order: Int): Int =
    if (flag == ClusterFlag.nonfull) ListId.nonfull(order)
    else if (flag == ClusterFlag.frag) ListId.frag(order)
    else if (flag == ClusterFlag.full) ListId.full
    else if (flag == ClusterFlag.discard) ListId.discard
    else 0

  /** Checks all of a commit but its answer. */
  private def becomes(c: ModelCluster, flag: ClusterFlag.Type, order: Int, always: Boolean): Unit = {
    val moves = always || flag != c.flag
    assert(bit(dut.move.valid) == moves, s"cluster ${c.number} changes its list: $moves, ${c.flag} to $flag")
    if (moves) {
      seen("move") += 1
      val move = dut.move.bits
      move.cluster.expect(c.number)
      move.device.expect(c.device)
      move.unlink.expect(true)
      move.push.expect(true)
      move.fromHead.expect(always)
      move.from.expect(listOf(c.flag, c.order))
      move.to.expect(listOf(flag, order))
    }
    c.flag = flag
    c.order = order
  }

  private def adjusts(device: Int, delta: Int): Unit = {
    assert(dut.change.op.peek().litValue == DeviceOp.adjust.litValue)
    dut.change.device.expect(device)
    assert(dut.change.usedDelta.peek().litValue == delta)
  }
  private def unchanged(): Unit = assert(dut.change.op.peek().litValue == DeviceOp.none.litValue)

  /** Slots were given: in which cluster, and whether it came from a list. */
  private def allocates(w: Wants, c: ModelCluster, slot: Int, listed: Boolean): HintedPlace = {
    val end = slot + (1 << w.order) - 1
    dut.resp.bits.status.expect(StatusCode.Ok)
    dut.resp.bits.device.expect(c.device)
    dut.resp.bits.offset.expect((c.number - bases(c.device)) * p.slots + slot)
    adjusts(c.device, 1 << w.order)
    val order = if (c.count == 0) w.order else c.order
    (slot to end).foreach(c.used(_) = true)
    becomes(c, if (c.count == p.slots) ClusterFlag.full else ClusterFlag.frag, order, listed)
    HintedPlace(c.count < p.slots && end != p.slots - 1, c.device, c.number, end)
  }

  /** The scan of a cluster failed. */
  private def keeps(c: ModelCluster, listed: Boolean): Unit = {
    unchanged()
    val flag =
      if (c.count == 0) ClusterFlag.free else if (c.count == p.slots) ClusterFlag.full else ClusterFlag.frag
    becomes(c, flag, if (c.count == 0) 0 else c.order, listed)
  }

  private def start(): Unit = {
    for (port <- Seq(dut.op.valid, dut.respRoom, dut.moveRoom, dut.unitDone, dut.slowFailed))
      port.poke(false)
    for (port <- Seq(dut.read, dut.slowOpen)) port.valid.poke(false)
    dut.put.valid.poke(false)
    for (i <- bases.indices) {
      val device = dut.devices(i)
      device.info.claimed.poke(true)
      device.info.base.poke(bases(i))
      val solid = 1 << MemMap.DeviceFlags.Flags.Solidstate.lsb
      device.info.flags.poke(if (discards(i)) solid | 1 << MemMap.DeviceFlags.Flags.Discard.lsb else solid)
      device.info.writeok.poke(true)
    }
    dut.blank.poke(true)
    for (c <- 0 until p.clusters) {
      dut.read.bits.poke(c)
      pulse(dut.read.valid, dut.clock)
      dut.slowOpen.bits.poke(c)
      pulse(dut.slowOpen.valid, dut.clock)
      dut.put.valid.poke(true)
      for (w <- 0 until p.words) {
        dut.put.bits.poke(w)
        dut.clock.step()
      }
      dut.put.valid.poke(false)
      dut.clock.step(3)
    }
    dut.blank.poke(false)
  }

  /** Clusters the slow path may name next for this request, of devices that may be written. */
  private def candidates(w: Wants, tried: collection.Set[Int]): Seq[ModelCluster] = clusters.filter { c =>
    writeok(c.device) && !tried(c.number) && (c.flag == ClusterFlag.free ||
      ((c.flag == ClusterFlag.nonfull || c.flag == ClusterFlag.frag) && (w.order == 0 || c.order == w.order)))
  }

  /** So many requests; the chances in per cent that one is there, that an answer is taken, that a list may move. */
  def run(count: Int, offers: Int, takes: Int, moves: Int): Unit = {
    start()
    var pending, current = Option.empty[Work]
    // The cluster read one cycle ago, and the reader.
    var readFor = Option.empty[Option[Int]]
    var keyBefore = Option.empty[(Int, Int)]
    var expectedHint = Option.empty[((Int, Int), Option[HintedPlace])]
    // The slow path: it waits, reads, opens, searches, or is not at work (none).
    var slow, slowCluster = Option.empty[Int]
    var wait_ = 0
    var failing = false
    val tried = mutable.Set.empty[Int]
    var unitLeft = -1
    var done, quiet = 0

    while (done < count) {
      // The CPU's hint that the request before has left.
      val written = bit(dut.newHint.valid)
      assert(written == expectedHint.isDefined, s"a hint is written: $written")
      for ((key, place) <- expectedHint) {
        val bits = dut.newHint.bits
        bits.key.ofDevice.expect(false)
        assert((int(bits.key.index), int(bits.key.order)) == key)
        bits.hint.valid.expect(place.exists(_.valid))
        for (at <- place if at.valid) {
          bits.hint.device.expect(at.device)
          bits.hint.cluster.expect(at.cluster)
          bits.hint.last.expect(at.last)
          bits.hint.whole.expect(false)
        }
        hints(key) = place.getOrElse(HintedPlace(valid = false, 0, 0, 0))
      }
      expectedHint = None

      val exclusive = bit(dut.exclusive)
      if (pending.isEmpty && random.nextInt(100) < offers) {
        pending = Some(draw())
        readFor = None
      }
      val target: Option[Int] = pending.flatMap {
        case w: Wants => Option.when(hintOf(w).valid)(hintOf(w).cluster)
        case f: Frees => Some(f.cluster)
        case _ => None
      }
      // With a hint that was just written the cluster has to be read again.
      val valid = pending.isDefined && readFor.contains(target) && !written && !exclusive
      dut.op.valid.poke(valid)
      for (work <- pending) show(work, target)
      dut.alike.poke(pending.exists { case w: Wants => keyBefore.contains((w.cpu, w.order)); case _ => false })
      keyBefore = Some((int(dut.key.index), int(dut.key.order)))

      // The store: the slow path's, or that of the request that comes next.
      val opens = slow.contains(1)
      dut.slowOpen.valid.poke(opens)
      for (c <- slowCluster) {
        dut.slowOpen.bits.poke(c)
        dut.slowDevice.poke(clusters(c).device)
        dut.list.poke(listOf(clusters(c).flag, clusters(c).order))
      }
      val reads = slow.contains(0) && wait_ == 0 && !failing
      dut.read.valid.poke(reads || (!exclusive && target.isDefined))
      for (c <- if (reads) slowCluster else target) dut.read.bits.poke(c)

      val fails = slow.contains(0) && wait_ == 0 && failing
      // Whether there is room in the next cycle.
      dut.respRoom.poke(random.nextInt(100) < takes)
      dut.slowFailed.poke(fails)
      dut.moveRoom.poke(random.nextInt(100) < moves)
      dut.unitDone.poke(unitLeft == 0)

      val take = bit(dut.take)
      val answered = bit(dut.resp.valid)
      val starts = bit(dut.slowStart)
      val ended = bit(dut.searched)
      assert(valid || !take, "a request is taken that is not there")
      if (take) for (work <- pending) assert(current.isEmpty || answered, s"$work comes in too early")
      withClue(s"request $done, ${current.getOrElse("none")}: ") {
        if (answered || starts || ended) current match {
          case Some(w: Wants) =>
            val hint = hintOf(w)
            val key = (w.cpu, w.order)
            if (slow.isEmpty) {
              val c = clusters(hint.cluster)
              val usable = hint.valid && (c.flag == ClusterFlag.nonfull || c.flag == ClusterFlag.frag) &&
                (w.order == 0 || c.order == w.order)
              val found = Option.when(usable && writeok(c.device))(c.firstFit(w.order, hint.last + 1)).flatten
              assert(starts == found.isEmpty, s"the slow path is needed: ${found.isEmpty}")
              found match {
                case Some(slot) =>
                  seen("fast") += 1
                  expectedHint = Some((key, Some(allocates(w, c, slot, listed = false))))
                case None =>
                  assert(!answered)
                  if (usable) {
                    seen("failed scan") += 1
                    keeps(c, listed = false)
                    expectedHint = Some((key, None))
                  }
              }
            } else if (ended) {
              val c = clusters(slowCluster.get)
              val found = c.firstFit(w.order, 0)
              dut.allocated.expect(found.isDefined)
              assert(answered == found.isDefined)
              found match {
                case Some(slot) =>
                  seen("slow") += 1
                  expectedHint = Some((key, Some(allocates(w, c, slot, listed = true))))
                case None =>
                  seen("scanned") += 1
                  keeps(c, listed = true)
                  expectedHint = Some((key, None))
              }
            } else {
              assert(fails, "an answer that nothing led to")
              seen("failed") += 1
              dut.resp.bits.status.expect(StatusCode.NoSpace)
            }
          case Some(f: Frees) =>
            assert(answered && !starts)
            val c = clusters(f.cluster)
            val slots = f.first until f.first + f.nr
            if (slots.forall(c.used(_))) {
              seen(if (f.first / p.wordSlots == slots.last / p.wordSlots) "freed" else "freed several words") += 1
              dut.resp.bits.status.expect(StatusCode.Ok)
              adjusts(c.device, -f.nr)
              slots.foreach(c.used(_) = false)
              val empty = c.count == 0
              val discard = empty && discards(c.device) && writeok(c.device)
              val flag =
                if (discard) ClusterFlag.discard else if (empty) ClusterFlag.free else ClusterFlag.nonfull
              becomes(c, flag, if (empty && !discard) 0 else c.order, always = false)
            } else {
              seen("not held") += 1
              dut.resp.bits.status.expect(StatusCode.BadRange)
              dut.move.valid.expect(false)
              unchanged()
            }
          case Some(Refused(status)) =>
            seen("refused") += 1
            assert(answered && !starts)
            dut.resp.bits.status.expect(status)
            dut.move.valid.expect(false)
            unchanged()
          case other => fail(s"an answer to $other")
        }
        else dut.move.valid.expect(false)
      }
      if (unitLeft >= 0) assert(bit(dut.unitTurn) && exclusive, "a unit's turn ends too early")

      // Time passes.
      readFor = Option.when(pending.isDefined && !exclusive && !take)(target)
      dut.clock.step()
      quiet += 1
      if (unitLeft == 0) {
        current = None
        done += 1
        // Devices change in a unit's turn alone.
        writeok(2) = random.nextInt(3) > 0
        dut.devices(2).info.writeok.poke(writeok(2))
      }
      unitLeft = (unitLeft - 1).max(-1)
      if (answered) {
        current = None
        slow = None
        slowCluster = None
        tried.clear()
        done += 1
        quiet = 0
      } else if (starts || ended) {
        for (c <- slowCluster) tried += c
        // Another cluster, if there is one; the slow path's own work takes its time.
        val next = current.toSeq.collect { case w: Wants => candidates(w, tried) }.flatten
        failing = next.isEmpty || tried.size > 3
        slowCluster = if (failing) None else Some(next(random.nextInt(next.size)).number)
        slow = Some(0)
        wait_ = 1 + random.nextInt(6)
      } else if (slow.contains(0)) {
        if (wait_ > 0) wait_ -= 1 else if (reads) slow = Some(1)
      } else if (opens) slow = Some(2)
      if (take) {
        current = pending
        pending = None
        if (current.contains(ForUnit)) {
          seen("unit") += 1
          unitLeft = 1 + random.nextInt(8)
        }
      }
      assert(quiet < 3000, s"nothing comes out any more: $current")
    }
  }

  private def show(work: Work, target: Option[Int]): Unit = {
    val bits = dut.op.bits
    val hint = work match {
      case w: Wants => hintOf(w)
      case _ => HintedPlace(valid = false, 0, 0, 0)
    }
    bits.alloc.poke(work.isInstanceOf[Wants])
    bits.free.poke(work.isInstanceOf[Frees])
    bits.refused.poke(work.isInstanceOf[Refused])
    Seq(bits.key.ofDevice, bits.hint.whole).foreach(_.poke(false))
    bits.status.poke(StatusCode.Ok)
    bits.hint.valid.poke(hint.valid)
    bits.hint.device.poke(hint.device)
    bits.hint.cluster.poke(hint.cluster)
    bits.hint.last.poke(hint.last)
    bits.device.poke(hint.device)
    dut.needsCluster.poke(target.isDefined)
    for (c <- target) dut.next.poke(c)
    work match {
      case Wants(cpu, order) =>
        bits.cpu.poke(cpu)
        bits.order.poke(order)
        bits.key.index.poke(cpu)
        bits.key.order.poke(order)
      case Frees(cluster, first, nr) =>
        bits.device.poke(clusters(cluster).device)
        bits.range.start.poke(first)
        bits.range.last.poke(first + nr - 1)
        bits.nr.poke(nr)
      case Refused(status) =>
        // Of either kind.
        if (random.nextBoolean()) bits.alloc.poke(true) else bits.free.poke(true)
        bits.status.poke(status)
      case ForUnit =>
    }
  }
}

/** The executor's decisions and writes, request after request, at any pace of requests, answers and list moves. */
class ExecutorSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private implicit val p: Params = Params(devices = 3, cpus = 2, clusters = 16)

  // In so many per cent of the cycles a request is there, an answer is taken, a list may move.
  for (
    (name, offers, takes, moves) <- Seq(
      ("all at once", 100, 100, 100),
      ("idle cycles", 20, 100, 60),
      ("back-pressure", 100, 20, 30)
    )
  )
    it(s"allocates and frees by the kernel's rules: $name") {
      val random = seeded()
      simulate(new ExecutorUnderTest) { dut =>
        val bench = new ExecutorBench(dut, random)
        bench.run(1500, offers, takes, moves)
        info(bench.seen.toSeq.sorted.map { case (what, times) => s"$what: $times" }.mkString(", "))
        val turns = Seq("fast", "slow", "failed scan", "scanned", "failed", "move", "refused", "unit") ++
          Seq("freed", "freed several words", "not held")
        for (what <- turns) assert(bench.seen(what) > 5, what)
      }
    }
}
