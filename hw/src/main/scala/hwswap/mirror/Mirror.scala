// SPDX-License-Identifier: Apache-2.0
package hwswap
package mirror

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, DmaPort}
import hwswap.core.{BitmapPort, CorePort, DeviceInfo}

/** Everything of advisory mode: the poll loop, the records' way into the core, the hint rings and the dumper, put
  * together.
  *
  * The poll loop and the command executor both have work for the walker of records and for the rings; the executor
  * only while the loop pauses, so who asks is also who waits for `done`. An engine without advisory mode has none
  * of it.
  */
class Mirror(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val settings = Input(new Settings)
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val freeSlots = Input(UInt(32.W))
    val hintedSlots = Input(UInt(32.W))
    val dma = Vec(Mirror.DmaClients, new DmaPort)
    val core = Vec(Mirror.CoreUsers, new CorePort)

    /** The bitmaps of the records that go into the core and come out of it. */
    val applied = Flipped(new BitmapPort(p.wordSlots))
    val dumped = new BitmapPort(p.dumpBits)

    // From and to the command executor
    val pause = Input(Bool())
    val paused = Output(Bool())
    val resync = Flipped(Decoupled(new ResyncJob))
    val resyncDone = Valid(new JobResult)
    val recall = Flipped(Decoupled(new HintJob))
    val recallDone = Valid(new JobResult)
    val dump = Flipped(Decoupled(new DumpJob))
    val dumpDone = Valid(new JobResult)
    val dumpTarget = Output(UInt(Axi.AddrBits.W))

    /** Pulse: a command was done, so an order without space may have some. */
    val commandDone = Input(Bool())
    val ready = Output(Bool())
    val round = Output(UInt(32.W))
    val quiet = Output(Bool())
    val working = Output(Bool())

    /** What the statistics count. */
    val notices, badNotices, garbage, fetches, fetchRetries, hintsMade, hintsUsedUp, hintsRecalled, polls =
      Output(Bool())
  })

  if (p.advisory) body() else none()

  /** Without advisory mode nobody asks for anything. */
  private def none(): Unit = {
    io := DontCare
    for (port <- io.dma) {
      port.req.valid := false.B
      port.neverWrites()
    }
    for (port <- io.core) {
      port.req.valid := false.B
      port.resp.ready := false.B
    }
    for (job <- Seq(io.resync, io.recall, io.dump)) job.ready := false.B
    for (done <- Seq(io.resyncDone, io.recallDone, io.dumpDone)) done.valid := false.B
    for (level <- Seq(io.paused, io.ready, io.quiet)) level := true.B
    io.round := 0.U
    io.working := false.B
    for (event <- Seq(io.notices, io.badNotices, io.garbage, io.fetches, io.fetchRetries)) event := false.B
    for (event <- Seq(io.hintsMade, io.hintsUsedUp, io.hintsRecalled, io.polls)) event := false.B
    assert(!(io.resync.valid || io.recall.valid || io.dump.valid), "the mirror is wanted where there is none")
  }

  private def body(): Unit = {
    val poller = Module(new Poller)
    val fetch = Module(new RecordFetch)
    val resync = Module(new Resync)
    val hints = Module(new HintRings)
    val dump = Module(new Dump)

    for ((port, client) <- io.dma.zip(Seq(poller.io.dma, fetch.io.dma, hints.io.dma, dump.io.dma))) port <> client
    for ((port, user) <- io.core.zip(Seq(fetch.io.core, hints.io.core, dump.io.core))) port <> user

    fetch.io.bitmap <> io.applied
    dump.io.bitmap <> io.dumped

    poller.io.settings := io.settings
    poller.io.pause := io.pause
    io.paused := poller.io.paused

    def share[T <: Data](job: T, to: DecoupledIO[T], from: DecoupledIO[T]*): Unit = {
      val pick = Module(new Arbiter(chiselTypeOf(job), from.length))
      for ((in, source) <- pick.io.in.zip(from)) in <> source
      to <> pick.io.out
    }
    share(fetch.io.job.bits, fetch.io.job, poller.io.fetch, resync.io.fetch)
    poller.io.fetchDone := fetch.io.done
    resync.io.fetchDone := fetch.io.done

    share(resync.io.job.bits, resync.io.job, poller.io.resync, io.resync)
    poller.io.resyncDone := resync.io.done
    io.resyncDone := resync.io.done
    resync.io.devices := io.devices

    // Which ring is named by the poll loop alone, which device by the executor alone.
    share(hints.io.job.bits, hints.io.job, poller.io.hint, io.recall)
    hints.io.job.bits.cpu := poller.io.hint.bits.cpu
    hints.io.job.bits.order := poller.io.hint.bits.order
    hints.io.job.bits.head := poller.io.hint.bits.head
    hints.io.job.bits.device := io.recall.bits.device
    hints.io.job.bits.all := io.recall.bits.all
    poller.io.hintDone := hints.io.done
    io.recallDone := hints.io.done
    poller.io.active := hints.io.active
    poller.io.fillable := hints.io.fillable
    hints.io.settings := io.settings
    hints.io.freeSlots := io.freeSlots
    hints.io.hintedSlots := io.hintedSlots
    hints.io.progress := RegNext(fetch.io.applied || io.commandDone, false.B)

    io.dumpTarget := dump.io.target
    dump.io.job <> io.dump
    io.dumpDone := dump.io.done

    io.ready := hints.io.ready
    io.round := poller.io.round
    io.quiet := poller.io.quiet
    io.working := poller.io.working
    io.notices := poller.io.notice
    io.badNotices := poller.io.badNotice
    io.garbage := hints.io.garbage
    io.fetches := fetch.io.fetched
    io.fetchRetries := fetch.io.retried
    io.hintsMade := hints.io.made
    io.hintsUsedUp := hints.io.usedUp
    io.hintsRecalled := hints.io.recalled
    io.polls := poller.io.polled

    assert(!(io.recall.valid && poller.io.hint.valid), "the executor recalls while the poll loop is not paused")
    assert(!(io.resync.valid && poller.io.resync.valid), "the executor resyncs while the poll loop is not paused")
  }
}

object Mirror {

  /** Ports to the DMA: poll loop, records, hints, dump. */
  val DmaClients: Int = 4

  /** Ports to the core: records, hints, dump. */
  val CoreUsers: Int = 3

  /** The first of them, whose requests name a record. */
  val RecordUser: Int = 0
}
