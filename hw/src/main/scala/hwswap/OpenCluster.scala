// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** A change of the open cluster's slots: those of a range, in one word or of whole words, become used or free. */
class RowChange(p: Params) extends Bundle {
  val range = new SlotRange(p)
  val used = Bool()

  /** The slots are those that were found last; else they are in the word that was picked last. */
  val found = Bool()
}

/** The open cluster, like the kernel's `ci` between `swap_cluster_lock()` and `swap_cluster_unlock()`: its line of the
  * store in registers. All work on 512 slots is done here, so that those who decide handle small numbers only.
  *
  * `open` makes a cluster the open one by the end of the cycle: it is that already, or it comes from the store, where
  * `read` has to have named it one cycle before. Whether it is the open one is looked up when it is read, so `read` has
  * to name it also if it is, or if the store's line of it does not matter; no other one is opened in between.
  *
  * `look` picks a word and looks for a run; both answers are there one cycle later, until the next look.
  *
  * A change is asked for in one cycle and made in the next, to the row and to the store alike. In that cycle the new
  * word is seen by the look already, but not what follows from it for the other words: see `stale`. No cluster is
  * fetched in that cycle.
  */
class OpenCluster(p: Params) extends Module {

  /** Where the lines are kept. */
  val store = IO(Flipped(new StorePort(p)))
  val io = IO(new Bundle {

    /** Read this cluster's line of the store. */
    val read = Flipped(Valid(UInt(p.clusterBits.W)))

    /** Make this cluster the open one. `blank`: what the store holds of it does not matter. */
    val open = Flipped(Valid(UInt(p.clusterBits.W)))
    val blank = Input(Bool())

    /** The order that will be looked for in it. */
    val nextOrder = Input(UInt(p.orderBits.W))

    // The open cluster.
    val cluster = Output(UInt(p.clusterBits.W))
    val meta = Output(new ClusterMeta(p))
    val kernel = Output(new KernelMeta)

    /** New records of the cluster that is open in this cycle. */
    val newMeta = Flipped(Valid(new ClusterMeta(p)))
    val newKernel = Flipped(Valid(new KernelMeta))

    /** Pick this word of the row. */
    val look = Input(Bool())
    val pick = Input(UInt(p.wordBits.W))
    val word = Output(UInt(p.wordSlots.W))

    /** Look for 2^order free slots behind `behind`, which is in the word that is picked, or anywhere. */
    val order = Input(UInt(p.orderBits.W))
    val behind = Input(UInt(p.slotBits.W))
    val anywhere = Input(Bool())
    val found = Output(Bool())
    val foundSlot = Output(UInt(p.slotBits.W))

    /** The slots of `checked` in the word that is picked, and all of `checkedWords`, are used. */
    val checked = Input(new SlotRange(p))
    val checkedWords = Input(UInt(p.words.W))
    val allUsed = Output(Bool())

    /** In this cycle a look sees the right word, but neither finds anything nor checks other words: slots were changed
      * in the cycle in which the cluster, which was open already, was opened. A look without an `open` may follow a
      * change at once, if it is for the same order, and all that was changed lies in front of `behind`.
      */
    val stale = Output(Bool())

    /** A change of slots; a word that is replaced by another. */
    val change = Flipped(Valid(new RowChange(p)))
    val put = Flipped(Valid(UInt(p.wordBits.W)))
    val newWord = Input(UInt(p.wordSlots.W))

    /** Slots are being changed in this cycle. */
    val changing = Output(Bool())

    /** A count is beyond 512 (one cycle). */
    val fault = Output(Bool())
  })

  private val valid = RegInit(false.B)
  private val cluster = Reg(UInt(p.clusterBits.W))
  private val row = Reg(Vec(p.words, UInt(p.wordSlots.W)))
  private val orders = Reg(Vec(p.words, UInt(log2Ceil(p.wordOrders + 1).W)))
  private val fits = Reg(Vec(p.words, Bool()))
  private val meta = Reg(new ClusterMeta(p))
  private val kernel = Reg(new KernelMeta)
  private val line = store.line
  store.read := io.read

  // Which way a cluster comes.
  private val atHand = RegNext(valid && cluster === io.read.bits)
  private val fetch = io.open.valid && !atHand
  private val stale = RegNext(io.open.valid && atHand && (io.change.valid || io.put.valid), false.B)
  io.stale := stale

  // What was asked for in the last cycle is written in this one, to the store and, if the cluster is still open, to the
  // row. The fields keep what they are until something else is asked for.
  private val rowWrite = RegNext(io.change.valid || io.put.valid, false.B)
  private val metaWrite = RegNext(io.newMeta.valid, false.B)
  private val kernelWrite = RegNext(io.newKernel.valid, false.B)
  private val writing = rowWrite || metaWrite || kernelWrite
  private val written = Reg(UInt(p.clusterBits.W))
  private val stillOpen = RegNext(!fetch)
  private val range = Reg(new SlotRange(p))
  private val setting = Reg(Bool())
  private val old = Reg(UInt(p.wordSlots.W))
  private val newMeta = RegEnable(io.newMeta.bits, io.newMeta.valid)
  private val newKernel = RegEnable(io.newKernel.bits, io.newKernel.valid)
  private val mask = range.maskIn(p)
  private val newWord = Mux(setting, old | mask, old & ~mask)
  private val touched = range.touched(p)
  private val newStored = Wire(new StoredWord(p))
  newStored.used := newWord
  newStored.orders := FreeRuns.orders(newWord)
  store.write.cluster := written
  store.write.words := Mux(rowWrite, touched, 0.U)
  store.write.word := newStored
  store.write.meta.valid := metaWrite
  store.write.meta.bits := newMeta
  store.write.kernel.valid := kernelWrite
  store.write.kernel.bits := newKernel
  io.changing := rowWrite

  // A line that was read in the cycle in which some of it was written: that is still at hand.
  private val together = io.read.valid && io.read.bits === written
  private val rowMissed = RegNext(together && rowWrite, false.B)
  private val metaMissed = RegNext(together && metaWrite, false.B)

  // The row goes on. Which of its two sources a word has is known long before whether it changes.
  private val order = Mux(stale, io.order, io.nextOrder)
  private val here = atHand || stale
  private val newFits = FreeRuns.holds(newWord, order)
  for (w <- 0 until p.words) {
    val patched = rowWrite && stillOpen && touched(w)
    val missed = rowMissed && touched(w)
    when(fetch || patched) {
      val stored = Mux(rowWrite || missed, newStored, line.words(w))
      row(w) := stored.used
      orders(w) := stored.orders
    }
    when(io.open.valid || stale) {
      fits(w) := Mux(
        Mux(here, patched, missed),
        newFits,
        FreeRuns.fits(Mux(here, orders(w), line.words(w).orders), order, p)
      )
    }
  }
  when(io.newMeta.valid)(meta := io.newMeta.bits)
  when(io.newKernel.valid)(kernel := io.newKernel.bits)
  when(fetch) {
    valid := true.B
    cluster := io.open.bits
    meta := Mux(metaMissed, newMeta, line.meta)
    kernel := line.kernel
  }
  io.cluster := cluster
  io.meta := meta
  io.kernel := kernel

  // Look.
  private val isNew = rowWrite && stillOpen && io.pick >= range.firstWord(p) && io.pick <= range.lastWord(p)
  private val picked = Mux(isNew, newWord, Select(row, io.pick))
  private val word = RegEnable(picked, io.look)
  io.word := word
  private val finder = Module(new FreeRunFinder(p))
  finder.io.find := io.look
  finder.io.word := picked
  finder.io.row := row
  finder.io.fits := fits.asUInt
  finder.io.order := io.order
  finder.io.behind := io.behind
  finder.io.anywhere := io.anywhere
  io.found := finder.io.found
  io.foundSlot := finder.io.slot

  // Check: a bit for each four slots, then all together.
  private val free = (io.checked.maskIn(p) & ~picked).asBools.grouped(4).toSeq.map { slots =>
    RegEnable(VecInit(slots).asUInt.orR, io.look)
  }
  private val notFull =
    RegEnable((0 until p.words).map(w => io.checkedWords(w) && orders(w) =/= 0.U).reduce(_ || _), io.look)
  io.allUsed := !(free :+ notFull).reduce(_ || _)

  // What is asked for. A word that is replaced has an empty range of its own.
  when(io.change.valid || io.put.valid || io.newMeta.valid || io.newKernel.valid) {
    written := cluster
  }
  when(io.change.valid || io.put.valid) {
    range := io.change.bits.range
    setting := io.change.bits.used
    old := Mux(io.put.valid, io.newWord, Mux(io.change.bits.found, finder.io.chosen, word))
    when(io.put.valid) {
      range.start := io.put.bits ## Fill(p.wordSlotBits, true.B)
      range.last := io.put.bits ## 0.U(p.wordSlotBits.W)
      setting := false.B
    }
  }

  // Self-checks.
  private val overfull = io.newMeta.valid && io.newMeta.bits.count > p.slots.U
  io.fault := overfull
  assert(!(io.change.valid && io.put.valid), "two changes of slots at once")
  assert(
    !(rowWrite && stillOpen && setting) ||
      !VecInit.tabulate(p.words)(w => touched(w) && (row(w) & mask).orR).asUInt.orR,
    "a slot is given that is in use"
  )
  assert(!overfull, "a cluster counts more than 512 slots in use")
  assert(!(fetch && rowWrite), "a cluster is fetched while slots are changed")
  assert(!(fetch && writing && written === io.open.bits), "a cluster is fetched that is written too late")
  assert(!(together && kernelWrite), "a cluster is read while the kernel's word of it is written")
  private val named = RegNext(io.read.bits)
  assert(!io.open.valid || named === io.open.bits, "a cluster is opened that was not named before")
  assert(!fetch || io.blank || RegNext(io.read.valid, false.B), "a cluster is opened that was not read")
  assert(!(io.open.valid && RegNext(io.open.valid, false.B)), "two clusters are opened in consecutive cycles")
  when(io.newMeta.valid) {
    val meta = io.newMeta.bits
    assert(
      meta.flag =/= ClusterFlag.free || (meta.count === 0.U && meta.order === 0.U),
      "a FREE cluster has slots in use or an order"
    )
    assert(meta.flag =/= ClusterFlag.full || meta.count === p.slots.U, "a FULL cluster has a free slot")
  }
}
