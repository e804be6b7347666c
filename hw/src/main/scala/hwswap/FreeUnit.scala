// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** FREE: gives slots of one cluster back, as the kernel's `__swap_cluster_free_entries()` does.
  *
  * A cluster that is empty then goes to FREE, any other to the tail of NONFULL of its own order, unless it is on a
  * NONFULL list already. A device that was full becomes available again (SwapDevices).
  *
  * 4 cycles, 3 more when the cluster changes its list.
  */
class FreeUnit(p: Params) extends CoreUnit(p) {
  private object State extends ChiselEnum {
    val idle, row, commit, moving = Value
  }
  private val state = RegInit(State.idle)

  requestRange()
  access.open.bits := clusterOfOffset

  private val count = view.meta.count - req.nr
  private val empty = count === 0.U
  private val inUse = RegNext(view.allInUse)

  switch(state) {
    is(State.idle) {
      when(io.start) {
        when(!claimed || !device.listed) {
          finish(StatusCode.BadDevice)
        }.elsewhen(!rangeValid) {
          finish(StatusCode.BadRange)
        }.otherwise {
          access.open.valid := true.B
          state := State.row
        }
      }
    }

    is(State.row) {
      when(view.opened) {
        state := State.commit
      }
    }

    is(State.commit) {
      when(inUse) {
        val flag = Mux(empty, ClusterFlag.free, ClusterFlag.nonfull)
        val relist = view.meta.flag =/= flag
        access.rowOp := RowOp.clearK
        store(deviceIndex(req.device), count, flag, Mux(empty, 0.U, view.meta.order), relist)
        access.change.op := DeviceOp.adjust
        access.change.device := deviceIndex(req.device)
        access.change.usedDelta := -req.nr.zext
        access.change.hintedDelta := 0.S
        io.events.freed := true.B
        when(relist) {
          state := State.moving
        }.otherwise {
          finish(StatusCode.Ok)
          state := State.idle
        }
      }.otherwise {
        finish(StatusCode.BadRange)
        state := State.idle
      }
    }

    is(State.moving) {
      when(view.moved) {
        finish(StatusCode.Ok)
        state := State.idle
      }
    }
  }
}
