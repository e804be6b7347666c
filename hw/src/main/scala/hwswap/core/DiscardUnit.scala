// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Discarding, `swap_do_scheduled_discard()` in two halves, as the host does the discard itself: DISCARD_TAKE takes the
  * first cluster off the list DISCARD of a device and names it, DISCARD_DONE puts it on FREE, with order 0.
  *
  * In between, the cluster keeps its flag, so that nobody whose hint leads to it uses it. 6 cycles, and 2.
  */
class DiscardUnit(implicit p: Params) extends CoreUnit {
  private object State extends ChiselEnum {
    val idle, peeked, ends, opening, done = Value
  }
  private val state = RegInit(State.idle)
  private val number = deviceIndex(req.device)

  access.query.peekDevice := number
  access.query.peekList := ListId.discard.U
  access.open.bits := view.lists.ends.head

  switch(state) {
    is(State.idle) {
      when(io.start) {
        access.query.peek := true.B
        when(!claimed || !device.listed) {
          finish(StatusCode.BadDevice)
        }.elsewhen(req.op === CoreOp.discardTake) {
          when(VecInit(At(view.lists.nonEmpty, number).asBools)(ListId.discard)) {
            state := State.peeked
          }.otherwise {
            finish(StatusCode.NoSpace)
          }
        }.elsewhen(clusterInDevice >= device.clusters) {
          finish(StatusCode.BadRange)
        }.otherwise {
          state := State.done
        }
      }
    }

    is(State.peeked)(state := State.ends)
    is(State.ends) {
      access.open.valid := true.B
      state := State.opening
    }
    is(State.opening) {
      when(view.opened) {
        store(number, view.meta.count, ClusterFlag.discard, view.meta.order, true.B)
        access.newMeta.bits.taken := true.B
        access.move.bits.push := false.B
        io.events.listMove := false.B // the cluster goes nowhere yet
        finish(StatusCode.Ok)
        io.resp.offset := (view.cluster - device.info.base)(p.clusterBits - 1, 0) ## 0.U(p.slotBits.W)
        state := State.idle
      }
    }

    // The request's cluster is open from the start on.
    is(State.done) {
      when(view.meta.taken) {
        store(number, 0.U, ClusterFlag.free, 0.U, true.B)
        finish(StatusCode.Ok)
      }.otherwise {
        finish(StatusCode.BadRange)
      }
      state := State.idle
    }
  }
}
