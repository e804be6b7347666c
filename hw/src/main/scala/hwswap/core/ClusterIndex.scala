// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A cluster's new state, for the index.
  *
  *   - order: the order it serves, or the one it served until it became FREE
  *   - partly: it is on NONFULL or FRAG
  *   - fits: it is, and has an aligned free run of its order
  */
class IndexUpdate(implicit p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val order = UInt(p.orderBits.W)
  val partly = Bool()
  val fits = Bool()
}

/** Clusters `first` to `last`: a device's. */
class IndexRange(implicit p: Params) extends Bundle {
  val first = UInt(p.clusterBits.W)
  val last = UInt(p.clusterBits.W)
}

/** A search of the index: the range of clusters, and the order. */
class IndexQuery(implicit p: Params) extends Bundle {
  val order = UInt(p.orderBits.W)
  val range = new IndexRange
}

/** In which clusters the scan of an allocation would not fail (policy PLACEMENT: INDEXED): those that serve an order
  * and have a free run of it, order by order, and those of any order that have a free slot. The kernel has nothing like
  * it.
  *
  * There is a bitmap per order, with one bit per cluster, in words; and a summary of each bitmap, one bit per word,
  * that says whether any bit of the word is set. A word whose bit is not set counts as zero, whatever the RAM holds,
  * and so does a summary until it is written: so only one bit per order is reset.
  *
  * The highest order needs no bitmap: it is served by empty clusters only.
  */
class ClusterIndex(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** One every second cycle at most, and none while the index is searched or forgets. It takes three cycles. */
    val update = Flipped(Valid(new IndexUpdate))

    /** Remove all clusters of this range from the index; `ready` is low from the next cycle until that is done. */
    val forget = Flipped(Valid(new IndexRange))

    val search = Flipped(new IndexSearch)

    /** All updates of the cycles before are done, and it is `ready`: it may be searched, or forget. */
    val idle = Output(Bool())
  })
  private val topOrder = (p.orders - 1).U

  private val range = RegEnable(
    Mux(io.forget.valid, io.forget.bits, io.search.query.bits.range),
    io.search.query.valid || io.forget.valid
  )
  private val order = RegEnable(io.search.query.bits.order, io.search.query.valid)
  private val forgetting = RegInit(false.B)

  private val orders = Module(new BitmapIndex(p.orders - 1))
  private val any = Module(new BitmapIndex(1))
  private val forgottenOrder = Reg(UInt(p.orderBits.W))
  private val indexes = Seq(orders, any)
  private val busy = indexes.map(_.io.busy).reduce(_ || _)
  private val starting = RegNext(io.search.query.valid || io.forget.valid, false.B)
  io.search.ready := !busy && !starting && !forgetting
  io.idle := io.search.ready && !indexes.map(_.io.writing).reduce(_ || _)

  for (index <- indexes) {
    index.io.range := range
    index.io.clear := forgetting
    index.io.start := starting
  }
  any.io.bitmap := 0.U
  orders.io.bitmap := Mux(forgetting, forgottenOrder, order)
  when(io.forget.valid) {
    forgetting := true.B
    forgottenOrder := 0.U
  }
  // Whether the one before is done is looked at a cycle later: the two bitmaps may be far from each other.
  private val goesOn = Wire(Bool())
  private val rests = RegNext(!busy && !starting && !goesOn, false.B)
  goesOn := forgetting && rests && !starting
  when(goesOn) { // never with the other: nobody asks then
    forgottenOrder := forgottenOrder + 1.U
    orders.io.start := forgottenOrder =/= (p.orders - 2).U
    orders.io.bitmap := forgottenOrder + 1.U
    forgetting := forgottenOrder =/= (p.orders - 2).U
  }
  io.search.ofOrder := orders.io.found
  io.search.ofAny := any.io.found
  when(order === topOrder) {
    io.search.ofOrder.valid := false.B
  }

  orders.io.write.valid := io.update.valid && io.update.bits.order < topOrder
  orders.io.write.bits := io.update.bits.cluster
  orders.io.writeBitmap := io.update.bits.order
  orders.io.value := io.update.bits.fits
  any.io.write.valid := io.update.valid
  any.io.write.bits := io.update.bits.cluster
  any.io.writeBitmap := 0.U
  any.io.value := io.update.bits.partly

  assert(!(io.update.valid && !io.search.ready), "the index is written while it is searched")
  assert(!(io.search.query.valid && io.forget.valid), "the index is searched while clusters are forgotten")
  assert(
    !((io.search.query.valid || io.forget.valid) && indexes.map(_.io.writing).reduce(_ || _)),
    "the index is searched while it is written"
  )
  assert(!(io.update.valid && RegNext(io.update.valid, false.B)), "the index is written in consecutive cycles")
}

/** Some bitmaps with one bit per cluster. The RAM's output is registered before it is used: a write is a read and, two
  * cycles later, the write; a search or the clearing of a range takes two cycles and three more per word. A
  * search ends after two words: only the first and the last can have no bit within the bounds.
  */
private class BitmapIndex(bitmaps: Int)(implicit p: Params) extends Module {
  private val wordBits = p.clusterBits / 2
  private val numberBits = p.clusterBits - wordBits
  private val words = 1 << numberBits
  private val bitmapBits = log2Ceil(bitmaps).max(1)
  private val wordSize = 1 << wordBits
  private val ramBits = log2Ceil(bitmaps * words)
  val io = IO(new Bundle {
    val write = Flipped(Valid(UInt(p.clusterBits.W)))
    val writeBitmap = Input(UInt(bitmapBits.W))
    val value = Input(Bool())

    /** A write is under way. */
    val writing = Output(Bool())

    /** Find the lowest bit in the range, or clear all bits in it; the range stays until it is done. */
    val start = Input(Bool())
    val clear = Input(Bool())
    val bitmap = Input(UInt(bitmapBits.W))
    val range = Input(new IndexRange)
    val busy = Output(Bool())
    val found = Output(Valid(UInt(p.clusterBits.W)))
  })

  /** A word: of which bitmap, and its number there. */
  private class IndexPlace extends Bundle {
    val bitmap = UInt(bitmapBits.W)
    val word = UInt(numberBits.W)
    def address: UInt = (bitmap ## word)(ramBits - 1, 0)
  }
  private def wordOf(cluster: UInt): UInt = cluster >> wordBits
  private def bitOf(cluster: UInt): UInt = cluster(wordBits - 1, 0)

  private val ram = SyncReadMem(bitmaps * words, UInt(wordSize.W), SyncReadMem.Undefined)

  // For each bitmap, which of its words are not zero; none, as long as nothing was written there.
  private val summaries = Mem(1 << bitmapBits, UInt(words.W))
  private val known = RegInit(VecInit.fill(1 << bitmapBits)(false.B))

  // A search: which words of the bitmap are left.
  private object State extends ChiselEnum {
    val idle, begin, first, read, arrive, look = Value
  }
  private val state = RegInit(State.idle)
  private val bitmap = Reg(UInt(bitmapBits.W))
  private val wordsLeft = Reg(UInt(words.W))

  /** The first word left, as of one cycle ago: from here it is far to the RAM. */
  private val next = RegNext(FirstSet(wordsLeft))
  private val found = Reg(Valid(UInt(p.clusterBits.W)))
  io.busy := state =/= State.idle
  io.found := found

  // A write: read, there, written.
  private val arriving = RegNext(io.write.valid, false.B)
  private val writing = RegNext(arriving, false.B)
  private val write = RegEnable(io.write.bits, io.write.valid)
  private val value = RegEnable(io.value, io.write.valid)
  private val bit = RegEnable(UIntToOH(bitOf(write), wordSize), arriving)
  private val setting = RegEnable(value, arriving)
  io.writing := arriving || writing

  // One cycle: the RAM is read. The next: its output is taken, or the last word written in this place, which may have
  // been written in the cycle of the read. Whether it counts as zero is known one cycle later: a search reads no such
  // word.
  private val asked = Wire(new IndexPlace)
  asked.bitmap := Mux(io.write.valid, io.writeBitmap, bitmap)
  asked.word := Mux(io.write.valid, wordOf(io.write.bits), next.bits)
  private val reading = io.write.valid || state === State.read
  private val there = RegEnable(asked, reading)
  private val place = RegNext(there)
  private val data = ram.read(asked.address, reading)
  private val wasWritten = RegInit(false.B)
  private val lastPlace = Reg(new IndexPlace)
  private val lastWord = Reg(UInt(wordSize.W))
  // The bitmap of the search or of the last write, whose summary is wanted: never both at once.
  private val summaryOf = Reg(UInt(bitmapBits.W))
  when(io.write.valid)(summaryOf := io.writeBitmap)
  private val stored = summaries(summaryOf)

  // A change of a summary is made one cycle after that of its word, and overtakes the summary read then.
  private val noting = RegInit(false.B)
  private val noted = RegNext(place)
  private val nonzero = Reg(Vec((wordSize / BitmapIndex.Part).max(1), Bool()))
  private val isNonzero = nonzero.asUInt.orR
  private val unnoted = Reg(UInt(words.W))
  private val newSummary = unnoted.bitSet(noted.word, isNonzero)
  private val overtakes = noting && noted.bitmap === summaryOf
  private val summary = Mux(overtakes, newSummary, stored & Fill(words, known(summaryOf)))
  private def isNoted(words: UInt): Bool = VecInit(words.asBools)(there.word)
  private val isFilled = Mux(
    RegNext(overtakes),
    RegNext(Mux(noted.word === there.word, isNonzero, isNoted(unnoted))),
    RegNext(isNoted(stored) && known(summaryOf))
  )
  private val ofPlace = RegNext(summary)
  private val isLast = wasWritten && lastPlace.asUInt === there.asUInt
  private val word = Reg(UInt(wordSize.W))
  word := Mux(isLast, lastWord, data)

  // The bits that the bounds leave of the word.
  private val above =
    Mux(there.word === wordOf(io.range.first), SlotRange.from(bitOf(io.range.first), wordSize), Fill(wordSize, true.B))
  private val upTo =
    Mux(there.word === wordOf(io.range.last), ~SlotRange.beyond(bitOf(io.range.last), wordSize), Fill(wordSize, true.B))
  private val bounds = Reg(UInt(wordSize.W))
  bounds := above & upTo
  private val hits = FirstSet(word & bounds)

  private val before = word & Fill(wordSize, isFilled)
  private val updated = Mux(writing, (before & ~bit) | (bit & Fill(wordSize, setting)), word & ~bounds)
  noting := writing || (state === State.look && io.clear)
  nonzero := VecInit(updated.asBools.grouped(BitmapIndex.Part).map(VecInit(_).asUInt.orR).toSeq)
  unnoted := ofPlace
  when(writing || (state === State.look && io.clear)) {
    ram.write(place.address, updated)
    wasWritten := true.B
    lastPlace := place
    lastWord := updated
  }
  when(noting) {
    summaries.write(noted.bitmap, newSummary)
    known(noted.bitmap) := true.B
  }

  switch(state) {
    is(State.begin) {
      wordsLeft := summary & SlotRange.from(wordOf(io.range.first), words) &
        ~SlotRange.beyond(wordOf(io.range.last), words)
      state := State.first
    }
    is(State.first)(state := State.read)
    is(State.read) {
      wordsLeft := wordsLeft & ~UIntToOH(next.bits, words)
      state := Mux(next.valid, State.arrive, State.idle)
    }
    is(State.arrive)(state := State.look)
    is(State.look) {
      state := Mux(wordsLeft.orR && !(hits.valid && !io.clear), State.read, State.idle)
      found.valid := hits.valid && !io.clear
      found.bits := place.word ## hits.bits
    }
  }
  when(io.start) {
    bitmap := io.bitmap
    summaryOf := io.bitmap
    state := State.begin
    found.valid := false.B
  }
  assert(!(io.write.valid && io.busy), "a bitmap is written while it is searched")
  assert(state =/= State.look || isFilled, "a word is looked at that counts as zero")
}

private object BitmapIndex {

  /** Bits of a word of which it is known in one cycle whether one is set. */
  val Part = 8
}
