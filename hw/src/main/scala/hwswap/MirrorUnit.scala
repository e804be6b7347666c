// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** The mirror (advisory mode): apply takes over the kernel's record of a cluster, release takes back the slots of one
  * hint, dump shows what the kernel said last.
  *
  * Apply keeps the newest record only: one of a cluster no device has, of another epoch, or that is not newer than the
  * one held leaves everything as it is. A release for another epoch does nothing.
  *
  * Apply takes 7 cycles, release 4, each 3 more when the cluster changes its list; dump takes 4.
  */
class MirrorUnit(p: Params) extends CoreUnit(p) {
  private object State extends ChiselEnum {
    val idle, row, countUsed, countHinted, placing, applying, releasing, dump, moving = Value
  }
  private val state = RegInit(State.idle)

  // The device the cluster belongs to, found in the first cycle.
  private val owners = view.devices.map(_.owns(req.cluster))
  private val owned = VecInit(owners).asUInt.orR
  private val owner = RegEnable(
    Mux(req.op === CoreOp.release, deviceIndex(req.device), OHToUInt(owners)),
    io.start
  )
  private val ownerDevice = At(view.devices, owner)
  private val taken = Reg(Bool())

  // Numbers of slots, collected as the counter delivers them.
  private val hintedBefore, used, hinted = Reg(UInt(p.countBits.W))
  private val delta = view.population

  private val place = Module(new MirrorPlace(p))
  place.io.flag := view.meta.flag
  place.io.order := view.meta.order
  place.io.kernelFlag := req.record.flag
  place.io.kernelOrder := req.record.order
  place.io.count := used
  place.io.hinted := hinted =/= 0.U

  // A release names an aligned run inside the device.
  private val runEnd = slot +& (1.U << req.order)(p.countBits - 1, 0)
  private val releasable = claimed && device.info.epoch === req.epoch && req.order < p.orders.U &&
    clusterInDevice < device.clusters && runEnd <= p.slots.U

  access.range.start := slot
  access.range.end := runEnd(p.countBits - 1, 0)
  access.open.bits := Mux(req.op === CoreOp.release, clusterOfOffset, req.cluster)

  switch(state) {
    is(State.idle) {
      when(io.start) {
        taken := false.B
        when(Mux(req.op === CoreOp.release, !releasable, !owned)) {
          finish(StatusCode.Ok)
        }.otherwise {
          access.open.valid := true.B
          state := State.row
        }
      }
    }

    // Count the hinted slots as they were, then change the rows.
    is(State.row) {
      when(view.opened) {
        switch(req.op) {
          is(CoreOp.apply_) {
            when(ownerDevice.info.epoch === req.record.epoch && newer) {
              access.countSlotsOf := SlotsOf.hinted
              access.rowOp := RowOp.load
              state := State.countUsed
            }.otherwise {
              finish(StatusCode.Ok)
              state := State.idle
            }
          }
          is(CoreOp.release) {
            access.countSlotsOf := SlotsOf.rangeHinted
            access.rowOp := RowOp.clearH
            state := State.releasing
          }
          is(CoreOp.dump) {
            access.countSlotsOf := SlotsOf.kernel
            state := State.dump
          }
        }
      }
    }

    is(State.countUsed) {
      hintedBefore := view.population
      access.countSlotsOf := SlotsOf.used
      state := State.countHinted
    }

    is(State.countHinted) {
      used := view.population
      access.countSlotsOf := SlotsOf.hinted
      state := State.placing
    }

    is(State.placing) {
      hinted := view.population
      state := State.applying
    }

    is(State.applying) {
      taken := true.B
      io.resp.taken := true.B
      access.newKernel.valid := true.B
      access.newKernel.bits.applied := true.B
      access.newKernel.bits.flag := req.record.flag
      access.newKernel.bits.order := req.record.order
      access.newKernel.bits.seq := req.record.seq
      adjust(used.zext - view.meta.count.zext, hinted.zext - hintedBefore.zext)
      put(used, place.io.newFlag, place.io.newOrder)
    }

    // A cluster the kernel keeps off the lists stays off them.
    is(State.releasing) {
      val count = view.meta.count - delta
      val away = view.meta.flag.isOneOf(ClusterFlag.none, ClusterFlag.discard)
      val empty = count === 0.U && !away
      val noLongerFull = view.meta.flag === ClusterFlag.full && count =/= p.slots.U
      val flag = Mux(empty, ClusterFlag.free, Mux(noLongerFull, ClusterFlag.frag, view.meta.flag))
      adjust(-delta.zext, -delta.zext)
      put(count, flag, Mux(empty, 0.U, view.meta.order))
    }

    is(State.dump) {
      finish(StatusCode.Ok)
      io.resp.record := true.B
      io.resp.count := view.population
      io.resp.epoch := ownerDevice.info.epoch
      state := State.idle
    }

    is(State.moving) {
      when(view.moved) {
        finish(StatusCode.Ok)
        io.resp.taken := taken
        state := State.idle
      }
    }
  }

  /** The record is newer than the one held, modulo 2^32. */
  private def newer: Bool = !view.kernel.applied || (req.record.seq - view.kernel.seq).asSInt > 0.S

  private def adjust(usedDelta: SInt, hintedDelta: SInt): Unit = {
    access.change.op := DeviceOp.adjust
    access.change.device := owner
    access.change.usedDelta := usedDelta
    access.change.hintedDelta := hintedDelta
  }

  /** Stores the cluster, moved to the tail of another list if there is another list for its new flag and order. */
  private def put(count: UInt, flag: ClusterFlag.Type, order: UInt): Unit = {
    val byOrder = flag.isOneOf(ClusterFlag.nonfull, ClusterFlag.frag)
    val relist = flag =/= view.meta.flag || (byOrder && order =/= view.meta.order)
    store(owner, count, flag, order, relist)
    when(relist) {
      state := State.moving
    }.otherwise {
      finish(StatusCode.Ok)
      state := State.idle
    }
  }
}
