// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** The self-test against a device that is all right, and against one with each kind of fault. The shared state is
  * played by the test.
  */
class CheckUnitSpec extends AnyFunSpec with ChiselSim with Peeks {
  private implicit val p: Params = Params(devices = 2, cpus = 1, clusters = 16)

  private case class Line(
      flag: ClusterFlag.Type,
      order: Int,
      count: Int,
      rows: Int,
      next: Int,
      prev: Int
  )

  /** Device 1: clusters 3 to 6. 3 and 5 are on FRAG[2] (list 13), 4 is FULL (21), 6 FREE (0). */
  private case class State(
      lines: Map[Int, Line] = Map(
        3 -> Line(ClusterFlag.frag, 2, 9, 9, next = 5, prev = 0),
        4 -> Line(ClusterFlag.full, 1, 512, 512, next = 0, prev = 0),
        5 -> Line(ClusterFlag.frag, 2, 4, 4, next = 0, prev = 3),
        6 -> Line(ClusterFlag.free, 0, 0, 0, next = 0, prev = 0)
      ),
      lists: Map[Int, (Int, Int)] = Map(13 -> (3, 5), 21 -> (4, 4), 0 -> (6, 6)),
      used: Int = 525,
      available: Boolean = true,
      writeok: Boolean = true,
      member: Boolean = true
  ) {
    def change(cluster: Int)(f: Line => Line): State = copy(lines = lines.updated(cluster, f(lines(cluster))))
  }

  private def faults(dut: CheckUnit, state: State): Int = {
    val view = dut.io.view
    val access = dut.io.access
    view.claimed.poke(true)
    view.device.info.claimed.poke(true)
    view.device.info.writeok.poke(state.writeok)
    view.device.info.base.poke(3)
    view.device.info.used.poke(state.used)
    view.device.info.available.poke(state.available)
    view.device.clusters.poke(4)
    view.device.listed.poke(true)
    view.available.members.poke(if (state.member) 2 else 0)
    view.lists.nonEmpty(1).poke(state.lists.keys.map(1 << _).sum)
    dut.io.req.device.poke(1)

    // Requests of the cycles before: counts take some cycles, everything else two.
    var open, opening: Option[Int] = None
    var looks, peeks: Option[Int] = None
    var counting = 0
    var line = state.lines.values.head
    dut.io.start.poke(true)
    var cycles = 0
    while (!bit(dut.io.done)) {
      assert(cycles < 500, "the self-test does not end")
      cycles += 1
      val opened = opening
      opening = Option.when(bit(access.open.valid))(access.open.bits.peek().litValue.toInt)
      val looked = looks
      looks = Option.when(bit(access.query.look.valid))(access.query.look.bits.peek().litValue.toInt)
      val peeked = peeks
      peeks = Option.when(bit(access.query.peek))(access.query.peekList.peek().litValue.toInt)
      counting = if (access.walk.peek().litValue == RowWalk.count.litValue) 6 else counting - 1
      dut.clock.step()
      dut.io.start.poke(false)
      view.opened.poke(opened.isDefined)
      for (cluster <- opened) {
        open = opened
        line = state.lines(cluster)
        view.meta.flag.poke(line.flag)
        view.meta.order.poke(line.order)
        view.meta.count.poke(line.count)
      }
      view.walked.poke(counting == 1)
      for (cluster <- open if counting == 1)
        view.used.poke(state.lines(cluster).rows)
      for (cluster <- looked) {
        view.lists.next.poke(state.lines(cluster).next)
        view.lists.prev.poke(state.lines(cluster).prev)
      }
      for ((head, tail) <- peeked.flatMap(state.lists.get)) {
        view.lists.ends.head.poke(head)
        view.lists.ends.tail.poke(tail)
      }
    }
    val result = dut.io.resp.offset.peek().litValue.toInt
    dut.clock.step()
    result
  }

  private val sound = State()

  private val broken: Seq[(String, State)] = Seq(
    "a count that differs from the rows" -> sound.change(3)(_.copy(count = 8)),
    "a FREE cluster with an order" -> sound.change(6)(_.copy(order = 1)),
    "a FULL cluster with a free slot" -> sound.change(4)(_.copy(count = 511, rows = 511)).copy(used = 524),
    "a cluster on another list than it says" -> sound.change(5)(_.copy(order = 3)),
    "a link back to another cluster" -> sound.change(5)(_.copy(prev = 4)),
    "a link out of the device" -> sound.change(3)(_.copy(next = 9)),
    "a list that goes in a circle" -> sound.change(5)(_.copy(next = 3)).copy(lists = sound.lists.updated(13, (3, 6))),
    "a cluster on no list" -> sound.copy(lists = sound.lists - 0),
    "a device count that differs" -> sound.copy(used = 526),
    "a device that is not available but should be" -> sound.copy(available = false),
    "a device that is available without write permission" -> sound.copy(writeok = false),
    "a device that is not on the available list" -> sound.copy(member = false)
  )

  describe("CHECK") {
    it("finds nothing in a device that is all right, and something in each that is not") {
      simulate(new CheckUnit) { dut =>
        assert(faults(dut, sound) == 0)
        for ((fault, state) <- broken)
          assert(faults(dut, state) > 0, fault)
        assert(faults(dut, sound) == 0)
      }
    }
  }
}
