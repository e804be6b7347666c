// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.core.CoreEvents
import hwswap.grants.GrantEvents
import hwswap.tables.TableEvents

/** The events that the statistics registers count, one field per register: one-cycle pulses, or numbers where several
  * things may happen at once.
  */
class StatEvents extends Bundle {
  val cycles, dmaReadBeats, dmaWriteBeats, dmaRefused = Bool()
  val grants = new GrantEvents
  val ofCore = new CoreStatEvents
}

/** Those of an engine with a core alone. */
class CoreStatEvents extends Bundle {
  val busyCycles = Bool()
  val commands, commandErrors = UInt(2.W)
  val core = new CoreEvents
  val tables = new TableEvents
}

/** The statistics registers: 64-bit counters, cleared by reset alone.
  *
  * The counts lie in one small memory. A few bits per counter collect the events since the counter's last turn;
  * one adder goes round and adds them to the counts. A read takes the next turn, so it gives the exact count.
  */
class Stats(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val events = Input(new StatEvents)
    val regs = new RegPort
  })

  private val e = io.events
  private val c = e.ofCore
  // Requests that were refused.
  private val errors = if (p.core) c.commandErrors + e.grants.refused else e.grants.refused
  private def ofCore(event: Bits): Option[Bits] = Option.when(p.core)(event)
  private val table = Seq[(Int, Option[Bits])](
    RegMap.StatCycles.Offset -> Some(e.cycles),
    RegMap.StatBusyCycles.Offset -> ofCore(c.busyCycles),
    RegMap.StatCommands.Offset -> ofCore(c.commands),
    RegMap.StatCommandErrors.Offset -> Some(errors),
    RegMap.StatAllocFast.Offset -> ofCore(c.core.allocFast),
    RegMap.StatAllocNonfull.Offset -> ofCore(c.core.allocNonfull),
    RegMap.StatAllocFree.Offset -> ofCore(c.core.allocFree),
    RegMap.StatAllocFrag.Offset -> ofCore(c.core.allocFrag),
    RegMap.StatAllocSteal.Offset -> ofCore(c.core.allocSteal),
    RegMap.StatAllocFail.Offset -> ofCore(c.core.allocFail),
    RegMap.StatFrees.Offset -> ofCore(c.core.freed),
    RegMap.StatScans.Offset -> ofCore(c.core.scan),
    RegMap.StatListMoves.Offset -> ofCore(c.core.listMove),
    RegMap.StatDmaReadBeats.Offset -> Some(e.dmaReadBeats),
    RegMap.StatDmaWriteBeats.Offset -> Some(e.dmaWriteBeats),
    RegMap.StatTableEntriesRead.Offset -> ofCore(c.tables.wordsRead),
    RegMap.StatTableEntriesWritten.Offset -> ofCore(c.tables.wordsWritten),
    RegMap.StatTableBusyCycles.Offset -> ofCore(c.tables.busy),
    RegMap.StatDmaRefused.Offset -> Some(e.dmaRefused)
  ) ++ Option.when(p.grants)(RegMap.StatGrants.Offset -> Some(e.grants.granted))
  private val first = RegMap.StatCycles.Offset
  private val step = RegMap.StatBusyCycles.Offset - first
  private val counters = table.length
  private val indexBits = log2Ceil(counters)
  require(
    table.map(_._1) == Seq.tabulate(counters)(first + _ * step) && isPow2(step) && first % (step << indexBits) == 0,
    "the statistics registers do not lie in a row"
  )

  /** Most cycles between two turns of a counter: reads take at most every second turn. */
  private val round = 2 * counters + 2

  // First cycle: whose turn it is, a read's or the next in the row. Second: its count and the amount to add leave their
  // places.
  private val read = io.regs.read
  private val asked = read.bits(log2Ceil(step) + indexBits - 1, log2Ceil(step))
  private val ours = read.bits >> log2Ceil(step << indexBits) === (first / (step << indexBits)).U
  val isRead = read.valid && ours && asked < counters.U
  val next = RegInit(0.U(indexBits.W))
  private val following = Mux(isRead, asked, next)
  val turn = RegNext(following, 0.U)
  val turnOf = RegNext(UIntToOH(following, counters), 1.U)
  when(!isRead)(next := Mux(next === (counters - 1).U, 0.U, next + 1.U))

  /** Counts the events since the counter's last turn. */
  private def collect(event: Bits, i: Int): UInt = {
    val step = RegNext(event.asUInt, 0.U)
    val bits = event.getWidth + log2Ceil(round)
    val collected = RegInit(0.U(bits.W))
    val sum = Mux(turnOf(i), 0.U, collected) +& step
    assert(!sum(bits), "a statistics counter waited too long for its turn")
    collected := sum(bits - 1, 0)
    collected
  }
  val since = VecInit(table.zipWithIndex.map { case ((_, event), i) => event.map(collect(_, i)).getOrElse(0.U) })

  // A counter that had no turn since reset is 0, whatever the memory holds.
  private val countBits = RegMap.StatCycles.Count.width
  val memory = Mem(1 << indexBits, UInt(countBits.W))
  val started = RegInit(0.U(counters.W))
  started := started | turnOf
  val adding = RegNext(true.B, false.B)
  val index = RegNext(turn)
  val isStarted = RegNext((started & turnOf).orR, false.B)
  val stored = RegNext(memory.read(turn))
  val more = RegNext(Mux1H(turnOf, since))

  // Third: the sum goes back. The same counter twice in a row: its count is the sum just made.
  val total = Reg(UInt(countBits.W))
  val again = RegNext(adding && turn === index, false.B)
  val count = Mux(again, total, stored & Fill(countBits, isStarted))
  total := count + more
  when(adding)(memory.write(index, (count + more)(countBits - 1, 0)))

  io.regs.readData := Mux(ShiftRegister(isRead, RegPort.ReadCycles, false.B, true.B), total, 0.U)
}
