// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma, DmaWritePort, DmaWriteWord}

/** The kinds of data that are written to host memory. */
object ReportKind extends ChiselEnum {

  /** A bitmap of a cluster's slots; MemMap.TableRange; MemMap.TableCounts; new words of a table. */
  val bitmap, range, counts, words = Value
}

/** Something to write: so many words from the word with number `address` on. */
class ReportJob(implicit p: Params) extends Bundle {
  val kind = ReportKind()
  val address = UInt(Dma.AddrBits.W)
  val count = UInt(p.countBits.W)

  /** words: the first slot, and the new value of each word but for the flags. Without `flags`, words become 0. */
  val slot = UInt(p.slotBits.W)
  val value = UInt(TableEntry.ValueBits.W)
  val flags = Bool()
}

/** Writes the result of a search, or the words that take the place of others. */
class TableReport(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new ReportJob))

    /** The end: whether there was an error. */
    val done = Valid(Bool())
    val found = Input(new WordsFound)
    val rowIndex = Output(UInt(log2Ceil(p.slots / Axi.DataBits).W))
    val row = Input(new SlotMarkRow)
    val flagsIndex = Output(UInt(p.slotBits.W))
    val flags = Input(UInt(TableEntry.FlagBits.W))
    val write = new DmaWritePort
  })
  import MapAccess.word
  object State extends ChiselEnum {
    val idle, data = Value
  }
  val state = RegInit(State.idle)
  private val job = Reg(new ReportJob)
  private val index = Reg(UInt(p.countBits.W))

  // The write is asked for in the cycle in which the job is taken.
  private val idle = state === State.idle
  io.job.ready := idle && io.write.req.ready
  io.write.req.valid := idle && io.job.valid
  io.write.req.bits.address := io.job.bits.address
  io.write.req.bits.words := io.job.bits.count

  // A word is made in one cycle and offered in the next: by a queue, so that its reader decides about no address in the
  // same cycle. The flags of the word that is made were asked for before.
  private val words = Module(new Queue(new DmaWriteWord, 2, hasFlush = true))
  words.io.flush.get := io.write.done.valid
  io.write.data <> words.io.deq
  private val make = state === State.data && index =/= job.count && words.io.enq.ready
  io.flagsIndex := Mux(idle, io.job.bits.slot, Mux(make, job.slot + 1.U, job.slot))
  private val range = MemMap.TableRange
  private val rows = p.slots / Axi.DataBits
  private def wordAt(offset: Int): UInt = (offset / Axi.DataBytes).U
  private val counts = io.found.counts
  io.rowIndex := index(log2Ceil(rows) - 1, 0)
  private val rangeWord = MuxCase(
    0.U,
    Seq(
      (index < wordAt(range.Low.Offset)) -> io.row.ofKind((index >> log2Ceil(rows))(TableEntry.KindBits - 1, 0)),
      (index === wordAt(range.Low.Offset)) -> word(
        Seq(range.Low.Nr0, range.Low.Nr1, range.Low.Nr2, range.Low.Nr3).zip(counts): _*
      ),
      (index === wordAt(range.High.Offset)) -> word(
        Seq(range.High.Nr4, range.High.Nr5, range.High.Nr6).zip(counts.drop(4)) :+
          (range.High.Table -> !io.found.noTable): _*
      )
    )
  )
  private val countsWord = VecInit(counts.map(_.pad(Axi.DataBits)) :+ io.found.tables.pad(Axi.DataBits))(index(2, 0))
  words.io.enq.valid := make
  words.io.enq.bits.keep := true.B
  words.io.enq.bits.word := MuxLookup(job.kind, io.row.marks)(
    Seq(
      ReportKind.range -> rangeWord,
      ReportKind.counts -> countsWord,
      ReportKind.words -> Mux(job.flags, io.flags ## job.value, 0.U)
    )
  )
  when(make) {
    index := index + 1.U
    job.slot := job.slot + 1.U
  }

  io.done.valid := state === State.data && io.write.done.valid
  io.done.bits := io.write.done.bits.error
  switch(state) {
    is(State.idle) {
      when(io.job.fire) {
        state := State.data
        job := io.job.bits
        index := 0.U
      }
    }
    is(State.data) {
      when(io.write.done.valid) {
        state := State.idle
      }
    }
  }
  assert(
    !io.write.done.valid || state =/= State.data || io.write.done.bits.error ||
      (index === job.count && !words.io.deq.valid && io.write.done.bits.goodWords === job.count),
    "a write ended before its last word"
  )
}
