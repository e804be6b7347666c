// SPDX-License-Identifier: Apache-2.0
package hwswap
package mirror

import chisel3._
import chisel3.util._
import hwswap.bus.{DmaBase, DmaPort}
import hwswap.core.{CoreOp, CorePort}

/** What the engine remembers of a hint it wrote. */
class HintEntry extends Bundle {
  val valid = Bool()
  val device = UInt(MemMap.Hint.Hint.Type.width.W)
  val epoch = UInt(MemMap.Hint.Hint.Epoch.width.W)
  val slot = UInt(MemMap.Hint.Hint.Slot.width.W)
}

/** Where a ring stands: hints ever released and ever made, modulo 2^32. */
class HintRingState extends Bundle {
  val head = UInt(32.W)
  val tail = UInt(32.W)
}

object HintRings {

  /** The most hints one burst writes. */
  val Batch: Int = 8

  /** Cycles from the core's answer to the decision whether there is room for another hint: the core's numbers follow
    * its answer by one cycle, and go through three registers, of which the last is read in the cycle of the decision.
    */
  val Weighing: Int = 3
}

/** The hint rings: fills them in host memory, releases what the host has popped, recalls what it shall not use any
  * more.
  *
  * Ring (cpu, order) is number cpu * 10 + order. A copy of every entry stays on chip, so that a popped or recalled
  * hint can be released without reading host memory, and nothing the host writes there is believed.
  *
  * A host that says it popped more than was made has gone wrong: all of the ring's hints are released and the ring
  * gets no more until reset.
  */
class HintRings(implicit p: Params) extends Module {
  val rings: Int = p.cpus * p.orders
  private val size = 1 << p.hintRingLog2

  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new HintJob))
    val done = Valid(new JobResult)
    val dma = new DmaPort
    val core = new CorePort
    val settings = Input(new Settings)
    val freeSlots = Input(UInt(32.W))
    val hintedSlots = Input(UInt(32.W))

    /** Pulse: something was applied or released elsewhere; orders that failed are worth another try. */
    val progress = Input(Bool())

    /** A bit a ring: it holds hints; a fill may be tried. */
    val active = Output(UInt(HintRings.this.rings.W))
    val fillable = Output(UInt(HintRings.this.rings.W))

    /** The clearing after reset has finished. */
    val ready = Output(Bool())

    /** Pulses: a hint was made, released after its use, recalled; the host's head was impossible. */
    val made = Output(Bool())
    val usedUp = Output(Bool())
    val recalled = Output(Bool())
    val garbage = Output(Bool())
  })

  import MapAccess.word
  private val hint = MemMap.Hint.Hint
  object State extends ChiselEnum {
    val clear, idle, ringRead, ringGet, measure, check, next, entryGet, look, void, voidData, release, releaseWait,
        weigh, fill, alloc, allocWait, allocGot, flush, flushData, writeBack, finish = Value
  }

  val state = RegInit(State.clear)
  val job = Reg(new HintJob)
  val ringBits = log2Ceil(rings).max(1)
  val ring = RegInit(0.U(ringBits.W))
  val order = Reg(UInt(4.W))
  val head = Reg(UInt(32.W))
  val tail = Reg(UInt(32.W))

  /** The present entry: as much of its number as distinguishes it from the ring's others, and its lap's phase. */
  val position = Reg(UInt((p.hintRingLog2 + 1).W))
  val end = Reg(UInt(32.W))
  val entry = Reg(new HintEntry)
  val count = Reg(UInt(log2Ceil((rings << p.hintRingLog2) + 1).W))
  val error = Reg(Bool())
  val stop = Reg(Bool())
  val batch = Reg(UInt(log2Ceil(HintRings.Batch + 1).W))
  val sent = Reg(UInt(log2Ceil(HintRings.Batch + 1).W))
  val batchPhase = Reg(Bool())
  val buffer = Mem(HintRings.Batch, new HintEntry)

  val active = RegInit(0.U(rings.W))
  val failed = RegInit(0.U(rings.W))
  val broken = RegInit(0.U(rings.W))

  // Slots of all hints that were made and neither used up nor recalled.
  val outstanding = RegInit(0.U(32.W))
  val slots = (1.U << order)(p.orders - 1, 0)

  /** Hints in the ring. */
  val held = (tail - head)(p.hintRingLog2, 0)

  /** The kernel says that it has taken more hints than there are. */
  private val overrun = RegNext(job.head - head > held)

  private val isConsume = job.kind === HintJobKind.consume
  private val isFill = job.kind === HintJobKind.fill
  private def withBit(bits: UInt, value: Bool): UInt = VecInit(bits.asBools.zipWithIndex.map { case (bit, i) =>
    Mux(ring === i.U, value, bit)
  }).asUInt
  private def index(count: UInt): UInt = count(p.hintRingLog2 - 1, 0)
  private def phase(count: UInt): Bool = !count(p.hintRingLog2)

  // State of the rings and copies of the entries
  val ringStates = SyncReadMem(rings, new HintRingState)
  val entries = SyncReadMem(rings << p.hintRingLog2, new HintEntry)
  val ringState = ringStates.read(ring, state === State.ringRead)
  val entryRead = entries.read(Cat(ring, index(position)), state === State.next)
  val cleared = WireInit(0.U.asTypeOf(new HintRingState))
  val current = Wire(new HintRingState)
  current.head := head
  current.tail := tail
  when(state === State.clear || state === State.writeBack) {
    ringStates.write(ring, Mux(state === State.clear, cleared, current))
  }
  val newEntry = Wire(new HintEntry)
  // What the core answers comes late, so it is looked at one cycle later.
  private val answer = RegNext(io.core.resp.bits)
  private val answeredOk = RegNext(io.core.resp.bits.status === StatusCode.Ok.U)
  val allocated = state === State.allocGot && answeredOk
  val voided = state === State.voidData && io.dma.done.valid && !io.dma.done.bits
  newEntry.valid := allocated
  newEntry.device := answer.device
  newEntry.epoch := answer.epoch
  newEntry.slot := answer.offset
  when(allocated)(buffer.write(batch(log2Ceil(HintRings.Batch) - 1, 0), newEntry))
  when(allocated || voided)(
    entries.write(Cat(ring, Mux(state === State.allocGot, index(tail), index(position))), newEntry)
  )

  // How far a fill may go: the ring's depth and the cap. Each step has a cycle of its own; a fill weighs until what the
  // core says after the last hint has come through.
  val depthWanted = RegNext(io.settings.depthSlots >> order)
  val depth = RegNext(Mux(depthWanted === 0.U, 1.U, Mux(depthWanted > size.U, size.U, depthWanted))(p.hintRingLog2, 0))
  val share = RegNext(io.freeSlots >> io.settings.capShift)
  val cap = RegNext(Mux(share > io.settings.capMin, share, io.settings.capMin))
  val hinted = RegNext(RegNext(io.hintedSlots +& slots))
  val room = RegNext(hinted <= cap && held < depth, false.B)
  val weighed = RegInit(0.U(log2Ceil(HintRings.Weighing).W))
  weighed := Mux(state === State.weigh, weighed + 1.U, 0.U)
  val wrapped = batch =/= 0.U && index(tail) === 0.U

  // Core: release or hintAlloc
  io.core.req.valid := state === State.release || state === State.alloc
  io.core.req.bits := CorePort.blank
  io.core.req.bits.op := Mux(state === State.release, CoreOp.release, CoreOp.hintAlloc)
  io.core.req.bits.cpu := job.cpu
  io.core.req.bits.order := order
  io.core.req.bits.device := entry.device
  io.core.req.bits.offset := entry.slot
  io.core.req.bits.epoch := entry.epoch
  io.core.resp.ready := state === State.releaseWait || state === State.allocWait

  // DMA: new hints, or one void one
  val made = buffer.read(sent(log2Ceil(HintRings.Batch) - 1, 0))
  val hintWord = word(
    hint.Phase -> batchPhase,
    hint.Valid -> true.B,
    hint.Order -> order,
    hint.Type -> made.device,
    hint.Epoch -> made.epoch,
    hint.Slot -> made.slot
  )
  val first = Mux(state === State.void, index(position), index(tail) - batch)
  io.dma.req.valid := state === State.void || state === State.flush
  io.dma.req.bits.write := true.B
  io.dma.req.bits.base := DmaBase.hints
  io.dma.req.bits.offset := Cat(ring, index(first))
  io.dma.req.bits.words := Mux(state === State.void, 1.U, batch)
  io.dma.wdata.valid := state.isOneOf(State.voidData, State.flushData) && sent =/= Mux(isFill, batch, 1.U)
  io.dma.wdata.bits := Mux(isFill, hintWord, word(hint.Phase -> phase(position)))
  when(io.dma.req.fire)(sent := 0.U)
  when(io.dma.wdata.fire)(sent := sent + 1.U)

  io.job.ready := state === State.idle
  io.ready := state =/= State.clear
  io.garbage := false.B

  private def releaseDone(): Unit = {
    position := position + 1.U
    count := count + 1.U
    outstanding := outstanding - slots
    failed := 0.U
    state := State.next
  }

  switch(state) {
    is(State.clear) {
      ring := ring + 1.U
      when(ring === (rings - 1).U)(state := State.idle)
    }
    is(State.idle) {
      count := 0.U
      error := false.B
      stop := false.B
      batch := 0.U
      val isRecall = io.job.bits.kind === HintJobKind.recall
      job := io.job.bits
      ring := Mux(isRecall, 0.U, (io.job.bits.cpu * p.orders.U + io.job.bits.order)(ringBits - 1, 0))
      order := Mux(isRecall, 0.U, io.job.bits.order)
      when(io.job.valid)(state := State.ringRead)
    }
    is(State.ringRead)(state := State.ringGet)
    is(State.ringGet) {
      head := ringState.head
      tail := ringState.tail
      position := ringState.head(p.hintRingLog2, 0)
      end := ringState.tail
      state := State.measure
    }
    is(State.measure)(state := State.check)
    is(State.check) {
      when(isConsume) {
        when(overrun) {
          io.garbage := true.B
          broken := withBit(broken, true.B)
        }.otherwise(end := job.head)
      }
      state := Mux(isFill, State.weigh, State.next)
    }

    // consume and recall: entry by entry
    is(State.next) {
      when(position =/= end(p.hintRingLog2, 0)) {
        state := State.entryGet
      }.elsewhen(isConsume) {
        head := end
        state := State.writeBack
      }.elsewhen(ring === (rings - 1).U) {
        state := State.finish
      }.otherwise {
        ring := ring + 1.U
        order := Mux(order === (p.orders - 1).U, 0.U, order + 1.U)
        state := State.ringRead
      }
    }
    is(State.entryGet) {
      entry := entryRead
      state := State.look
    }
    is(State.look) {
      when(entry.valid && isConsume) {
        state := State.release
      }.elsewhen(entry.valid && (job.all || entry.device === job.device)) {
        state := State.void
      }.otherwise {
        position := position + 1.U
        state := State.next
      }
    }
    is(State.void)(when(io.dma.req.fire)(state := State.voidData))
    is(State.voidData) {
      when(io.dma.done.valid) {
        error := io.dma.done.bits
        state := Mux(io.dma.done.bits, State.finish, State.release)
      }
    }
    is(State.release)(when(io.core.req.fire)(state := State.releaseWait))
    is(State.releaseWait)(when(io.core.resp.fire)(releaseDone()))

    // fill: a batch of hints, then one burst
    is(State.weigh)(when(weighed === (HintRings.Weighing - 1).U)(state := State.fill))
    is(State.fill) {
      when(!stop && room && batch =/= HintRings.Batch.U && !wrapped) {
        state := State.alloc
      }.elsewhen(batch =/= 0.U) {
        state := State.flush
      }.otherwise(state := State.writeBack)
    }
    is(State.alloc)(when(io.core.req.fire)(state := State.allocWait))
    is(State.allocWait)(when(io.core.resp.fire)(state := State.allocGot))
    is(State.allocGot) {
      state := State.weigh
      when(allocated) {
        when(batch === 0.U)(batchPhase := phase(tail))
        batch := batch + 1.U
        count := count + 1.U
        tail := tail + 1.U
        outstanding := outstanding + slots
      }.otherwise {
        failed := withBit(failed, true.B)
        stop := true.B
      }
    }
    is(State.flush)(when(io.dma.req.fire)(state := State.flushData))
    is(State.flushData) {
      when(io.dma.done.valid) {
        batch := 0.U
        error := io.dma.done.bits
        state := Mux(io.dma.done.bits, State.finish, State.weigh)
      }
    }

    is(State.writeBack) {
      active := withBit(active, head =/= tail)
      state := State.finish
    }
    is(State.finish)(state := State.idle)
  }
  when(io.progress)(failed := 0.U)

  io.done.valid := state === State.finish
  io.done.bits.count := count
  io.done.bits.error := error
  io.active := active
  io.fillable := ~(failed | broken)
  io.made := allocated
  private val released = state === State.releaseWait && io.core.resp.fire
  io.usedUp := released && isConsume
  io.recalled := released && !isConsume

  assert(
    state === State.clear || tail - head <= size.U || !state.isOneOf(State.fill, State.writeBack),
    "hint ring overrun"
  )
  assert(
    !RegNext(state === State.idle, false.B) || io.hintedSlots <= outstanding,
    "more slots hinted than hints are out"
  )
}
