// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._
import hwswap.store.FreeRuns

/** First fit in a row: the first free run of 2^order slots, at a multiple of 2^order, after a given slot. It mirrors
  * the loop over `cluster_scan_range()` in the kernel's `alloc_swap_scan_cluster()`.
  *
  * Two stages. In the cycle in which the row is shown, the runs in the word of the given slot are marked, and the first
  * later word that has one is taken out of the row. In the next cycle the first run in the one or the other is named;
  * the answer stays until the next row is shown. Words are 32 slots; a run of more than a word is a group of empty
  * words, at a multiple of its length.
  */
class FreeRunFinder(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Look, in this cycle's row. */
    val find = Input(Bool())

    /** Slots in use. Slots in front of `after` may be out of date. */
    val row = Input(Vec(p.words, UInt(p.wordSlots.W)))

    /** The words that have a run of this order, or, above order 5, are empty; right for words after that of `after`. */
    val fits = Input(UInt(p.words.W))

    /** A run begins after this slot, or anywhere. */
    val after = Input(UInt(p.slotBits.W))
    val anywhere = Input(Bool())

    /** The words after that of `after`, or all: they are known long before, so nothing here waits for them. */
    val later = Input(UInt(p.words.W))

    /** 0 to 9. */
    val order = Input(UInt(p.orderBits.W))

    /** There is such a run. */
    val found = Output(Bool())

    /** Its first slot; meaningless when none was found. */
    val slot = Output(UInt(p.slotBits.W))

    /** It is in the word of `after`; else it is in this one. */
    val here = Output(Bool())
    val laterWord = Output(UInt(p.wordSlots.W))

    /** If it is not: the words after the last one of the run. */
    val beyond = Output(UInt(p.words.W))
  })

  // Stage 1.
  private val wordOf = io.after(p.slotBits - 1, p.wordSlotBits)
  private val ahead = SlotRange.beyond(io.after(p.wordSlotBits - 1, 0), p.wordSlots) & Fill(p.wordSlots, !io.anywhere)
  private val inWord = (io.later & io.fits).asBools

  // The starts of runs are worked out in all words while the word that matters is being found.
  private val starts = io.row.map(FreeRuns.starts(_, io.order))
  private val firstWord = FirstSet.choose(inWord, io.row.zip(starts).map { case (word, runs) => runs ## word })

  // Runs of 2, 4, 8 and 16 words: by pairs of words.
  private val pairs = inWord.indices.by(2).map(w => io.fits(w) && io.fits(w + 1))
  private val acrossOrders = (p.wordOrders until p.orders).toSeq
  private val runs = for {
    k <- acrossOrders
    length = 1 << (k - p.wordOrders)
    g <- pairs.indices.by(length)
  } yield (g, g + length, io.later(2 * g) && io.order === k.U && pairs.slice(g, g + length).reduce(_ && _))
  private def anyOf(some: Seq[Bool]): Bool = some.foldLeft(false.B)(_ || _)
  private val firstPair = FirstSet(
    VecInit(pairs.indices.map(g => anyOf(runs.collect { case (`g`, _, fits) => fits }))).asUInt
  )

  // A word lies after the first run if it does so after any.
  private val beyondAcross =
    (0 until p.words).map(w => anyOf(runs.collect { case (_, end, fits) if 2 * end <= w => fits }))
  private val beyondWord = (0 until p.words).map(w => anyOf(inWord.take(w)))
  private val isAcross = FreeRuns.atLeast(io.order, p.wordOrders)

  private def hold[T <: Data](value: T): T = RegEnable(value, io.find)
  private val startsHere = Select(VecInit(starts), wordOf) & ahead & Fill(p.wordSlots, !isAcross)
  private val candidates = hold(startsHere)
  private val inQuarters =
    startsHere.asBools.grouped((p.wordSlots / 4).max(1)).map(slots => hold(VecInit(slots).asUInt.orR)).toSeq
  private val wordNumber = hold(wordOf)
  private val laterFound = hold(Mux(isAcross, firstPair.valid, firstWord.found))
  private val laterWord = hold(firstWord.chosen(p.wordSlots - 1, 0))
  private val laterStarts = hold(firstWord.chosen(2 * p.wordSlots - 1, p.wordSlots))
  private val beyond = hold(Mux(isAcross, VecInit(beyondAcross).asUInt, VecInit(beyondWord).asUInt))
  private val laterNumber = hold(Mux(isAcross, firstPair.bits ## false.B, firstWord.index))

  // Stage 2: no word is full of candidates but the chosen one, so the first candidate is the answer.
  private val here = inQuarters.reduce(_ || _)
  private val inHere = FirstSet(candidates).bits
  private val inLater = FirstSet(laterStarts).bits
  io.found := here || laterFound
  io.slot := Mux(here, wordNumber ## inHere, laterNumber ## inLater)
  io.here := here
  io.laterWord := laterWord
  io.beyond := beyond
}

/** The lowest bit that is set. A tree of groups of four, since a chain would be as long as the row. */
object FirstSet {

  /** Whether a bit is set, the index of the lowest, and its value. The last two mean nothing without a bit. */
  final case class Choice[T <: Data](found: Bool, index: UInt, chosen: T)

  /** The index alone. */
  def apply(bits: UInt): Valid[UInt] = {
    val choice = choose(bits.asBools, Seq.fill(bits.getWidth)(0.U(1.W)))
    val result = Wire(Valid(UInt(log2Ceil(bits.getWidth).W)))
    result.valid := choice.found
    result.bits := choice.index
    result
  }

  /** While it is being found out in which group it is, each group chooses among its own. */
  def choose[T <: Data](bits: Seq[Bool], data: Seq[T]): Choice[T] = {
    require(isPow2(bits.length) && bits.length > 1, "the tree wants a power of two of bits")
    val groups = if (bits.length % 4 == 0) 4 else 2
    val size = bits.length / groups
    val parts =
      if (size == 1) bits.zip(data).map { case (bit, value) => Choice(bit, 0.U(0.W), value) }
      else bits.grouped(size).zip(data.grouped(size)).map { case (b, d) => choose(b, d) }.toSeq
    val any = bits.grouped(size).map(_.reduce(_ || _)).toSeq
    val group =
      if (groups == 2) (!any(0)).asUInt else (!any(0) && !any(1)) ## (!any(0) && (any(1) || !any(2)))
    val index = if (size == 1) group else group ## Select(parts.map(_.index), group)
    Choice(any.reduce(_ || _), index, Select(parts.map(_.chosen), group))
  }
}
