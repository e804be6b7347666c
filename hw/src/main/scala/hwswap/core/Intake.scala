// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A request on its way through the pipeline. */
class PipeOp(implicit p: Params) extends Bundle {

  /** What it is: an allocation (for a hint, if `hinting`), a free, or, if neither, something for a unit. */
  val alloc, hinting, free = Bool()

  /** An allocation that may ask the host; one that goes on after that (its hint is where), and whether the host tried
    * to reclaim something there.
    */
  val reclaim, resumes, tried = Bool()

  /** Why it is refused, or OK; and that it is. */
  val status = UInt(MemMap.Completion.Info.Status.width.W)
  val refused = Bool()

  // Allocations: for whom, whose hint it is, and the hint.
  val cpu = UInt(p.cpuBits.W)
  val order = UInt(p.orderBits.W)
  val key = new HintKey
  val hint = new CpuHint

  // Frees: slots of the target cluster.
  val range = new SlotRange
  val nr = UInt(p.countBits.W)

  /** The device it is about: that of a free, or of an allocation's hint. */
  val device = UInt(p.deviceBits.W)
}

/** The front of the pipeline: takes requests, looks their device and the CPU's hint up, checks them, and has their
  * cluster read, while the request before them is carried out.
  *
  * Two places. In the first, the device and the hint arrive. In the second, the cluster is known: it is read in the
  * first cycle there, and in each further one until the request leaves, since the store shows a line for one cycle
  * only. A new hint overtakes the one a request has read. While `exclusive` is high, the store belongs to somebody
  * else.
  *
  * A request for a unit is let in alone: nothing follows it before `unitDone`. So there is one place for all that only
  * such requests have.
  */
class Intake(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val req = Flipped(Decoupled(new CoreReq))
    val advisory = Input(Bool())
    val policy = Input(new Policy)
    val devices = Input(Vec(p.devices, new SwapDevice))

    // The CPUs' hints.
    val hintsReady = Input(Bool())
    val readHint = Valid(new HintKey)
    val hint = Input(new CpuHint)
    val forward = Flipped(new HintForwarding)

    /** Reads the store. */
    val read = Valid(UInt(p.clusterBits.W))

    /** Somebody may look at what is read. */
    val wanted = Output(Bool())
    val next = new NextRequest
    val unit = new UnitRequest
  })

  /** The hint of this key that is just being written, or else `old`. */
  private def newest(key: HintKey, old: CpuHint): CpuHint = Mux(overtakes(key), io.forward.newHint.bits.hint, old)
  private def overtakes(key: HintKey): Bool =
    io.forward.newHint.valid && io.forward.newHint.bits.key.asUInt === key.asUInt

  // The first place.
  private class First extends Bundle {
    val op = CoreOp()
    val cpu = UInt(8.W)
    val order = UInt(p.orderBits.W)
    val reclaim = Bool()
    val device = UInt(5.W)
    val offset = UInt(32.W)
    val nr = UInt(10.W)
    val cluster = UInt(p.clusterBits.W)
  }
  private val firstKey, secondKey = Reg(new HintKey)
  private val firstFull = RegInit(false.B)
  private val first = Reg(new First)
  private val unitBusy = RegInit(false.B)
  private val unitReq = Reg(new CoreReq)
  private val plain = io.req.bits.op.isOneOf(CoreOp.alloc, CoreOp.hintAlloc, CoreOp.free, CoreOp.reclaimDone)
  private val leaving = Wire(Bool())
  io.req.ready := !firstFull && !unitBusy && io.hintsReady
  when(!firstFull && !unitBusy) {
    for ((name, field) <- first.elements) field := io.req.bits.elements(name)
    firstKey := io.readHint.bits
  }
  when(!unitBusy)(unitReq := io.req.bits)
  when(io.req.fire) {
    unitBusy := !plain
  }.elsewhen(io.unit.done) {
    unitBusy := false.B
  }
  firstFull := io.req.fire || (firstFull && !leaving)

  // The hint comes one cycle after the request, unless it is being written then.
  io.readHint.valid := io.req.fire
  io.readHint.bits.ofDevice := false.B
  io.readHint.bits.index := Mux(io.policy.hint === HintPolicyCode.Shared.U, 0.U, io.req.bits.cpu(p.cpuBits - 1, 0))
  io.readHint.bits.order := io.req.bits.order
  private val arriving = RegNext(io.req.fire && !overtakes(io.readHint.bits), false.B)
  private val heldHint = Reg(new CpuHint)
  private val firstRead = arriving && !overtakes(firstKey)
  private val firstElse = newest(firstKey, heldHint)
  private val firstHint = Mux(firstRead, io.hint, firstElse) // what is read comes late
  heldHint := Mux(io.req.fire, io.forward.newHint.bits.hint, firstHint)

  // The second place.
  private val firstMatches = firstKey.asUInt === io.forward.nextKey.asUInt
  private val secondMatches = secondKey.asUInt === io.forward.nextKey.asUInt
  private val secondOvertaken = io.forward.newHint.valid && RegNext(Mux(leaving, firstMatches, secondMatches))
  io.forward.alike := RegNext(secondKey.asUInt === io.forward.key.asUInt)
  private val secondFull = RegInit(false.B)
  private val second = Reg(new First)

  /** The device of a free may be used, and so many pages and clusters it has. */
  private val deviceListed = Reg(Bool())
  private val devicePages = Reg(UInt(p.usedBits.W))
  private val deviceClusters = Reg(UInt(p.clusterCountBits.W))
  private val hint = Reg(new CpuHint)
  private val wasRead = RegInit(false.B)
  leaving := firstFull && (!secondFull || io.next.take)
  secondFull := leaving || (secondFull && !io.next.take)
  private val secondHint = Mux(secondOvertaken, io.forward.newHint.bits.hint, hint)
  hint := secondHint
  when(leaving) {
    second := first
    secondKey := firstKey
    hint := firstHint
  }

  private val lookedUp = At(io.devices, first.device(p.deviceBits - 1, 0))
  private val claimed = first.device < p.devices.U && lookedUp.info.claimed
  when(leaving) {
    deviceListed := claimed && lookedUp.listed
    devicePages := lookedUp.info.pages
    deviceClusters := lookedUp.clusters
  }

  // Which cluster: that of the hint, the one that is named, or that of the offset. A hint that overtakes names another
  // cluster than was read.
  private def isAlloc(op: CoreOp.Type): Bool = op.isOneOf(CoreOp.alloc, CoreOp.hintAlloc)
  private def isNamed(op: CoreOp.Type): Bool = op.isOneOf(CoreOp.apply_, CoreOp.dump)

  /** What holds of the second's operation: known when it comes there. */
  private def ofSecond(is: CoreOp.Type => Bool): Bool = RegEnable(is(first.op), leaving)
  private val resumes = ofSecond(_ === CoreOp.reclaimDone)
  private val byHint = ofSecond(isAlloc)
  private val isFree = ofSecond(_ === CoreOp.free)
  private val alloc = byHint || resumes
  private val slot = second.offset(p.slotBits - 1, 0)
  private val target = Reg(UInt(p.clusterBits.W))
  private val changed = io.forward.newHint.valid &&
    RegNext(Mux(leaving, firstMatches && isAlloc(first.op), secondMatches && byHint))
  private val cluster = Mux(changed, io.forward.newHint.bits.hint.cluster, target)
  target := cluster
  when(leaving) {
    target := Mux(
      isAlloc(first.op),
      firstElse.cluster,
      Mux(
        isNamed(first.op),
        first.cluster,
        (lookedUp.info.base + first.offset(p.clusterBits + p.slotBits - 1, p.slotBits))(p.clusterBits - 1, 0)
      )
    )
    when(isAlloc(first.op) && firstRead)(target := io.hint.cluster)
  }
  io.read.valid := secondFull && !io.next.exclusive
  io.read.bits := cluster
  wasRead := io.read.valid && !io.next.take
  io.next.cluster := target

  // What is wrong with it, known one cycle after it came to the second place.
  private val rangeValid = second.nr =/= 0.U && second.offset =/= 0.U && slot +& second.nr <= p.slots.U &&
    second.offset +& second.nr <= devicePages
  private val placeValid = (second.offset >> p.slotBits) < deviceClusters &&
    (slot & SlotRange.lowSlots(second.order)) === 0.U
  private val missing = CoreOp.missing
  private val allowed = (if (missing.isEmpty) true.B else !second.op.isOneOf(missing)) && Mux(
    second.op.isOneOf(CoreOp.authoritativeOnly),
    !io.advisory,
    io.advisory || !second.op.isOneOf(CoreOp.hintAlloc, CoreOp.apply_, CoreOp.release, CoreOp.dump)
  )
  private val newStatus = WireDefault(
    MuxCase(
      StatusCode.Ok.U,
      Seq(
        !allowed -> StatusCode.BadOpcode.U,
        (alloc && !(second.cpu < p.cpus.U && second.order < p.orders.U)) -> StatusCode.BadCpu.U,
        ((isFree || resumes) && !deviceListed) -> StatusCode.BadDevice.U,
        (isFree && !rangeValid) -> StatusCode.BadRange.U,
        (resumes && !placeValid) -> StatusCode.BadRange.U
      )
    )
  )
  private val status = RegNext(newStatus)
  private val refused = RegNext(newStatus =/= StatusCode.Ok.U)

  io.next.op.valid := secondFull && wasRead && !io.forward.newHint.valid && !io.next.exclusive
  io.next.op.bits.alloc := alloc
  io.next.op.bits.hinting := ofSecond(_ === CoreOp.hintAlloc)
  io.next.op.bits.free := isFree
  io.next.op.bits.reclaim := second.reclaim || resumes
  io.next.op.bits.resumes := resumes
  io.next.op.bits.tried := second.nr =/= 0.U
  io.next.op.bits.status := status
  io.next.op.bits.refused := refused
  io.next.op.bits.cpu := second.cpu(p.cpuBits - 1, 0)
  io.next.op.bits.key := secondKey
  io.next.op.bits.order := second.order
  io.next.op.bits.hint := hint
  when(resumes) {
    io.next.op.bits.hint.valid := true.B
    io.next.op.bits.hint.last := slot - 1.U
    io.next.op.bits.hint.whole := slot === 0.U
  }
  io.next.op.bits.range.start := slot
  io.next.op.bits.range.last := RegNext((slot + second.nr - 1.U)(p.slotBits - 1, 0)) // known as soon as the status is
  io.next.op.bits.nr := second.nr
  io.next.op.bits.device := Mux(byHint, hint.device, second.device(p.deviceBits - 1, 0))
  private val ofRequest = ofSecond { op =>
    isNamed(op) || op.isOneOf(CoreOp.free, CoreOp.reclaimDone) || op.isOneOf(CoreOp.ofSlot)
  }
  io.wanted := Mux(byHint, secondHint.valid, ofRequest)
  io.next.needsCluster := !refused && RegNext(io.wanted)

  io.unit.req := unitReq

  // A unit's device, which the first place goes on to name, is looked at all the time, since it may be changing on
  // behalf of the requests before.
  io.unit.device := RegNext(lookedUp)
  io.unit.claimed := RegNext(claimed)

  assert(!io.next.take || io.next.op.valid, "a request is taken that is not there")
}
