// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._
import hwswap.store.{ClusterStore, FreeRuns, StoreWrite}

/** A change of the open cluster's slots: those of a range, in one word or of whole words, become used or free. */
class RowChange(implicit p: Params) extends Bundle {
  val range = new SlotRange
  val used = Bool()

  /** The slots are those that were found last; else they are in the word that was picked last. */
  val found = Bool()
}

/** The open cluster, like the kernel's `ci` between `swap_cluster_lock()` and `swap_cluster_unlock()`: its line of the
  * store in registers. All work on 512 slots is done here, so that the units that decide handle small numbers only.
  *
  * `open` makes a cluster the open one by the end of the cycle: it is that already, or it comes from the store, where
  * `read` has to have named it one cycle before. Whether it is the open one is looked up when it is read, so `read` has
  * to name it also if it is, or if the store's line of it does not matter; no other one is opened in between.
  *
  * `look` picks a word and looks for a run: see ClusterSearch.
  *
  * A change is asked for in one cycle, made of the row in the next, and written to the store in the one after that. In
  * the second cycle the look already sees the new word, but not its effect on the search: see `stale`. No cluster is
  * fetched in that cycle. Words that the store does not have yet when a cluster is read are put in their places.
  */
class OpenCluster(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Read this cluster's line of the store. */
    val read = Flipped(Valid(UInt(p.clusterBits.W)))

    /** Make this cluster the open one. */
    val open = Flipped(Valid(UInt(p.clusterBits.W)))

    /** The order that will be looked for in it. */
    val nextOrder = Input(UInt(p.orderBits.W))

    // The open cluster.
    val opened = Output(new OpenedCluster)

    /** New records of the cluster that is open in this cycle. */
    val newMeta = Flipped(Valid(new ClusterMeta))
    val newEmpty = Input(Bool())

    val search = Flipped(new ClusterSearch)

    /** The word that was picked last. */
    val word = Output(UInt(p.wordSlots.W))

    /** A change of slots; a word that is replaced by another. */
    val change = Flipped(Valid(new RowChange))
    val put = Flipped(Valid(UInt(p.wordBits.W)))
    val newWord = Input(UInt(p.wordSlots.W))

    /** For how many orders each word of the row has a run, without the changes that still are on their way; and the
      * changes as they are written to the store: see IndexFeed.
      */
    val orders = Output(Vec(p.words, UInt(log2Ceil(p.wordOrders + 1).W)))
    val written = Output(new WordsChange)

    /** A count is beyond 512 (one cycle). */
    val fault = Output(Bool())
  })

  private val valid = RegInit(false.B)
  private val cluster = Reg(UInt(p.clusterBits.W))
  private val row = Reg(Vec(p.words, UInt(p.wordSlots.W)))
  private val orders = Reg(Vec(p.words, UInt(log2Ceil(p.wordOrders + 1).W)))

  /** The words that have a run: by the word read, or by what was known otherwise. */
  private val readFits, knownFits, isRead = Reg(Vec(p.words, Bool()))
  private val meta = Reg(new ClusterMeta)

  /** No slot is used: known with `meta`, since a search starts with it. */
  private val empty = Reg(Bool())
  private val store = Module(new ClusterStore).io
  private val line = store.line
  store.read := io.read

  // The source of a cluster: it is the open one, or its line was just read.
  private val isOpen = LateEqual(io.read.bits, cluster) && valid
  private val fetch = io.open.valid && !isOpen
  private val stale = RegNext(io.open.valid && isOpen && (io.change.valid || io.put.valid), false.B)
  io.search.stale := stale

  // A change asked for in the last cycle is made of the row in this one, if the cluster is still open.
  private val rowWrite = RegNext(io.change.valid || io.put.valid, false.B)
  private val metaWrite = RegNext(io.newMeta.valid, false.B)
  private val changed = Reg(UInt(p.clusterBits.W))
  changed := cluster
  private val stillOpen = RegNext(!fetch)
  private val range = Reg(new SlotRange)
  private val setting = Reg(Bool())
  private val old = Reg(UInt(p.wordSlots.W))
  private val newMeta = RegNext(io.newMeta.bits)
  private val mask = range.maskIn
  private val newWord = Mux(setting, old | mask, old & ~mask)
  private val touched = range.touched
  io.search.changing := rowWrite

  // One cycle later it is written to the store, with the orders that find a run in it now.
  private val writing = rowWrite || metaWrite
  private val write = Reg(new StoreWrite)
  private val rowWritten = RegNext(rowWrite, false.B)
  private val metaWritten = RegNext(metaWrite, false.B)
  private val patchesOrders = RegNext(rowWrite && stillOpen, false.B)
  private val newOrders = FreeRuns.orders(write.word.used)
  private val writeAt = Mux(writing, changed, write.cluster)
  write.cluster := writeAt
  when(rowWrite) {
    write.words := touched
    write.word.used := newWord
  }
  private val writesEmpty = Reg(Bool())
  when(metaWrite) {
    write.meta.bits := newMeta
    writesEmpty := newMeta.count === 0.U
  }
  store.write := write
  store.write.words := Mux(rowWritten, write.words, 0.U)
  store.write.word.orders := newOrders
  store.write.meta.valid := metaWritten

  io.orders := orders
  io.written.cluster := write.cluster
  io.written.words := store.write.words
  io.written.orders := newOrders

  // A line that was read in the cycle in which some of it was written, or in the one before: that still is in a
  // register.
  private val read = RegNext(io.read.valid, false.B)
  private def lateFor(written: Bool): Bool = written || RegNext(written, false.B)
  private val late = LateEqual(io.read.bits, writeAt)
  private val rowLate = late && lateFor(rowWritten)
  private val metaLate = late && lateFor(metaWritten)

  // The row goes on. Which of its two sources a word has is known long before whether it changes.
  private val order = Mux(stale, io.search.order, io.nextOrder)
  private val here = isOpen || stale
  private val newFits = FreeRuns.holds(newWord, order)
  private val hasNew = FreeRuns.holds(write.word.used, order)
  private val isFull = write.word.used.andR
  private val full = Wire(Vec(p.words, Bool()))
  private val bus = Mux(rowWrite, newWord, write.word.used)
  for (w <- 0 until p.words) {
    val late = rowLate && write.words(w)
    val patched = rowWrite && stillOpen && touched(w)
    when(fetch || patched) {
      row(w) := Mux(rowWrite || late, bus, line.words(w).used)
    }
    val patchedOrders = patchesOrders && write.words(w)
    when(fetch) {
      orders(w) := Mux(late, newOrders, line.words(w).orders)
    }.elsewhen(patchedOrders) {
      orders(w) := newOrders
    }
    // Each source is compared by itself: the word read comes late.
    val known = Mux(
      stale && patched,
      newFits,
      Mux(Mux(here, patchedOrders, late), hasNew, FreeRuns.fits(orders(w), order))
    )
    full(w) := Mux(patchedOrders, isFull, orders(w) === 0.U)
    when(io.open.valid || stale) {
      val read = Module(new LateFits)
      read.io.orders := line.words(w).orders
      read.io.below := FreeRuns.below(order)
      readFits(w) := read.io.fits
      knownFits(w) := known
      isRead(w) := !(here || late)
    }
  }
  when(io.newMeta.valid) {
    meta := io.newMeta.bits
  }
  when(io.newMeta.valid || fetch) {
    val read = Module(new LateEmpty)
    read.io.count := line.meta.count
    read.io.isKnown := !fetch || metaLate
    read.io.known := Mux(fetch, writesEmpty, io.newEmpty)
    empty := read.io.empty
  }
  when(fetch) {
    valid := true.B
    cluster := io.open.bits
    meta := Mux(metaLate, write.meta.bits, line.meta)
  }
  io.opened.cluster := cluster
  io.opened.meta := meta
  io.opened.empty := empty

  // Look. A run found lies after all slots that are being changed, so the finder does without the change.
  private val isNew = rowWrite && stillOpen && io.search.pick >= range.firstWord && io.search.pick <= range.lastWord
  private val stored = Select(row, io.search.pick)
  private val picked = Mux(isNew, newWord, stored)
  private val word = RegEnable(picked, io.search.look)
  io.word := word
  private val finder = Module(new FreeRunFinder)
  finder.io.find := io.search.look
  finder.io.row := row
  finder.io.fits := VecInit.tabulate(p.words)(w => Mux(isRead(w), readFits(w), knownFits(w))).asUInt
  finder.io.order := io.search.order
  finder.io.after := io.search.after
  finder.io.anywhere := io.search.anywhere
  finder.io.later := io.search.later
  io.search.found := finder.io.found
  io.search.foundSlot := finder.io.slot
  io.search.foundHere := finder.io.here
  io.search.beyond := finder.io.beyond

  // Check: a bit for each four slots, then all together.
  private val free = (io.search.checked.maskIn & ~picked).asBools.grouped(4).toSeq.map { slots =>
    RegEnable(VecInit(slots).asUInt.orR, io.search.look)
  }
  private val notFull =
    RegEnable((0 until p.words).map(w => io.search.checkedWords(w) && !full(w)).reduce(_ || _), io.search.look)
  io.search.allUsed := !(free :+ notFull).reduce(_ || _)

  // The change asked for. A word that is replaced has an empty range of its own.
  range := io.change.bits.range
  setting := io.change.bits.used
  old := Mux(io.put.valid, io.newWord, Mux(io.change.bits.found && !finder.io.here, finder.io.laterWord, word))
  when(io.put.valid) {
    range.start := io.put.bits ## Fill(p.wordSlotBits, true.B)
    range.last := io.put.bits ## 0.U(p.wordSlotBits.W)
    setting := false.B
  }

  // Self-checks.
  private val overfull = metaWrite && newMeta.count > p.slots.U
  io.fault := overfull
  assert(!(io.change.valid && io.put.valid), "two changes of slots at once")
  assert(
    !(rowWrite && stillOpen && setting) ||
      !VecInit.tabulate(p.words)(w => touched(w) && (row(w) & mask).orR).asUInt.orR,
    "a slot is given that is in use"
  )
  assert(empty === (meta.count === 0.U) || !valid, "a cluster is said to be empty that is not, or the reverse")
  assert(!overfull, "a cluster counts more than 512 slots in use")
  assert(!(fetch && rowWrite), "a cluster is fetched while slots are changed")
  assert(!(fetch && writing && changed === io.open.bits), "a cluster is fetched that is written too late")
  assert(!io.open.valid || RegNext(io.read.bits) === io.open.bits, "a cluster is opened that was not named before")
  assert(!fetch || read, "a cluster is opened that was not read")
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
