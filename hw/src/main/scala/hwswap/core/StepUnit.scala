// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

import scala.collection.immutable.VectorMap

/** STEP commands: parts of an allocation or a free, for a host that puts them together itself. Each is done as a whole
  * or refused with nothing changed.
  *
  *   - take: a cluster off its list, `isolate_lock_cluster()`: the first of a list, or one that is named
  *   - put: a cluster to the tail of a list, `move_cluster()`; or on none, with flag NONE or as being discarded
  *   - give, free: slots of a cluster get used or free, and nothing else
  *   - visit: a device behind its equals, `plist_requeue()`
  *   - available: a device joins or leaves the available list
  *   - next: where a CPU or a rotating device goes on
  *
  * take, give, free and put need the cluster open: the named one is, from the start on. At most 6 cycles; give and free
  * walk over their slots twice, which takes 2 cycles a word and about 12 more.
  */
class StepUnit(implicit p: Params) extends CoreUnit {
  private object State extends ChiselEnum {
    val idle, probe, change, put, peeked, ends, opening, visited, next = Value
  }
  private val state = RegInit(State.idle)
  private val number = deviceIndex(req.device)
  private val meta = view.meta

  // What is asked, known from the start on.
  private val asked = CoreOp.steps.map(op => op -> RegNext(req.op === op)).to(VectorMap)
  private val allocates = asked(CoreOp.stepGive)

  // The cluster: its number is one of the device's. Its slots may be changed while it is on no list, or on one for
  // clusters with slots in use, if some are afterwards.
  private val inside = RegNext(clusterInDevice < device.clusters)
  private val open = meta.flag === ClusterFlag.none || (
    meta.flag.isOneOf(ClusterFlag.nonfull, ClusterFlag.frag) && (allocates || meta.count =/= req.nr)
  )
  private val empty = meta.count === 0.U
  private val full = meta.count === p.slots.U

  // The list the request names, and the one the open cluster is on.
  private val flagKnown = req.flags <= ClusterFlag.discard.asUInt
  private val flag = ClusterFlag.safe(req.flags(ClusterFlag.getWidth - 1, 0))._1
  private val wanted = RegNext(ListId(flag, req.order))
  private val present = ListId(meta.flag, meta.order)
  private val anyList = flag === ClusterFlag.none
  private val hasCluster = RegNext(VecInit(At(view.lists.nonEmpty, number).asBools)(wanted))

  // A place to go on.
  private val low = SlotRange.lowSlots(req.order)
  private val ofDevice = req.flags(0)
  private val rotating = !device.has(MemMap.DeviceFlags.Flags.Solidstate)
  private val atMultiple = (slot & low) === 0.U
  access.newHint.bits.key.ofDevice := ofDevice
  access.newHint.bits.key.index := Mux(ofDevice, number, req.cpu(p.cpuBits - 1, 0))
  access.newHint.bits.key.order := req.order
  access.newHint.bits.hint.valid := req.offset =/= 0.U
  access.newHint.bits.hint.device := number
  access.newHint.bits.hint.cluster := (device.info.base + clusterInDevice)(p.clusterBits - 1, 0)
  access.newHint.bits.hint.last := slot - 1.U
  access.newHint.bits.hint.whole := slot === 0.U

  requestRange()
  access.change.device := number
  access.change.usedDelta := Mux(allocates, req.nr.zext, -req.nr.zext)
  access.requeue.bits := number
  access.query.peekDevice := number
  access.query.peekList := Mux(req.named, present, wanted)
  access.open.bits := view.lists.ends.head
  io.resp.device := number

  switch(state) {
    is(State.idle) {
      when(io.start) {
        when(!claimed || !device.listed) {
          finish(StatusCode.BadDevice)
        }.otherwise {
          when(allocates || asked(CoreOp.stepFree)) {
            access.walk := Mux(rangeValid, RowWalk.probe, RowWalk.none)
            demand(rangeValid, State.probe)
          }
          when(asked(CoreOp.stepPut))(demand(inside && flagKnown, State.put))
          when(asked(CoreOp.stepNext))(demand(inside && atMultiple && ofDevice === rotating, State.next))
          when(asked(CoreOp.stepVisit))(demand(device.info.available, State.visited))
          when(asked(CoreOp.stepAvailable)) {
            when(req.offset(0) =/= device.info.available) {
              access.change.op := Mux(req.offset(0), DeviceOp.join, DeviceOp.leave)
              finish(StatusCode.Ok)
            }.otherwise {
              finish(StatusCode.BadRange)
            }
          }
          when(asked(CoreOp.stepTake)) {
            access.query.peek := true.B
            when(!flagKnown || Mux(req.named, !inside, anyList)) {
              finish(StatusCode.BadRange)
            }.elsewhen(!req.named && !hasCluster) {
              finish(StatusCode.NoSpace)
            }.otherwise {
              state := State.peeked
            }
          }
        }
      }
    }

    // What has to be looked at is known one cycle after the start.
    is(State.probe) {
      when(view.walked) {
        when(open && view.used === Mux(allocates, 0.U, req.nr)) {
          access.walk := Mux(allocates, RowWalk.mark, RowWalk.clear)
          state := State.change
        }.otherwise(refuse())
      }
    }
    is(State.change) {
      when(view.walked) {
        access.change.op := DeviceOp.count
        val count = Mux(allocates, meta.count + req.nr, meta.count - req.nr)
        store(number, count, meta.flag, Mux(allocates && empty, req.order, meta.order), false.B)
        succeed()
      }
    }

    is(State.put) {
      val away = anyList || req.taken
      val fits = MuxLookup(flag, true.B)(
        Seq(
          ClusterFlag.free -> empty,
          ClusterFlag.nonfull -> !empty,
          ClusterFlag.frag -> (!empty && !full),
          ClusterFlag.full -> full,
          ClusterFlag.discard -> (empty && device.has(MemMap.DeviceFlags.Flags.Discard))
        )
      )
      val elsewhere = away || !meta.listed || wanted =/= present
      val takenFits = !req.taken || flag === ClusterFlag.discard
      when(fits && elsewhere && takenFits && (empty || req.order === meta.order)) {
        val order = Mux(empty && flag === ClusterFlag.free, 0.U, req.order)
        store(number, meta.count, flag, order, meta.listed || !away)
        access.newMeta.bits.taken := req.taken
        access.move.bits.push := !away
        io.events.listMove := !away
        succeed()
      }.otherwise(refuse())
    }

    is(State.next) {
      access.newHint.valid := true.B
      succeed()
    }

    is(State.visited) {
      access.requeue.valid := true.B
      succeed()
      io.resp.device := view.available.first.bits
      io.resp.offset := Mux(view.available.successor.valid, view.available.successor.bits +& 1.U, 0.U)
    }

    is(State.peeked)(state := State.ends)
    is(State.ends) {
      access.open.valid := !req.named
      state := State.opening
    }
    is(State.opening) {
      when(req.named && !(meta.listed && (anyList || present === wanted))) {
        refuse()
      }.elsewhen(req.named || view.opened) {
        store(number, meta.count, ClusterFlag.none, meta.order, true.B)
        access.move.bits.push := false.B
        io.events.listMove := false.B // it goes nowhere yet
        succeed()
        io.resp.offset := (view.cluster - device.info.base)(p.clusterBits - 1, 0) ## 0.U(p.slotBits.W)
        io.resp.more := view.lists.ends.head === view.cluster
      }
    }
  }

  /** Goes on if what is known at the start allows it. */
  private def demand(allowed: Bool, next: State.Type): Unit =
    when(allowed) {
      state := next
    }.otherwise {
      finish(StatusCode.BadRange)
    }

  private def succeed(): Unit = {
    finish(StatusCode.Ok)
    state := State.idle
  }

  private def refuse(): Unit = {
    finish(StatusCode.BadRange)
    state := State.idle
  }
}
