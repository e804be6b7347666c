// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._

/** DUMP: walks over the row of a cluster, which then stays open until the answer is taken, so that DumpPort shows it,
  * and looks at its links. Whether a device has the cluster does not matter. 22 cycles from the start on.
  */
class DumpUnit(implicit p: Params) extends CoreUnit {
  private val walking = RegInit(false.B)
  wholeRange()
  access.query.look.bits := req.cluster
  when(io.start) {
    access.query.look.valid := true.B
    access.walk := RowWalk.count
    walking := true.B
  }
  when(walking && view.walked) {
    finish(StatusCode.Ok)
    walking := false.B
  }
}
