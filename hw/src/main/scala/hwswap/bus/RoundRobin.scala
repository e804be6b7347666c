// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** Taking turns. */
object RoundRobin {

  /** The next after `last` that wants a turn, the lowest again after the highest; any number when none does. */
  def apply(wants: Seq[Bool], last: UInt): UInt = {
    val later = wants.zipWithIndex.map { case (want, i) => want && i.U > last }
    def first(candidates: Seq[Bool]): UInt = PriorityMux(candidates, candidates.indices.map(_.U))
    Mux(VecInit(later).asUInt.orR, first(later), first(wants))
  }
}
