// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** FREE: gives slots of one cluster back, as the kernel's `__swap_cluster_free_entries()` does.
  *
  * A cluster that is empty then goes to FREE, any other to the tail of NONFULL of its own order, unless it is on a
  * NONFULL list already. A device that was full becomes available again (SwapDevices).
  *
  * 5 cycles, 5 more when the cluster changes its list. A range that crosses parts of a row takes longer: one cycle more
  * for each further part to look at, then 4 and one for each part to change.
  */
class FreeUnit(p: Params) extends CoreUnit(p) {
  private object State extends ChiselEnum {
    val idle, row, moving = Value
  }
  private val state = RegInit(State.idle)

  requestRange()
  access.open.bits := clusterOfOffset

  // Steady when the row has been looked at.
  private val count = RegNext(view.meta.count - req.nr)
  private val empty = count === 0.U
  private val inOnePart = RegNext(access.range.firstPart(p) === access.range.lastPart(p))

  switch(state) {
    is(State.idle) {
      when(io.start) {
        // A look does no harm, whatever the request names.
        access.open.valid := true.B
        access.rowOp := RowOp.look
        when(!claimed || !device.listed) {
          finish(StatusCode.BadDevice)
        }.elsewhen(!rangeValid) {
          finish(StatusCode.BadRange)
        }.otherwise {
          state := State.row
        }
      }
    }

    is(State.row) {
      when(view.rowsDone) {
        commit()
      }
    }

    is(State.moving) {
      when(settled) {
        finish(StatusCode.Ok)
        state := State.idle
      }
    }
  }

  /** Nothing changes unless all slots are in use. */
  private def commit(): Unit =
    when(view.allInUse) {
      val flag = Mux(empty, ClusterFlag.free, ClusterFlag.nonfull)
      val relist = view.meta.flag =/= flag
      access.rowOp := RowOp.clearK
      store(deviceIndex(req.device), count, flag, Mux(empty, 0.U, view.meta.order), relist)
      access.change.op := DeviceOp.adjust
      access.change.device := deviceIndex(req.device)
      access.change.usedDelta := -req.nr.zext
      access.change.hintedDelta := 0.S
      io.events.freed := true.B
      when(relist || !inOnePart) {
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
