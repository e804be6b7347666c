// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._

/** A device goes: SWAPOFF_BEGIN takes its write permission (`del_from_avail_list()`), SWAPOFF forgets it, its clusters
  * in the index, and the CPUs' hints into it (`flush_percpu_swap_cluster()`).
  */
class SwapoffUnit(implicit p: Params) extends CoreUnit {
  private val dropping = RegInit(false.B)
  private val number = deviceIndex(req.device)

  access.change.device := number
  access.dropHints.bits := number
  access.forgetLists.bits := number

  when(io.start) {
    when(!claimed) {
      finish(StatusCode.BadDevice)
    }.elsewhen(req.op === CoreOp.swapoffBegin) {
      access.change.op := DeviceOp.disable
      finish(StatusCode.Ok)
    }.otherwise {
      access.change.op := DeviceOp.forget
      access.dropHints.valid := true.B
      access.forgetLists.valid := true.B
      dropping := true.B
    }
  }
  when(dropping && view.hintsReady && view.indexReady) {
    finish(StatusCode.Ok)
    dropping := false.B
  }
}
