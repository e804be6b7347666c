// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._

/** A unit's accesses in one request: each is recorded with its cycle. */
final case class Asked(
    status: Int,
    cycles: Int,
    offset: Int,
    device: Int,
    meta: Option[(ClusterFlag.Type, Int, Int, Boolean)],
    walks: Seq[RowWalk.Type],
    move: Option[(Boolean, Boolean, Int, Int)],
    change: DeviceOp.Type,
    usedDelta: Int
)

/** Plays the shared state for a unit: device 1 with the clusters 3 to 6 of its engine, and one cluster that is open. */
class UnitBench(dut: CoreUnit) extends Peeks {
  private val view = dut.io.view
  private val access = dut.io.access
  private def of[T <: EnumType](all: Seq[T], value: T): T = {
    val code = value.peek().litValue
    all.find(_.litValue == code).get
  }

  def device(flags: Int, listed: Boolean = true, available: Boolean = true): Unit = {
    view.claimed.poke(true)
    view.device.info.claimed.poke(true)
    view.device.info.base.poke(3)
    view.device.info.pages.poke(4 * 512 - 10)
    view.device.info.flags.poke(flags)
    view.device.info.available.poke(available)
    view.device.clusters.poke(4)
    view.device.listed.poke(listed)
    dut.io.req.device.poke(1)
  }

  /** The engine cluster that is open, or gets open when the unit asks for it. */
  def cluster(number: Int, flag: ClusterFlag.Type, order: Int, count: Int, taken: Boolean = false): Unit = {
    view.cluster.poke(number)
    view.meta.flag.poke(flag)
    view.meta.order.poke(order)
    view.meta.count.poke(count)
    view.meta.taken.poke(taken)
  }

  /** So many slots of the request are in use. */
  def used(count: Int): Unit = view.used.poke(count)

  /** Sets which of device 1's lists hold something, and their heads, which are all the same. */
  def lists(present: Seq[Int], head: Int): Unit = {
    view.lists.nonEmpty(1).poke(present.map(1 << _).sum)
    view.lists.ends.head.poke(head)
  }

  /** One request. */
  def run(op: CoreOp.Type)(fields: CoreReq => Unit): Asked = {
    val req = dut.io.req
    req.op.poke(op)
    Seq(req.offset, req.nr, req.order, req.flags, req.cpu).foreach(_.poke(0))
    fields(req)
    dut.clock.step(2)
    dut.io.start.poke(true)
    var cycles, opening, walking = 0
    var walks = Seq.empty[RowWalk.Type]
    var asked = Option.empty[Asked]
    while (asked.isEmpty) {
      assert(cycles < 30, "the unit does not end")
      view.opened.poke(opening == 3)
      view.walked.poke(walking == 6)
      val walk = of(RowWalk.all, access.walk)
      walking = if (walk != RowWalk.none) 1 else if (walking > 0) walking + 1 else 0
      if (walk != RowWalk.none) walks :+= walk
      opening = if (bit(access.open.valid)) 1 else if (opening > 0) opening + 1 else 0
      if (bit(dut.io.done)) {
        def when_[T](valid: Bool)(value: => T): Option[T] = Option.when(bit(valid))(value)
        val meta = access.newMeta.bits
        val move = access.move.bits
        asked = Some(
          Asked(
            int(dut.io.resp.status),
            cycles + 1,
            int(dut.io.resp.offset),
            int(dut.io.resp.device),
            when_(access.newMeta.valid)(
              (of(ClusterFlag.all, meta.flag), int(meta.order), int(meta.count), bit(meta.taken))
            ),
            walks,
            when_(access.move.valid)((bit(move.unlink), bit(move.push), int(move.from), int(move.to))),
            of(DeviceOp.all, access.change.op),
            access.change.usedDelta.peek().litValue.toInt
          )
        )
      }
      dut.clock.step()
      dut.io.start.poke(false)
      cycles += 1
    }
    asked.get
  }
}
