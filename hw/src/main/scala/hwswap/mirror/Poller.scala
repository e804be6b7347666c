// SPDX-License-Identifier: Apache-2.0
package hwswap
package mirror

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, DmaBase, DmaPort}

object Poller {

  /** Notices taken with one read. */
  val Batch: Int = 8
}

/** The poll loop of advisory mode. A round looks at every CPU's line in host memory and does, CPU by CPU and in this
  * order:
  *
  *   1. notices: take them, publish that they are taken, then fetch the records they name; or, when the host asks to
  *      look at everything again or its notice counter makes no sense, publish that and fetch every record;
  *   2. release the hints the CPU has popped;
  *   3. top up the rings the CPU wants.
  *
  * Then the heartbeat is written and a timer runs. Notices come before releases, so a slot the kernel has taken is
  * marked used in the mirror before the hint on it goes.
  */
class Poller(implicit p: Params) extends Module {
  private val rings = p.cpus * p.orders

  val io = IO(new Bundle {
    val settings = Input(new Settings)
    val dma = new DmaPort
    val fetch = Decoupled(new FetchJob)
    val fetchDone = Flipped(Valid(new JobResult))
    val resync = Decoupled(new ResyncJob)
    val resyncDone = Flipped(Valid(new JobResult))
    val hint = Decoupled(new HintJob)
    val hintDone = Flipped(Valid(new JobResult))
    val active = Input(UInt(Poller.this.rings.W))
    val fillable = Input(UInt(Poller.this.rings.W))
    val pause = Input(Bool())
    val paused = Output(Bool())

    /** Complete rounds. */
    val round = Output(UInt(32.W))

    /** Waiting in the timer (or switched off), and the last round found nothing to do. */
    val quiet = Output(Bool())

    /** Something was found in this round or the last. */
    val working = Output(Bool())

    /** Pulses: a notice was taken; it named no cluster, or the host's notice counter was impossible; a round ended.
      */
    val notice = Output(Bool())
    val badNotice = Output(Bool())
    val polled = Output(Bool())
  })

  import MapAccess.{get, word}
  private val line = MemMap.CpuLine
  private val engine = MemMap.EngineLine
  private val lineWords = MapAccess.words(line.Bytes)
  object State extends ChiselEnum {
    val off, line, lineData, compare, weigh, decide, notices, noticeData, publish, publishData, serve, fetchWait,
        resync, resyncWait, consume, consumeAsk, consumeWait, fill, fillAsk, fillWait, next, heartbeat, heartbeatData,
        timer = Value
  }

  val state = RegInit(State.off)
  val cpu = RegInit(0.U(p.cpuBits.W))
  val order = Reg(UInt(4.W))
  val index = Reg(UInt(log2Ceil(Poller.Batch.max(lineWords) + 1).W))
  private val batchBits = log2Ceil(Poller.Batch + 1)
  val batch = Reg(UInt(batchBits.W))
  val everything = Reg(Bool())
  val found = RegInit(false.B)
  val foundLast = RegInit(true.B)
  val round = RegInit(0.U(32.W))
  val timer = Reg(UInt(RegMap.Poll.Cycles.width.W))

  // What the CPU's line says. Only the pops of one order are looked at in a cycle, so they lie in a memory.
  val noticeTail, resyncWanted = Reg(UInt(32.W))
  val wanted = Reg(UInt(line.Want.Orders.width.W))
  val pops = Mem(lineWords, UInt(Axi.DataBits.W))

  // The clusters that notices named, and whether there is such a cluster.
  val clusters = Mem(Poller.Batch, UInt((p.clusterBits + 1).W))

  // By CPU: notices taken, and the RESYNC value acted upon.
  val taken = RegInit(VecInit.fill(p.cpus)(0.U(32.W)))
  val resynced = RegInit(VecInit.fill(p.cpus)(0.U(32.W)))

  val on = io.settings.enable && io.settings.advisory && io.settings.noticeLog2 =/= 0.U
  private val popWord = line.HintHead.Offset / Axi.DataBytes
  val popPair = pops.read((order(3, 1) +& popWord.U)(log2Ceil(lineWords) - 1, 0))
  val popped = Mux(order(0), get(popPair, line.HintHead.Odd), get(popPair, line.HintHead.Even))
  val ring = (cpu * p.orders.U +& order)(log2Ceil(rings).max(1) - 1, 0)
  val lastOrder = order === (p.orders - 1).U

  // Notices. A batch ends where a multiple of Batch ends, so none runs past the ring's end.
  private val batchLog2 = log2Ceil(Poller.Batch)
  val noticeSize = RegNext(1.U(16.W) << io.settings.noticeLog2)
  val noticeMask = (noticeSize - 1.U)(14, 0)
  val pending = Reg(UInt(32.W))
  val lookAgain = Reg(Bool())
  val impossible = RegNext(pending > noticeSize)
  val noticeIndex = taken(cpu)(14, 0) & noticeMask
  val groupMask = noticeMask(batchLog2 - 1, 0)
  val toEnd = groupMask - (noticeIndex(batchLog2 - 1, 0) & groupMask) +& 1.U
  val most = Mux(pending < toEnd, pending, toEnd)(batchBits - 1, 0)
  val served = clusters.read(index(batchLog2 - 1, 0))
  val cluster = served(p.clusterBits - 1, 0)
  val inRange = served(p.clusterBits)
  val serving = state === State.serve && index =/= batch

  // DMA: lines and notices are read, the engine's line is written word by word
  val writing = state.isOneOf(State.publish, State.heartbeat)
  io.dma.req.valid := writing || state.isOneOf(State.line, State.notices)
  io.dma.req.bits.write := writing
  private val noticeWords = MapAccess.words(MemMap.Notice.Bytes)
  private val engineWords = MapAccess.words(engine.Bytes)
  io.dma.req.bits.base := Mux(
    writing,
    DmaBase.engineLines,
    Mux(state === State.notices, DmaBase.notices, DmaBase.cpuLines)
  )
  io.dma.req.bits.offset := MuxCase(
    cpu * lineWords.U,
    Seq(
      (state === State.notices) -> ((cpu << io.settings.noticeLog2) | noticeIndex) * noticeWords.U,
      (state === State.publish) -> (cpu * engineWords.U + (engine.Notice.Offset / Axi.DataBytes).U),
      (state === State.heartbeat) -> (engine.Heartbeat.Offset / Axi.DataBytes).U
    )
  )
  io.dma.req.bits.words := MuxCase(
    1.U,
    Seq((state === State.line) -> lineWords.U, (state === State.notices) -> batch)
  )
  io.dma.wdata.valid := state.isOneOf(State.publishData, State.heartbeatData) && index === 0.U
  io.dma.wdata.bits := Mux(
    state === State.publishData,
    word(engine.Notice.NoticeHead -> taken(cpu), engine.Notice.ResyncAck -> resynced(cpu)),
    word(engine.Heartbeat.Polls -> round)
  )
  when(io.dma.req.fire)(index := 0.U)
  when(io.dma.wdata.fire)(index := 1.U)
  when(io.dma.rdata.valid) {
    index := index + 1.U
    val word = io.dma.rdata.bits
    when(state === State.lineData) {
      pops.write(index(log2Ceil(lineWords) - 1, 0), word)
      when(index === (line.Notice.Offset / Axi.DataBytes).U) {
        noticeTail := get(word, line.Notice.NoticeTail)
        resyncWanted := get(word, line.Notice.Resync)
      }
      when(index === (line.Want.Offset / Axi.DataBytes).U)(wanted := get(word, line.Want.Orders))
    }
    when(state === State.noticeData) {
      val named = get(word, MemMap.Notice.Notice.Cluster)
      clusters.write(index(batchLog2 - 1, 0), Cat(named < p.clusters.U, named(p.clusterBits - 1, 0)))
    }
  }

  // Jobs
  io.fetch.valid := serving && inRange
  io.fetch.bits.cluster := cluster(p.clusterBits - 1, 0)
  io.resync.valid := state === State.resync
  io.resync.bits.all := true.B
  io.resync.bits.device := 0.U
  private def has(bits: UInt, index: UInt): Bool = (bits & UIntToOH(index, bits.getWidth)).orR
  val consuming = has(io.active, ring)
  val filling = io.settings.hints && has(wanted, order) && has(io.fillable, ring)
  io.hint.valid := state.isOneOf(State.consumeAsk, State.fillAsk)
  io.hint.bits := 0.U.asTypeOf(new HintJob)
  io.hint.bits.kind := Mux(state === State.fillAsk, HintJobKind.fill, HintJobKind.consume)
  io.hint.bits.cpu := cpu
  io.hint.bits.order := order
  io.hint.bits.head := popped

  // A DMA error ends the round; the registers switch the engine off.
  private def orOff(failed: Bool, onward: State.Type): Unit = state := Mux(failed, State.off, onward)

  private def nextOrder(loop: State.Type, after: State.Type): Unit = {
    order := Mux(lastOrder, 0.U, order + 1.U)
    state := Mux(lastOrder, after, loop)
  }

  switch(state) {
    is(State.off) {
      cpu := 0.U
      found := false.B
      foundLast := true.B
      when(on && !io.pause)(state := State.line)
    }
    is(State.line)(when(io.dma.req.fire)(state := State.lineData))
    is(State.lineData)(when(io.dma.done.valid)(orOff(io.dma.done.bits, State.compare)))
    is(State.compare) {
      pending := noticeTail - taken(cpu)
      lookAgain := resyncWanted =/= resynced(cpu)
      state := State.weigh
    }
    is(State.weigh)(state := State.decide)
    is(State.decide) {
      order := 0.U
      everything := lookAgain || impossible
      when(lookAgain || impossible) {
        // Everything is fetched after this is published, so the notices before it are served too.
        found := true.B
        resynced(cpu) := resyncWanted
        taken(cpu) := noticeTail
        state := State.publish
      }.elsewhen(pending =/= 0.U) {
        found := true.B
        batch := most
        state := State.notices
      }.otherwise(state := State.consume)
    }
    is(State.notices)(when(io.dma.req.fire)(state := State.noticeData))
    is(State.noticeData) {
      when(io.dma.done.valid) {
        when(!io.dma.done.bits)(taken(cpu) := taken(cpu) + batch)
        orOff(io.dma.done.bits, State.publish)
      }
    }
    is(State.publish)(when(io.dma.req.fire)(state := State.publishData))
    is(State.publishData) {
      when(io.dma.done.valid) {
        index := 0.U
        orOff(io.dma.done.bits, Mux(everything, State.resync, State.serve))
      }
    }
    is(State.serve) {
      when(!serving) {
        state := State.compare
      }.elsewhen(!inRange) {
        index := index + 1.U
      }.elsewhen(io.fetch.fire)(state := State.fetchWait)
    }
    is(State.fetchWait) {
      when(io.fetchDone.valid) {
        index := index + 1.U
        orOff(io.fetchDone.bits.error, State.serve)
      }
    }
    is(State.resync)(when(io.resync.fire)(state := State.resyncWait))
    is(State.resyncWait)(when(io.resyncDone.valid)(orOff(io.resyncDone.bits.error, State.consume)))
    // Whether there is something to ask for is looked up in one cycle, and asked for in the next: others wait for both.
    is(State.consume) {
      when(consuming)(state := State.consumeAsk).otherwise(nextOrder(State.consume, State.fill))
    }
    is(State.consumeAsk)(state := Mux(io.hint.ready, State.consumeWait, State.consume))
    is(State.consumeWait) {
      when(io.hintDone.valid) {
        when(io.hintDone.bits.count =/= 0.U)(found := true.B)
        nextOrder(State.consume, State.fill)
      }
    }
    is(State.fill) {
      when(filling)(state := State.fillAsk).otherwise(nextOrder(State.fill, State.next))
    }
    is(State.fillAsk)(state := Mux(io.hint.ready, State.fillWait, State.fill))
    is(State.fillWait) {
      when(io.hintDone.valid) {
        when(io.hintDone.bits.count =/= 0.U)(found := true.B)
        when(io.hintDone.bits.error)(state := State.off).otherwise(nextOrder(State.fill, State.next))
      }
    }
    is(State.next) {
      when(!on) {
        state := State.off
      }.elsewhen(!io.pause) {
        cpu := Mux(cpu === (p.cpus - 1).U, 0.U, cpu + 1.U)
        state := Mux(cpu === (p.cpus - 1).U, State.heartbeat, State.line)
      }
      when(on && !io.pause && cpu === (p.cpus - 1).U)(round := round + 1.U)
    }
    is(State.heartbeat)(when(io.dma.req.fire)(state := State.heartbeatData))
    is(State.heartbeatData) {
      timer := io.settings.pollCycles
      when(io.dma.done.valid) {
        foundLast := found
        found := false.B
        orOff(io.dma.done.bits, State.timer)
      }
    }
    is(State.timer) {
      when(!on) {
        state := State.off
      }.elsewhen(timer <= 1.U) {
        when(!io.pause)(state := State.line)
      }.otherwise(timer := timer - 1.U)
    }
  }

  io.paused := io.pause && state.isOneOf(State.off, State.next, State.timer)
  io.polled := state === State.heartbeatData && io.dma.done.valid && !io.dma.done.bits
  io.notice := (state === State.noticeData && io.dma.rdata.valid)
  io.badNotice := (serving && !inRange) || (state === State.decide && impossible)
  io.quiet := state === State.off && !on || state === State.timer && !foundLast
  io.working := on && (found || foundLast)

  // The counter moves with the heartbeat's answer, so that who sees the round sees its heartbeat.
  val finished = RegInit(0.U(32.W))
  when(io.polled)(finished := round)
  io.round := finished

  assert(state =/= State.notices || noticeIndex +& batch <= noticeSize, "notice ring: a read ran past the ring's end")
}
