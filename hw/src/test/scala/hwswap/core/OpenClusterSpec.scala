// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random

/** A request of a cluster. */
private sealed trait Access { def cluster: Int }

/** Look for a free run after a slot, or anywhere.
  *
  * @param leading
  *   goes on in the same cluster after the run found, without opening it
  */
private final case class Search(cluster: Int, order: Int, after: Option[Int], leading: Boolean) extends Access

/** Free slots, in one word or of whole words. */
private final case class Release(cluster: Int, first: Int, last: Int) extends Access

/** The open cluster, used as the executor uses it: a request every second cycle, each searched in one and changed in
  * the next, in which the next one's cluster is opened. A slot-by-slot model gives the expected results.
  */
class OpenClusterSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private implicit val p: Params = Params(devices = 1, cpus = 1, clusters = 8)

  private val rows = Array.fill(p.clusters)(Array.fill(p.slots)(false))
  private val counts = Array.fill(p.clusters)(0)

  private def firstFit(row: Array[Boolean], order: Int, from: Int): Option[Int] = {
    val length = 1 << order
    (0 to p.slots - length by length).find(s => s >= from && (s until s + length).forall(!row(_)))
  }

  private def wordOf(cluster: Int, word: Int): BigInt =
    (0 until p.wordSlots).filter(i => rows(cluster)(word * p.wordSlots + i)).map(BigInt(1) << _).sum

  /** Everything free: each cluster is opened, all its words are replaced by 0. */
  private def blank(dut: OpenCluster): Unit = {
    Seq(dut.io.read.valid, dut.io.open.valid, dut.io.newMeta.valid).foreach(_.poke(false))
    Seq(dut.io.search.look, dut.io.change.valid, dut.io.put.valid).foreach(_.poke(false))
    dut.io.newWord.poke(0)
    for (c <- 0 until p.clusters) {
      dut.io.read.bits.poke(c)
      pulse(dut.io.read.valid, dut.clock)
      dut.io.open.bits.poke(c)
      pulse(dut.io.open.valid, dut.clock)
      for (w <- 0 until p.words) {
        dut.io.put.valid.poke(true)
        dut.io.put.bits.poke(w)
        dut.io.newMeta.valid.poke(w == p.words - 1)
        dut.io.newMeta.bits.poke(chiselMeta(0))
        dut.io.newEmpty.poke(true)
        dut.clock.step()
      }
      dut.io.put.valid.poke(false)
      dut.io.newMeta.valid.poke(false)
      dut.clock.step()
      rows(c).indices.foreach(rows(c)(_) = false)
      counts(c) = 0
    }
  }

  private def chiselMeta(count: Int): ClusterMeta = {
    import chisel3.experimental.BundleLiterals._
    (new ClusterMeta).Lit(
      _.count -> count.U,
      _.flag -> ClusterFlag.frag,
      _.order -> 0.U,
      _.taken -> false.B
    )
  }

  private def isLeading(step: Access): Boolean = step match {
    case Search(_, _, _, leading) => leading
    case _ => false
  }

  /** A request for one of few clusters, so that each is soon wanted again. */
  private def choose(random: Random): Access = {
    val cluster = random.nextInt(if (random.nextInt(8) == 0) p.clusters else 2)
    if (random.nextInt(5) < 3) {
      val order = if (random.nextInt(3) != 0) random.nextInt(3) else random.nextInt(p.orders)
      val after = if (random.nextInt(3) == 0) None else Some(random.nextInt(p.slots))
      Search(cluster, order, after, leading = false)
    } else {
      val whole = random.nextInt(3) == 0
      val unit = if (whole) p.wordSlots else 1
      val first = random.nextInt(p.slots / unit) * unit
      val room = if (whole) p.slots - first else p.wordSlots - first % p.wordSlots
      val length = (1 + random.nextInt(room / unit)).min(if (whole) 16 else 1 + random.nextInt(8)) * unit
      Release(cluster, first, first + length - 1)
    }
  }

  describe("the open cluster") {
    it("finds, allocates and frees what a model slot by slot does, request after request") {
      val random = seeded()
      simulate(new OpenCluster) { dut =>
        dut.io.nextOrder.poke(0)
        blank(dut)
        var stale, found, missed, leading, freed, refused = 0

        def range(r: SlotRange, first: Int, last: Int): Unit = {
          r.start.poke(first)
          r.last.poke(last)
        }
        def open(step: Access): Unit = {
          dut.io.open.valid.poke(!isLeading(step))
          dut.io.open.bits.poke(step.cluster)
          step match {
            case Search(_, order, _, _) => dut.io.nextOrder.poke(order)
            case _ => dut.io.nextOrder.poke(random.nextInt(16))
          }
        }

        var step: Access = choose(random)
        dut.io.read.valid.poke(true)
        dut.io.read.bits.poke(step.cluster)
        dut.clock.step()
        open(step)
        dut.clock.step()
        dut.io.open.valid.poke(false)
        for (i <- 1 to 6000) {
          val named = choose(random)
          dut.io.read.bits.poke(named.cluster)
          dut.io.search.look.poke(true)
          val cluster = step.cluster
          val (pick, first, last) = step match {
            case Search(_, order, after, _) =>
              dut.io.search.order.poke(order)
              dut.io.search.after.poke(after.getOrElse(random.nextInt(p.slots)))
              dut.io.search.anywhere.poke(after.isEmpty)
              val first = after.map(_ / p.wordSlots + 1).getOrElse(0)
              dut.io.search.later.poke(((1 << p.words) - (1 << first)).U)
              (after.getOrElse(0) / p.wordSlots, 0, 0)
            case Release(_, first, last) => (first / p.wordSlots, first, last)
          }
          val inOne = first / p.wordSlots == last / p.wordSlots
          dut.io.search.pick.poke(pick)
          range(dut.io.search.checked, first, last)
          val words = if (inOne) Nil else first / p.wordSlots to last / p.wordSlots
          dut.io.search.checkedWords.poke(words.map(BigInt(1) << _).sum.U)
          withClue(s"step $i, $step: ") {
            dut.io.opened.cluster.expect(cluster)
            dut.io.opened.meta.count.expect(counts(cluster))
            if (bit(dut.io.search.stale) && !(inOne && step.isInstanceOf[Release])) {
              stale += 1
              dut.clock.step()
              dut.io.search.stale.expect(false)
            }
            dut.clock.step()
            dut.io.search.look.poke(false)
            assert(dut.io.word.peek().litValue == wordOf(cluster, pick), "the word that is picked")

            // Commit.
            var next: Access = named
            step match {
              case Search(_, order, after, _) =>
                val expected = firstFit(rows(cluster), order, after.map(_ + 1).getOrElse(0))
                assert(bit(dut.io.search.found) == expected.isDefined)
                expected match {
                  case Some(slot) =>
                    found += 1
                    assert(dut.io.search.foundSlot.peek().litValue == slot)
                    val end = slot + (1 << order) - 1
                    (slot to end).foreach(rows(cluster)(_) = true)
                    range(dut.io.change.bits.range, slot, end)
                    dut.io.change.valid.poke(true)
                    dut.io.change.bits.used.poke(true)
                    dut.io.change.bits.found.poke(true)
                    if (random.nextInt(3) != 0 && end != p.slots - 1) {
                      leading += 1
                      next = Search(cluster, order, Some(end), leading = true)
                    }
                  case None => missed += 1
                }
              case _ =>
                val expected = (first to last).forall(rows(cluster)(_))
                assert(bit(dut.io.search.allUsed) == expected)
                if (expected) {
                  freed += 1
                  (first to last).foreach(rows(cluster)(_) = false)
                  range(dut.io.change.bits.range, first, last)
                  dut.io.change.valid.poke(true)
                  dut.io.change.bits.used.poke(false)
                  dut.io.change.bits.found.poke(false)
                } else refused += 1
            }
            counts(cluster) = random.nextInt(p.slots)
            dut.io.newMeta.valid.poke(true)
            dut.io.newMeta.bits.poke(chiselMeta(counts(cluster)))
            dut.io.newEmpty.poke(counts(cluster) == 0)
            open(next)
            dut.clock.step()
            dut.io.open.valid.poke(false)
            dut.io.change.valid.poke(false)
            dut.io.newMeta.valid.poke(false)
            step = next
          }
        }
        // All that the hazards are about came often enough.
        for (n <- Seq(stale, found, missed, leading, freed, refused)) assert(n > 100)
      }
    }
  }
}
