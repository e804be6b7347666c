// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._
import hwswap.store.FreeRuns

/** Words of a cluster's row that were changed, and how many orders find a run in each of them now (FreeRuns.orders). */
class WordsChange(implicit p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val words = UInt(p.words.W)
  val orders = UInt(log2Ceil(p.wordOrders + 1).W)
}

/** Tells the index what has become of a cluster, whenever the open cluster gets a new record; changes of its row come
  * in that cycle or before. It works on copies, so that the next cluster can be opened meanwhile.
  *
  * A change of the row is known three cycles after it was asked for. So what the words held is taken over with the
  * record, and goes through three cycles in which a word that turns out to have been changed is corrected; then it is
  * seen whether the cluster has a run of its order; then the index is updated. Records come every second cycle at most.
  *
  * A record that gives another order to a cluster that is partly used, as the kernel's may, comes from a unit, and no
  * other follows soon: a first update says that the cluster has left the order it had.
  */
class IndexFeed(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** The open cluster, its record, the new one, and what its words held: see OpenCluster. */
    val cluster = Input(UInt(p.clusterBits.W))
    val meta = Input(new ClusterMeta)
    val newMeta = Flipped(Valid(new ClusterMeta))
    val orders = Input(Vec(p.words, UInt(log2Ceil(p.wordOrders + 1).W)))

    /** Words are written to the store (none: no word). */
    val written = Input(new WordsChange)
    val update = Valid(new IndexUpdate)

    /** A record of the cycles before is on its way. */
    val busy = Output(Bool())
  })

  private def isPartly(meta: ClusterMeta): Bool =
    meta.flag.isOneOf(ClusterFlag.nonfull, ClusterFlag.frag) && meta.count =/= p.slots.U

  private val changed = RegNext(io.written)

  // The new record, as far as it matters, in each cycle.
  private class Summary extends Bundle {
    val cluster = UInt(p.clusterBits.W)
    val order = UInt(p.orderBits.W)
    val partly = Bool()

    /** The order that the cluster has to leave first. */
    val left = Valid(UInt(p.orderBits.W))
  }
  private val valid0 = io.newMeta.valid
  private val valid1 = RegNext(valid0, false.B)
  private val valid2 = RegNext(valid1, false.B)
  private val valid3 = RegNext(valid2, false.B)
  private val valid4 = RegNext(valid3, false.B)

  // First: the copies.
  private val cluster = RegNext(io.cluster)
  private val meta = RegNext(io.meta)
  private val newMeta = RegNext(io.newMeta.bits)
  private val orders = RegNext(io.orders)
  private val summary1 = Wire(new Summary)
  summary1.cluster := cluster
  summary1.partly := isPartly(newMeta)
  summary1.order := Mux(summary1.partly, newMeta.order, meta.order)
  summary1.left.valid := summary1.partly && isPartly(meta) && newMeta.order =/= meta.order
  summary1.left.bits := meta.order
  private val summary2 = RegNext(summary1)
  private val summary3 = RegNext(summary2)
  private val summary4 = RegNext(summary3)

  /** The word has a run of the order, or, above order 5, is empty. It was changed just now, or is as it was. */
  private def corrected(of: Summary, was: Int => Bool): Vec[Bool] = {
    val touched = Mux(changed.cluster === of.cluster, changed.words, 0.U)
    val now = FreeRuns.fits(changed.orders, of.order)
    VecInit.tabulate(p.words)(w => Mux(touched(w), now, was(w)))
  }
  private val fits2 = RegNext(corrected(summary1, w => FreeRuns.fits(orders(w), summary1.order)))
  private val fits3 = RegNext(corrected(summary2, fits2(_)))
  private val fits4 = RegNext(corrected(summary3, fits3(_)))

  // A run of the order: in a word, or some empty words in a row, at a multiple of their number.
  private val inWord = fits4.asUInt.orR
  private val across = (p.wordOrders until p.orders - 1).map { k =>
    val length = 1 << (k - p.wordOrders + 1)
    (summary4.order === k.U) -> fits4.grouped(length).map(_.reduce(_ && _)).reduce(_ || _)
  }
  private val fits = summary4.partly && MuxCase(inWord, across)

  // The updates: the last one, and what has to come before it.
  private val update = Reg(new IndexUpdate)
  private val telling = RegNext(valid4, false.B)
  private val leaving = RegNext(valid4 && summary4.left.valid, false.B)
  private val pausing = RegNext(leaving, false.B)
  private val again = RegNext(pausing, false.B)
  private val held = Reg(new IndexUpdate)
  when(valid4) {
    held.cluster := summary4.cluster
    held.order := summary4.order
    held.partly := summary4.partly
    held.fits := fits
    update.cluster := summary4.cluster
    update.order := Mux(summary4.left.valid, summary4.left.bits, summary4.order)
    update.partly := summary4.partly && !summary4.left.valid
    update.fits := fits && !summary4.left.valid
  }
  io.update.valid := telling || again
  io.update.bits := Mux(again, held, update)
  io.busy := valid1 || valid2 || valid3 || valid4 || telling || leaving || pausing || again

  assert(
    !(summary4.left.valid && valid4 && (valid2 || valid3)),
    "a cluster gets another order while other clusters change"
  )
}
