// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable

class ClusterListsSpec extends AnyFunSpec with CoreTest with Seeded {
  private implicit val p: Params = Params(devices = 2, cpus = 1, clusters = 16)

  /** Drives the lists and keeps the same lists as Scala queues. */
  private class Lists(dut: ClusterLists) {
    val queues: Array[Array[mutable.ArrayDeque[Int]]] =
      Array.fill(p.devices, p.lists)(mutable.ArrayDeque.empty)

    /** One move, a head's as such if `fromHead`; gives the cycles until the lists are at rest again. */
    def move(
        device: Int,
        cluster: Int,
        from: Option[Int],
        to: Option[Int],
        fromHead: Boolean = false
    ): Int = {
      val bits = dut.io.move.bits
      bits.device.poke(device)
      bits.cluster.poke(cluster)
      bits.unlink.poke(from.isDefined)
      bits.fromHead.poke(fromHead)
      bits.from.poke(from.getOrElse(0))
      val queue = from.map(queues(device)(_))
      bits.next.poke(if (fromHead) queue.flatMap(_.lift(1)).getOrElse(0) else 0)
      bits.alone.poke(queue.exists(_.size == 1))
      bits.push.poke(to.isDefined)
      bits.to.poke(to.getOrElse(0))
      dut.io.room.expect(true)
      pulse(dut.io.move.valid, dut.clock)
      val cycles = waitFor("the end of a move", 8)(bit(dut.io.view.idle))(dut.clock.step())
      from.foreach(list => queues(device)(list) -= cluster)
      to.foreach(list => queues(device)(list) += cluster)
      cycles
    }

    def checkEnds(): Unit =
      for (device <- queues.indices) {
        val expected = queues(device).zipWithIndex.filter(_._1.nonEmpty).map(1 << _._2).sum
        assert(dut.io.view.nonEmpty(device).peek().litValue == expected)
        for ((queue, list) <- queues(device).zipWithIndex if queue.nonEmpty) {
          dut.io.query.peekDevice.poke(device)
          dut.io.query.peekList.poke(list)
          pulse(dut.io.query.peek, dut.clock)
          dut.clock.step()
          dut.io.view.ends.head.expect(queue.head)
          dut.io.view.ends.tail.expect(queue.last)
        }
      }

    def checkLinks(): Unit =
      for (queue <- queues.iterator.flatten if queue.size > 1; i <- queue.indices) {
        dut.io.query.look.bits.poke(queue(i))
        pulse(dut.io.query.look.valid, dut.clock)
        dut.clock.step()
        if (i > 0) dut.io.view.prev.expect(queue(i - 1))
        if (i + 1 < queue.size) dut.io.view.next.expect(queue(i + 1))
      }
  }

  private def withLists(body: (ClusterLists, Lists) => Unit): Unit =
    simulate(new ClusterLists) { dut =>
      Seq(dut.io.move.valid, dut.io.query.peek, dut.io.query.look.valid, dut.io.forget.valid).foreach(_.poke(false))
      body(dut, new Lists(dut))
    }

  describe("ClusterLists") {
    it("does with random moves what queues do") {
      val random = seeded()
      withLists { (dut, lists) =>
        // Clusters 0 to 7 are device 0's, the others device 1's; a cluster is on one list or none.
        val place = Array.fill(p.clusters)(Option.empty[Int])
        val used = Seq(0, 1, 10, 11, 20, 21, p.lists - 1)
        for (step <- 1 to 1500) {
          val cluster = random.nextInt(p.clusters)
          val device = cluster / 8
          val from = place(cluster)
          val head = from.exists(list => lists.queues(device)(list).head == cluster) && random.nextBoolean()
          val to = Option
            .when(head || from.isEmpty || random.nextInt(5) != 0)(used(random.nextInt(used.size)))
            .filter(head || !from.contains(_))
          if (from.isDefined || to.isDefined) {
            val alone = from.exists(list => lists.queues(device)(list).size == 1)
            val cycles = lists.move(device, cluster, from, to, head)
            val expected =
              if (head && alone && from == to) 1
              else if (head || from.isEmpty) 3
              else if (to.isEmpty) 4
              else 5
            assert(cycles == expected)
          }
          place(cluster) = to
          dut.io.fault.expect(false)
          if (step % 10 == 0) lists.checkEnds()
          if (step % 50 == 0) lists.checkLinks()
        }
        lists.checkEnds()
        lists.checkLinks()
      }
    }

    it("puts a list's head behind its tail") {
      withLists { (_, lists) =>
        lists.move(1, 9, None, Some(3))
        lists.move(1, 9, Some(3), Some(3), fromHead = true)
        lists.checkEnds()
        lists.move(1, 10, None, Some(3))
        lists.move(1, 9, Some(3), Some(3), fromHead = true)
        lists.checkEnds()
        lists.checkLinks()
      }
    }

    it("takes moves as fast as heads move, and lets one wait") {
      withLists { (dut, lists) =>
        (1 to 6).foreach(c => lists.move(0, c, None, Some(5)))
        var cycles = 0
        for (c <- 1 to 6) {
          dut.io.move.bits.cluster.poke(c)
          dut.io.move.bits.unlink.poke(true)
          dut.io.move.bits.fromHead.poke(true)
          dut.io.move.bits.from.poke(5)
          dut.io.move.bits.next.poke(c + 1)
          dut.io.move.bits.alone.poke(c == 6)
          dut.io.move.bits.push.poke(true)
          dut.io.move.bits.to.poke(7)
          while (!bit(dut.io.room)) {
            dut.clock.step()
            cycles += 1
          }
          dut.io.move.valid.poke(true)
          dut.clock.step()
          cycles += 1
          dut.io.move.valid.poke(false)
        }
        assert(cycles <= 2 + 5 * 3)
        while (!bit(dut.io.view.idle)) dut.clock.step()
        lists.queues(0)(5).clear()
        lists.queues(0)(7) ++= 1 to 6
        lists.checkEnds()
        lists.checkLinks()
      }
    }

    it("forgets all lists of one device") {
      withLists { (dut, lists) =>
        lists.move(0, 1, None, Some(4))
        lists.move(1, 9, None, Some(5))
        dut.io.forget.bits.poke(0)
        pulse(dut.io.forget.valid, dut.clock)
        dut.io.view.nonEmpty(0).expect(0)
        lists.queues(0)(4).clear()
        lists.move(0, 2, None, Some(4))
        lists.checkEnds()
      }
    }

    it("stops when a neighbour does not point back") {
      // Cluster 2 is said to be on list 4, which it has left for list 6: its links are those of its old neighbours.
      stopsWith("a neighbour in a list does not point back") {
        withLists { (_, lists) =>
          (1 to 3).foreach(c => lists.move(0, c, None, Some(5)))
          (4 to 7).foreach(c => lists.move(0, c, None, Some(4)))
          lists.move(0, 2, Some(5), Some(6))
          lists.move(0, 2, Some(4), Some(5))
        }
      }
    }
  }
}
