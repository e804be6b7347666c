// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Logic after a read of the store, in the cycle of the read: half of the cycle has passed when the word is there.
  * These are modules so that synthesis leaves them whole (hwswap_soc/engine_part.py): mapped with all else, the word
  * read passes as many look-up tables as values from registers do.
  */
class LateFits(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** For how many orders the word that was read has a run; with no more than `below` it does not fit. */
    val orders = Input(UInt(log2Ceil(p.wordOrders + 1).W))
    val below = Input(UInt(log2Ceil(p.wordOrders).W))
    val fits = Output(Bool())
  })
  io.fits := io.orders > io.below
}

/** The same for a cluster's count: it is empty. `isKnown` says that this comes from elsewhere, as `known`. */
class LateEmpty(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val count = Input(UInt(p.countBits.W))
    val isKnown, known = Input(Bool())
    val empty = Output(Bool())
  })
  io.empty := Mux(io.isKnown, io.known, io.count === 0.U)
}

/** Whether a value that comes late in its cycle is this one: known one cycle later, as only a few bits each are
  * compared before.
  */
object LateEqual {
  private val Bits = 3

  /** `anyway`: it does not matter, it counts as equal. */
  def apply(late: UInt, other: UInt, anyway: Bool = false.B): Bool =
    (late ^ other).asBools
      .grouped(Bits)
      .map(differ => RegNext(anyway || !VecInit(differ).asUInt.orR))
      .reduce(_ && _)
}

/** A cluster's number from one of two RAMs, or from elsewhere. */
class LateChoice(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val values = Input(Vec(2, UInt(p.clusterBits.W)))

    /** At most one. */
    val chosen = Input(Vec(2, Bool()))
    val other = Input(UInt(p.clusterBits.W))
    val value = Output(UInt(p.clusterBits.W))
  })
  io.value := MuxCase(io.other, io.chosen.zip(io.values))
}
