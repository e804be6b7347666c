// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._
import hwswap.store.FreeRuns

/** Words of a cluster's row that were changed, and how many orders find a run in each now (FreeRuns.orders). */
class WordsChange(implicit p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val words = UInt(p.words.W)
  val orders = UInt(log2Ceil(p.wordOrders + 1).W)
}

/** Tells the index a cluster's new state, whenever the open cluster gets a new record; changes of its row come in that
  * cycle or before. It works on copies, so that the next cluster can be opened meanwhile.
  *
  * A change of the row is known three cycles after it was asked for. So the words' old state is taken over with the
  * record, and goes through three cycles in which a word that turns out to have been changed is corrected; then it is
  * seen whether the cluster has a run of its order; then the index is updated. Records come every second cycle at most.
  *
  * A record that gives another order to a cluster that is partly used, as the kernel's may, comes from a unit, and no
  * other follows soon: a first update says that the cluster has left the order it had.
  */
class IndexFeed(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** The open cluster, its record, the new one, and the state of its words: see OpenCluster. */
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

  /** The parts of the open cluster's change, as they were when it got its new record. */
  private class Copied extends Bundle {
    val cluster = UInt(p.clusterBits.W)
    val meta, newMeta = new ClusterMeta
    val orders = Vec(p.words, UInt(log2Ceil(p.wordOrders + 1).W))
  }

  /** The new record, as far as it matters, and which words have a run of its order, or, above order 5, are empty. */
  private class Corrected extends Bundle {
    val cluster = UInt(p.clusterBits.W)
    val order = UInt(p.orderBits.W)
    val partly = Bool()

    /** The order that the cluster has to leave first. */
    val oldOrder = Valid(UInt(p.orderBits.W))
    val fits = Vec(p.words, Bool())
  }

  private val copied = Stage(new Copied)
  private val corrected = Seq.fill(IndexFeed.CorrectedCycles)(Stage(new Corrected))
  private val last = corrected.last

  copied.valid := io.newMeta.valid
  copied.bits.cluster := io.cluster
  copied.bits.meta := io.meta
  copied.bits.newMeta := io.newMeta.bits
  copied.bits.orders := io.orders

  private val begun = Wire(new Corrected)
  begun.cluster := copied.bits.cluster
  begun.partly := isPartly(copied.bits.newMeta)
  begun.order := Mux(begun.partly, copied.bits.newMeta.order, copied.bits.meta.order)
  begun.oldOrder.valid := begun.partly && isPartly(
    copied.bits.meta
  ) && copied.bits.newMeta.order =/= copied.bits.meta.order
  begun.oldOrder.bits := copied.bits.meta.order
  begun.fits := VecInit(copied.bits.orders.map(FreeRuns.fits(_, begun.order)))

  /** With the words that were changed just now. */
  private def withChange(was: Corrected): Corrected = {
    val now = WireInit(was)
    val touched = Mux(changed.cluster === was.cluster, changed.words, 0.U)
    for (w <- 0 until p.words) when(touched(w))(now.fits(w) := FreeRuns.fits(changed.orders, was.order))
    now
  }
  corrected.head.valid := copied.valid
  corrected.head.bits := withChange(begun)
  for ((before, after) <- corrected.zip(corrected.tail)) {
    after.valid := before.valid
    after.bits := withChange(before.bits)
  }

  // A run of the order: in a word, or some empty words in a row, at a multiple of their number.
  private val inWord = last.bits.fits.asUInt.orR
  private val across = (p.wordOrders until p.orders - 1).map { k =>
    val length = 1 << (k - p.wordOrders + 1)
    (last.bits.order === k.U) -> last.bits.fits.grouped(length).map(_.reduce(_ && _)).reduce(_ || _)
  }
  private val fits = last.bits.partly && MuxCase(inWord, across)

  // The updates: the last one, and the one that has to come before it.
  private val update = Reg(new IndexUpdate)
  private val telling = RegNext(last.valid, false.B)
  private val leaving = RegNext(last.valid && last.bits.oldOrder.valid, false.B)
  private val pausing = RegNext(leaving, false.B)
  private val again = RegNext(pausing, false.B)
  private val held = Reg(new IndexUpdate)
  when(last.valid) {
    held.cluster := last.bits.cluster
    held.order := last.bits.order
    held.partly := last.bits.partly
    held.fits := fits
    update.cluster := last.bits.cluster
    update.order := Mux(last.bits.oldOrder.valid, last.bits.oldOrder.bits, last.bits.order)
    update.partly := last.bits.partly && !last.bits.oldOrder.valid
    update.fits := fits && !last.bits.oldOrder.valid
  }
  io.update.valid := telling || again
  io.update.bits := Mux(again, held, update)
  io.busy := copied.valid || corrected.map(_.valid).reduce(_ || _) || telling || leaving || pausing || again

  assert(
    !(last.bits.oldOrder.valid && last.valid && corrected.init.map(_.valid).reduce(_ || _)),
    "a cluster gets another order while other clusters change"
  )
}

object IndexFeed {

  /** Cycles in which words that were changed are corrected: as many as a change takes to be known. */
  private val CorrectedCycles = 3
}
