// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** The mirror (advisory mode): apply takes over the kernel's record of a cluster, release takes back the slots of one
  * hint, dump shows what the kernel said last.
  *
  * Apply keeps the newest record only: one of a cluster no device has, of another epoch, or that is not newer than the
  * one held leaves everything as it is. A release for another epoch does nothing.
  *
  * From the start on, with the cluster open: apply and dump take 24 cycles, release 10, and one more for each further
  * word of the row.
  */
class MirrorUnit(implicit p: Params) extends CoreUnit {
  private object State extends ChiselEnum {
    val idle, decide, applying, counting, releasing, dumping = Value
  }
  private val state = RegInit(State.idle)

  // The device the cluster belongs to, found before the start.
  private val owners = RegNext(VecInit(view.devices.map(_.owns(req.cluster))))
  private val owned = owners.asUInt.orR
  private val owner = RegNext(Mux(req.op === CoreOp.release, deviceIndex(req.device), OHToUInt(owners)))
  private val ownerDevice = At(view.devices, owner)
  private val sameEpoch = RegNext(ownerDevice.info.epoch === req.record.epoch)

  /** The record is newer than the one held, modulo 2^32. */
  private val newer = RegNext(!view.kernel.applied || (req.record.seq - view.kernel.seq).asSInt > 0.S)
  private val valid = Reg(Bool())

  // Hinted slots in the range of a release.
  private val delta = RegNext(view.hinted)

  // What is left when they are free: whether the difference is 0 or 512, without its carries.
  private val differ = view.meta.count ^ view.hinted
  private val noneLeft = RegNext(differ === 0.U)
  private val allLeft = RegNext(differ === p.slots.U)
  private val away = view.meta.flag.isOneOf(ClusterFlag.none, ClusterFlag.discard)

  private val place = Module(new MirrorPlace)
  place.io.flag := view.meta.flag
  place.io.order := view.meta.order
  place.io.kernelFlag := req.record.flag
  place.io.kernelOrder := req.record.order
  place.io.count := view.used
  place.io.hinted := view.hintedLeft

  // A release names an aligned run inside the device.
  private val runEnd = RegNext(slot +& (1.U << req.order)(p.countBits - 1, 0))
  private val releasable = RegNext(
    claimed && device.info.epoch === req.epoch && req.order < p.orders.U &&
      clusterInDevice < device.clusters && runEnd <= p.slots.U
  )

  wholeRange()
  when(req.op === CoreOp.release) {
    access.range.start := slot
    access.range.last := (runEnd - 1.U)(p.slotBits - 1, 0)
  }

  switch(state) {
    is(State.idle) {
      when(io.start) {
        valid := Mux(req.op === CoreOp.release, releasable, owned)
        state := State.decide
      }
    }

    is(State.decide) {
      when(!valid) {
        leave()
      }.otherwise {
        switch(req.op) {
          is(CoreOp.apply_) {
            when(sameEpoch && newer) {
              access.walk := RowWalk.load
              state := State.applying
            }.otherwise {
              leave()
            }
          }
          is(CoreOp.release) {
            access.walk := RowWalk.release
            state := State.counting
          }
          is(CoreOp.dump) {
            access.walk := RowWalk.count
            state := State.dumping
          }
        }
      }
    }

    is(State.applying) {
      when(view.walked) {
        access.newKernel.valid := true.B
        access.newKernel.bits.applied := true.B
        access.newKernel.bits.flag := req.record.flag
        access.newKernel.bits.order := req.record.order
        access.newKernel.bits.seq := req.record.seq
        adjust(view.used.zext - view.meta.count.zext, -view.hinted.zext)
        put(view.used, place.io.newFlag, place.io.newOrder)
        io.resp.taken := true.B
      }
    }

    is(State.counting) {
      when(view.walked) {
        state := State.releasing
      }
    }

    // A cluster the kernel keeps off the lists stays off them.
    is(State.releasing) {
      val count = view.meta.count - delta
      val empty = noneLeft && !away
      val noLongerFull = view.meta.flag === ClusterFlag.full && !allLeft
      val flag = Mux(empty, ClusterFlag.free, Mux(noLongerFull, ClusterFlag.frag, view.meta.flag))
      adjust(-delta.zext, -delta.zext)
      put(count, flag, Mux(empty, 0.U, view.meta.order))
    }

    is(State.dumping) {
      when(view.walked) {
        finish(StatusCode.Ok)
        io.resp.record := true.B
        io.resp.count := view.used - view.hinted
        io.resp.epoch := ownerDevice.info.epoch
        state := State.idle
      }
    }
  }

  /** Nothing is changed. */
  private def leave(): Unit = {
    finish(StatusCode.Ok)
    state := State.idle
  }

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
    finish(StatusCode.Ok)
    state := State.idle
  }
}
