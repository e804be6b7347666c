// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, DmaPort, DmaReadReq}
import hwswap.core.DeviceInfo

/** Carries jobs on swap tables out, one at a time and in order. What a job says is checked before its first access: the
  * device, then the range, then the arguments; then come the table and its words. All accesses of a job have ended when
  * it has.
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
  private def doing(ops: TableOp.Type*): Bool = job.op.isOneOf(ops)

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

  // Reads: words find their way back by who asked for them.
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

  // What the job's range is, as numbers.
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

  private val outOfRange = MuxCase(
    !inside,
    Seq(
      doing(TableOp.ofRange: _*) -> (!inside || none || leavesCluster || leavesDevice),
      doing(TableOp.give, TableOp.take) -> (none || leavesClusters),
      doing(TableOp.off) -> false.B
    )
  )
  private val unaligned = RegNext(
    !doing(TableOp.take, TableOp.off, TableOp.lookup, TableOp.replace) &&
      job.arg2(TableUnit.LineBits - 1, 0) =/= 0.U
  )
  private val wrong = RegNext(doing(TableOp.clear) && job.arg1 =/= 0.U && !job.arg1(0))
  private val noDevice = !device.claimed || RegNext(job.device >= p.devices.U)

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
  io.wordWritten := state === State.reportWait && report.io.write.data.fire && doing(TableOp.changing: _*)

  give.io.job.valid := state === State.give
  give.io.job.bits.op := job.op
  give.io.job.bits.cluster := low(device.base + Mux(doing(TableOp.off), 0.U, cluster), range.cluster)
  give.io.job.bits.count := low(Mux(doing(TableOp.off), clusters, job.nr), range.clusters)
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

  // What is written: a bitmap, or what else the job writes.
  private val bitmapNow = state === State.bitmap
  private val isShadow = doing(TableOp.clear)
  private val targetWord = job.arg2 >> log2Ceil(Axi.DataBytes)
  private val early = state === State.words && doing(TableOp.range) && words.io.ends
  report.io.job.valid := bitmapNow || state === State.report || early
  report.io.job.bits.kind := Mux(
    bitmapNow,
    ReportKind.bitmap,
    MuxCase(
      ReportKind.words,
      Seq(doing(TableOp.range) -> ReportKind.range, doing(TableOp.count) -> ReportKind.counts)
    )
  )
  report.io.job.bits.address := Mux(bitmapNow || !doing(TableOp.changing: _*), targetWord, walk.io.page ## first)
  report.io.job.bits.count := Mux(
    bitmapNow,
    (p.slots / Axi.DataBits).U,
    MuxCase(
      job.nr,
      Seq(
        doing(TableOp.range) -> MapAccess.words(MemMap.TableRange.Bytes).U,
        doing(TableOp.count) -> MapAccess.words(MemMap.TableCounts.Bytes).U
      )
    )
  )
  report.io.job.bits.slot := first
  report.io.job.bits.value := Mux(isShadow, TableEntry.value(job.arg1), TableEntry.page(job.arg1))
  report.io.job.bits.flags := !isShadow || job.arg1(0)

  private val dropping = state === State.drop
  read.drop := dropping
  entries.drop := dropping
  walk.io.stop := dropping

  private def end(status: Int, value: UInt = 0.U, next: State.Type = State.drop): Unit = {
    result.status := status.U
    result.value := value
    state := next
  }
  private val wantsBitmap = job.arg2 =/= 0.U && doing(TableOp.scan, TableOp.fill, TableOp.clear)
  private val hitAt = (cluster + found.cluster)(31 - p.slotBits, 0) ## found.slot

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
          doing(TableOp.count, TableOp.scan),
          Mux(unlimited || limit > toEnd, toEnd, limit),
          Mux(doing(TableOp.lookup), 1.U, job.nr)
        ),
        slots
      )
      when(io.stop) {
        end(StatusCode.BusError)
      }.elsewhen(noDevice) {
        end(StatusCode.BadDevice)
      }.elsewhen(outOfRange || unaligned || wrong) {
        end(StatusCode.BadRange)
      }.elsewhen(doing(TableOp.take, TableOp.off) && !tabled) {
        end(StatusCode.Ok)
      }.otherwise(state := Mux(doing(TableOp.give, TableOp.take, TableOp.off), State.give, State.range))
    }
    is(State.give) {
      when(doing(TableOp.give))(At(mayHave, number) := true.B)
      when(give.io.job.fire)(state := State.giveWait)
    }
    is(State.giveWait) {
      when(give.io.done.valid) {
        val outcome = give.io.done.bits
        end(StatusCode.Ok, Mux(doing(TableOp.take), outcome.tables, 0.U))
        when(outcome.bad)(end(StatusCode.BadRange))
        when(outcome.error)(end(StatusCode.BusError))
        when(doing(TableOp.off) && !outcome.error)(At(mayHave, number) := false.B)
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
        val withTarget = Mux(wantsBitmap, State.bitmap, State.drop)
        when(found.error) {
          end(StatusCode.BusError)
        }.elsewhen(doing(TableOp.range)) {
          state := State.report
        }.elsewhen(doing(TableOp.count)) {
          end(StatusCode.Ok, found.used)
          state := State.report
        }.elsewhen(doing(TableOp.scan)) {
          when(found.hit) {
            end(StatusCode.Ok, hitAt)
            state := withTarget
          }.otherwise(end(StatusCode.NoSpace))
        }.elsewhen(found.noTable) {
          end(StatusCode.NoTable)
        }.elsewhen(doing(TableOp.lookup)) {
          end(StatusCode.Ok, found.first)
        }.elsewhen(found.hit) {
          end(StatusCode.Unexpected, hitAt)
          state := withTarget
        }.otherwise {
          end(StatusCode.Ok, found.first)
          state := Mux(wantsBitmap, State.bitmap, State.report)
        }
      }
      // What a range looks like is written as soon as its words have come.
      when(early && report.io.job.ready)(state := State.reportWait)
    }
    is(State.bitmap)(when(report.io.job.fire)(state := State.bitmapWait))
    is(State.bitmapWait) {
      when(report.io.done.valid) {
        val goesOn = doing(TableOp.changing: _*) && result.status === StatusCode.Ok.U
        state := Mux(goesOn, State.report, State.drop)
        when(report.io.done.bits)(end(StatusCode.BusError))
      }
    }
    is(State.report)(when(report.io.job.fire)(state := State.reportWait))
    is(State.reportWait) {
      when(doing(TableOp.range)) {
        result.status := Mux(found.noTable, StatusCode.NoTable.U, StatusCode.Ok.U)
        result.value := found.used
      }
      when(report.io.done.valid) {
        // Within one cluster all that was asked for has been taken.
        state := Mux(doing(TableOp.ofRange: _*) && read.idle && entries.idle, State.finish, State.drop)
        when(report.io.done.bits)(end(StatusCode.BusError))
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
