// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** What follows from what the store has read, at the end of the cycle in which it is read: half of that cycle has
  * passed when it is there. These are modules so that synthesis may leave them whole (hwswap_soc/synthesis.py): mapped
  * with all else, what was read passes as many look-up tables as what comes from registers.
  *
  * `isKnown` says that it comes from elsewhere, as `known`.
  */
class LateFits(p: Params) extends Module {
  val io = IO(new Bundle {

    /** For how many orders the word that was read has a run; with no more than `below` it does not fit. */
    val orders = Input(UInt(log2Ceil(p.wordOrders + 1).W))
    val below = Input(UInt(log2Ceil(p.wordOrders).W))
    val isKnown, known = Input(Bool())
    val fits = Output(Bool())
  })
  io.fits := Mux(io.isKnown, io.known, io.orders > io.below)
}

/** The same for a cluster's count: it is empty. */
class LateEmpty(p: Params) extends Module {
  val io = IO(new Bundle {
    val count = Input(UInt(p.countBits.W))
    val isKnown, known = Input(Bool())
    val empty = Output(Bool())
  })
  io.empty := Mux(io.isKnown, io.known, io.count === 0.U)
}
