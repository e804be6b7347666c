// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, DmaPort, DmaReadReq}
import hwswap.core.DeviceInfo
import hwswap.tables.TableCommand.{Answer, End, Range, Walk}

/** Carries jobs on swap tables out, one at a time and in order, each by its row of TableCommand. A job's fields are
  * checked before its first access; then come the table and its words. All accesses of a job have ended when it has.
  */
class TableUnit(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new TableJob))
    val done = Valid(new TableResult)
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val dma = new DmaPort(TableReader())

    /** The engine has stopped: a job ends in BUS_ERROR before its first access. */
    val stop = Input(Bool())

    /** The directory is cleared. */
    val ready = Output(Bool())
    val busy = Output(Bool())

    /** Pulses: a job ended in BUS_ERROR; a word of a table was read, or written. */
    val error = Output(Bool())
    val wordRead = Output(Bool())
    val wordWritten = Output(Bool())
  })
  object State extends ChiselEnum {
    val idle, fetch, measure, check, give, giveWait, range, walk, words, bitmap, bitmapWait, report, reportWait, drop,
        finish = Value
  }
  val state = RegInit(State.idle)
  private val job = Reg(new TableJob)
  private val result = Reg(new TableResult)
  private val device = Reg(new DeviceInfo)
  import MapAccess.low
  private def has(property: TableCommand => Boolean): Bool = TableCommand.has(job.op)(property)

  private val directory = Module(new Directory)
  private val entries = directory.io.port
  val give = Module(new TableGive)
  val walk = Module(new TableWalk)
  val words = Module(new TableWords)
  val report = Module(new TableReport)
  private val found = words.io.found

  // The directory: one of the two uses it.
  private val giving = state.isOneOf(State.give, State.giveWait)
  entries.req.valid := Mux(giving, give.io.directoryReq.valid, walk.io.directoryReq.valid)
  entries.req.bits := Mux(giving, give.io.directoryReq.bits, walk.io.directoryReq.bits)
  give.io.directoryReq.ready := giving && entries.req.ready
  walk.io.directoryReq.ready := !giving && entries.req.ready
  entries.entries.ready := Mux(giving, give.io.entries.ready, walk.io.entries.ready)
  for ((user, its) <- Seq(give.io.entries -> giving, walk.io.entries -> !giving)) {
    user.valid := its && entries.entries.valid
    user.bits := entries.entries.bits
  }
  entries.values <> give.io.values
  give.io.directoryDone := entries.done
  io.ready := directory.io.ready

  // Reads: words find their way back by their reader.
  private val read = io.dma.read
  private val reads = Module(new Arbiter(new DmaReadReq(TableReader()), 2))
  for ((in, user) <- reads.io.in.zip(Seq(give.io.readReq, walk.io.readReq))) in <> user
  read.req <> reads.io.out
  private val readers = Seq(
    TableReader.addresses -> give.io.readData,
    TableReader.words -> words.io.words
  )
  for ((reader, user) <- readers) {
    user.valid := read.data.valid && read.data.bits.reader === reader
    user.bits := read.data.bits
  }
  read.data.ready := Mux1H(readers.map { case (reader, user) => (read.data.bits.reader === reader) -> user.ready })
  give.io.settled := read.settled

  // Writes.
  io.dma.write <> report.io.write

  /** A device may have tables. */
  private val mayHave = RegInit(VecInit.fill(p.devices)(false.B))
  private val number = if (p.devices == 1) 0.U(1.W) else job.device(p.deviceBits - 1, 0)
  private val tabled = RegNext(At(mayHave, number))

  // The job's range, as numbers.
  private val first = job.slot(p.slotBits - 1, 0)
  private val cluster = job.slot >> p.slotBits
  private val inside = RegNext(job.slot < device.pages)
  private val toEnd = RegNext(device.pages - job.slot)
  private val newClusters = (device.pages +& (p.slots - 1).U) >> p.slotBits
  private val clusters = RegNext(newClusters)
  private val leavesDevice = RegNext(job.slot +& job.nr > device.pages)
  private val leavesClusters = RegNext(cluster +& job.nr > newClusters)
  private val leavesCluster = RegNext(first +& job.nr > p.slots.U)
  private val none = RegNext(job.nr === 0.U)
  private val limit = job.arg1(31, 0)
  private val unlimited = RegNext(limit === 0.U)

  private val outOfRange =
    (has(row => row.range == Range.slot || row.range == Range.slots) && !inside) ||
      (has(_.range == Range.slots) && (none || leavesCluster || leavesDevice)) ||
      (has(_.range == Range.clusters) && (none || leavesClusters))
  private val unaligned = RegNext(has(_.line) && job.arg2(TableUnit.LineBits - 1, 0) =/= 0.U)
  private val wrong = RegNext(has(_.shadow) && job.arg1 =/= 0.U && !job.arg1(0))
  private val noDevice = !device.claimed || RegNext(job.device >= p.devices.U)

  /** The reasons to end a job before its first access, in this sequence. */
  private val refusals = Seq(
    io.stop -> StatusCode.BusError.U,
    noDevice -> StatusCode.BadDevice.U,
    (outOfRange || unaligned || wrong) -> StatusCode.BadRange.U,
    (has(_.tabled) && !tabled) -> StatusCode.Ok.U
  )

  // The slots to walk over.
  private val at = Reg(UInt(32.W))
  private val slots = Reg(UInt(p.usedBits.W))
  private val range = Reg(new TableRange)

  io.job.ready := state === State.idle && entries.idle && io.ready
  io.done.valid := state === State.finish
  io.done.bits := result
  io.busy := state =/= State.idle
  io.error := io.done.valid && result.status === StatusCode.BusError.U
  io.wordRead := words.io.words.fire
  io.wordWritten := state === State.reportWait && report.io.write.data.fire && has(_.changes)

  give.io.job.valid := state === State.give
  give.io.job.bits.op := job.op
  give.io.job.bits.cluster := low(device.base + Mux(has(_.range == Range.device), 0.U, cluster), range.cluster)
  give.io.job.bits.count := low(Mux(has(_.range == Range.device), clusters, job.nr), range.clusters)
  give.io.job.bits.source := job.arg2 >> log2Ceil(Axi.DataBytes)

  walk.io.start.valid := state === State.walk
  walk.io.start.bits := range
  words.io.start.valid := state === State.walk
  words.io.start.bits.op := job.op
  words.io.start.bits.kinds := job.kinds
  words.io.start.bits.pfn := low(job.arg2, words.io.start.bits.pfn)
  words.io.start.bits.bitmap := job.arg2 =/= 0.U
  words.io.pieces <> walk.io.pieces
  words.io.rowIndex := report.io.rowIndex
  report.io.row := words.io.row
  words.io.flagsIndex := report.io.flagsIndex
  report.io.flags := words.io.flags
  report.io.found := found

  // The data to write: a bitmap, or whatever else the job writes.
  private val bitmapNow = state === State.bitmap
  private val isShadow = has(_.shadow)
  private val targetWord = job.arg2 >> log2Ceil(Axi.DataBytes)
  private val early = state === State.words && has(_.early) && words.io.ends
  report.io.job.valid := bitmapNow || state === State.report || early
  private val kind = Mux(
    bitmapNow,
    ReportKind.bitmap,
    MuxLookup(job.op, ReportKind.words)(TableCommand.rows.flatMap(row => row.end.writes.map(row.op -> _)))
  )
  report.io.job.bits.kind := kind
  report.io.job.bits.address := Mux(bitmapNow || !has(_.changes), targetWord, walk.io.page ## first)
  report.io.job.bits.count := MuxLookup(kind, job.nr)(
    Seq(
      ReportKind.bitmap -> (p.slots / Axi.DataBits).U,
      ReportKind.range -> MapAccess.words(MemMap.TableRange.Bytes).U,
      ReportKind.counts -> MapAccess.words(MemMap.TableCounts.Bytes).U
    )
  )
  report.io.job.bits.slot := first
  report.io.job.bits.value := Mux(isShadow, TableEntry.value(job.arg1), TableEntry.page(job.arg1))
  report.io.job.bits.flags := !isShadow || job.arg1(0)

  private val dropping = state === State.drop
  read.drop := dropping
  entries.drop := dropping
  walk.io.stop := dropping

  private def end(status: UInt, value: UInt = 0.U): Unit = {
    result.status := status
    result.value := value
    state := State.drop
  }
  private val answers = Map(
    Answer.zero -> 0.U,
    Answer.first -> found.first,
    Answer.used -> found.used,
    Answer.place -> (cluster + found.cluster)(31 - p.slotBits, 0) ## found.slot,
    Answer.tables -> give.io.done.bits.tables
  )

  /** Ends the job as its row says, after the writes that are still to come. */
  private def endAs(of: TableCommand => Option[End]): Unit = {
    def its(property: End => Boolean): Bool = has(of(_).exists(property))
    def pick[T](field: End => T, values: Seq[(T, UInt)]): UInt = {
      val chosen = values.filter { case (key, _) => TableCommand.rows.flatMap(of(_)).map(field).contains(key) }
      Mux1H(chosen.map { case (key, value) => its(field(_) == key) -> value })
    }
    end(
      pick(_.status, Seq(StatusCode.Ok, StatusCode.NoSpace, StatusCode.Unexpected).map(s => s -> s.U)),
      pick(_.answer, answers.toSeq)
    )
    when(its(_.writes.nonEmpty))(state := State.report)
    when(its(_.bitmap) && job.arg2 =/= 0.U)(state := State.bitmap)
  }

  switch(state) {
    is(State.idle) {
      when(io.job.fire) {
        job := io.job.bits
        state := State.fetch
      }
    }
    is(State.fetch) {
      device := At(io.devices, number)
      state := State.measure
    }
    is(State.measure)(state := State.check)
    is(State.check) {
      at := job.slot
      slots := low(
        Mux(
          has(_.walk == Walk.limit),
          Mux(unlimited || limit > toEnd, toEnd, limit),
          Mux(has(_.walk == Walk.one), 1.U, job.nr)
        ),
        slots
      )
      state := Mux(has(_.walk != Walk.none), State.range, State.give)
      when(refusals.map(_._1).reduce(_ || _))(end(PriorityMux(refusals)))
    }
    is(State.give) {
      when(job.op === TableOp.give)(At(mayHave, number) := true.B)
      when(give.io.job.fire)(state := State.giveWait)
    }
    is(State.giveWait) {
      when(give.io.done.valid) {
        val outcome = give.io.done.bits
        endAs(row => Option.when(row.walk == Walk.none)(row.end))
        when(outcome.bad)(end(StatusCode.BadRange.U))
        when(outcome.error)(end(StatusCode.BusError.U))
        when(has(_.range == Range.device) && !outcome.error)(At(mayHave, number) := false.B)
      }
    }
    is(State.range) {
      val inCluster = at(p.slotBits - 1, 0)
      range.cluster := low(device.base + (at >> p.slotBits), range.cluster)
      range.first := inCluster
      range.slots := slots
      range.clusters := low((slots +& inCluster +& (p.slots - 1).U) >> p.slotBits, range.clusters)
      range.bare := !tabled
      state := State.walk
    }
    is(State.walk)(state := State.words)
    is(State.words) {
      when(words.io.done) {
        when(found.error) {
          end(StatusCode.BusError.U)
        }.elsewhen(has(_.early)) {
          state := State.report
        }.elsewhen(has(!_.everywhere) && found.noTable) {
          end(StatusCode.NoTable.U)
        }.elsewhen(has(_.hit.nonEmpty) && found.hit) {
          endAs(_.hit)
        }.otherwise(endAs(row => Option.when(row.walk != Walk.none)(row.end)))
      }
      // The report of a range is written as soon as its words have come.
      when(early && report.io.job.ready)(state := State.reportWait)
    }
    is(State.bitmap)(when(report.io.job.fire)(state := State.bitmapWait))
    is(State.bitmapWait) {
      when(report.io.done.valid) {
        val goesOn = has(_.changes) && result.status === StatusCode.Ok.U
        state := Mux(goesOn, State.report, State.drop)
        when(report.io.done.bits)(end(StatusCode.BusError.U))
      }
    }
    is(State.report)(when(report.io.job.fire)(state := State.reportWait))
    is(State.reportWait) {
      when(has(_.early)) {
        result.status := Mux(found.noTable, StatusCode.NoTable.U, StatusCode.Ok.U)
        result.value := found.used
      }
      when(report.io.done.valid) {
        // Within one cluster all that was asked for has been taken.
        state := Mux(has(_.inCluster) && read.idle && entries.idle, State.finish, State.drop)
        when(report.io.done.bits)(end(StatusCode.BusError.U))
      }
    }
    is(State.drop) {
      when(RegNext(dropping, false.B) && read.idle && entries.idle)(state := State.finish)
    }
    is(State.finish)(state := State.idle)
  }
  assert(state =/= State.walk || (walk.io.start.ready && words.io.start.ready), "a walk begins before one has ended")
}

object TableUnit {

  /** Bits of an address in host memory that are 0. */
  private val LineBits = 6
}
