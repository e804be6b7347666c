// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A request on its way through the pipeline. */
class PipeOp(implicit p: Params) extends Bundle {

  /** Its kind: an allocation, a free, or, if neither, a request for a unit. */
  val alloc, free = Bool()

  /** Why it is refused, or OK; and that it is. */
  val status = UInt(MemMap.Completion.Info.Status.width.W)
  val refused = Bool()

  // Allocations: the CPU, the owner of the hint, and the hint.
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
    val policy = Input(new Policy)
    val devices = Input(Vec(p.devices, new SwapDevice))

    // The CPUs' hints.
    val hintsReady = Input(Bool())
    val readHint = Valid(new HintKey)
    val hint = Input(new CpuHint)
    val forward = Flipped(new HintForwarding)

    /** Reads the store. */
    val read = Valid(UInt(p.clusterBits.W))
    val next = new NextRequest
    val unit = new UnitRequest
  })

  // The contents of the stages.

  /** A request, as far as the pipeline looks at it. */
  private class Request extends Bundle {
    val op = CoreOp()
    val cpu = UInt(8.W)
    val order = UInt(p.orderBits.W)
    val device = UInt(5.W)
    val offset = UInt(32.W)
    val nr = UInt(10.W)
    val cluster = UInt(p.clusterBits.W)
  }

  /** The first place: a request, and the owner of its hint. */
  private class Accepted extends Bundle {
    val request = new Request
    val key = new HintKey
  }

  /** The kind of request: an allocation, a free; and whether it is about a cluster, whatever the hint. */
  private class Kind extends Bundle {
    val alloc, free, ofCluster = Bool()
  }

  /** A device, as far as ranges are compared with it; `listed`: it may be used. */
  private class Bounds extends Bundle {
    val listed = Bool()
    val pages = UInt(p.usedBits.W)
  }

  /** The second place: the request with the results of its look-ups, and the cluster that is read. */
  private class Fetched extends Bundle {
    val accepted = new Accepted
    val kind = new Kind
    val bounds = new Bounds
    val hint = new CpuHint
    val target = UInt(p.clusterBits.W)
  }

  /** The second place's request, checked, one cycle later; it is valid when its cluster was read. */
  private class Checked extends Bundle {
    val status = UInt(Intake.StatusBits.W)
    val refused = Bool()
    val lastSlot = UInt(p.slotBits.W)
    val needsCluster = Bool()
  }

  private val first = Stage(new Accepted)
  private val second = Stage(new Fetched)
  private val checked = Stage(new Checked)
  private val unit = Stage(new CoreReq)
  private val leaving = first.valid && (!second.valid || io.next.take)

  /** The hint of this key that is just being written, or else `old`. */
  private def newest(key: HintKey, old: CpuHint): CpuHint = Mux(overtakes(key), io.forward.newHint.bits.hint, old)
  private def overtakes(key: HintKey): Bool =
    io.forward.newHint.valid && io.forward.newHint.bits.key.asUInt === key.asUInt

  // Accept.
  private val free = !first.valid && !unit.valid
  private val plain = io.req.bits.op.isOneOf(CoreOp.alloc, CoreOp.free)
  io.req.ready := free && io.hintsReady
  when(free) {
    for ((name, field) <- first.bits.request.elements) field := io.req.bits.elements(name)
    first.bits.key := io.readHint.bits
  }
  first.valid := io.req.fire || (first.valid && !leaving)
  when(!unit.valid)(unit.bits := io.req.bits)
  when(io.req.fire) {
    unit.valid := !plain
  }.elsewhen(io.unit.done) {
    unit.valid := false.B
  }

  // The hint comes one cycle after the request, unless it is being written then.
  io.readHint.valid := io.req.fire
  io.readHint.bits.ofDevice := false.B
  io.readHint.bits.index := Mux(io.policy.hint === HintPolicyCode.Shared.U, 0.U, io.req.bits.cpu(p.cpuBits - 1, 0))
  io.readHint.bits.order := io.req.bits.order
  private val arriving =
    ShiftRegister(io.req.fire && !overtakes(io.readHint.bits), CpuHints.ReadCycles, false.B, true.B)
  private val heldHint = Reg(new CpuHint)
  private val hintRead = arriving && !overtakes(first.bits.key)
  private val hintElse = newest(first.bits.key, heldHint)
  private val firstHint = Mux(hintRead, io.hint, hintElse) // the hint read comes late
  heldHint := Mux(io.req.fire, io.forward.newHint.bits.hint, firstHint)

  // Look up: the device, and which cluster it is, that of the hint, the one that is named, or that of the offset.
  private val request = first.bits.request
  private val device = Wire(Valid(new SwapDevice))
  device.bits := At(io.devices, request.device(p.deviceBits - 1, 0))
  device.valid := request.device < p.devices.U && device.bits.info.claimed
  private val isNamed = request.op === CoreOp.dump
  private val kind = Wire(new Kind)
  kind.alloc := request.op === CoreOp.alloc
  kind.free := request.op === CoreOp.free
  kind.ofCluster := isNamed || request.op === CoreOp.free || request.op.isOneOf(CoreOp.ofSlot)
  private val ofOffset =
    (device.bits.info.base + request.offset(p.clusterBits + p.slotBits - 1, p.slotBits))(p.clusterBits - 1, 0)

  // A hint that is written when the request is in the second place overtakes the hint the request has read, and names
  // another cluster; whether it is this request's was compared in the cycle before.
  private def nextIs(key: HintKey): Bool = key.asUInt === io.forward.nextKey.asUInt
  private val firstMatches = nextIs(first.bits.key)
  private val secondMatches = nextIs(second.bits.accepted.key)
  private val overtaken = io.forward.newHint.valid && RegNext(Mux(leaving, firstMatches, secondMatches))
  private val changed = io.forward.newHint.valid &&
    RegNext(Mux(leaving, firstMatches && kind.alloc, secondMatches && second.bits.kind.alloc))
  io.forward.alike := RegNext(second.bits.accepted.key.asUInt === io.forward.key.asUInt)
  private val secondHint = Mux(overtaken, io.forward.newHint.bits.hint, second.bits.hint)
  private val cluster = Mux(changed, io.forward.newHint.bits.hint.cluster, second.bits.target)

  second.valid := leaving || (second.valid && !io.next.take)
  second.bits.hint := secondHint
  second.bits.target := cluster
  when(leaving) {
    second.bits.accepted := first.bits
    second.bits.kind := kind
    second.bits.bounds.listed := device.valid && device.bits.listed
    second.bits.bounds.pages := device.bits.info.pages
    second.bits.hint := firstHint
    second.bits.target :=
      Mux(kind.alloc, hintElse.cluster, Mux(isNamed, request.cluster, ofOffset))
    when(kind.alloc && hintRead)(second.bits.target := io.hint.cluster)
  }

  // Fetch.
  private val fetched = second.bits.accepted.request
  private val is = second.bits.kind
  private val slot = fetched.offset(p.slotBits - 1, 0)
  io.read.valid := second.valid && !io.next.exclusive
  io.read.bits := cluster

  // The reason to refuse it.
  private val rangeValid = fetched.nr =/= 0.U && fetched.offset =/= 0.U && slot +& fetched.nr <= p.slots.U &&
    fetched.offset +& fetched.nr <= second.bits.bounds.pages
  private val status = WireDefault(
    MuxCase(
      StatusCode.Ok.U,
      Seq(
        (is.alloc && !(fetched.cpu < p.cpus.U && fetched.order < p.orders.U)) -> StatusCode.BadCpu.U,
        (is.free && !second.bits.bounds.listed) -> StatusCode.BadDevice.U,
        (is.free && !rangeValid) -> StatusCode.BadRange.U
      )
    )
  )
  checked.valid := io.read.valid && !io.next.take
  checked.bits.status := status
  checked.bits.refused := status =/= StatusCode.Ok.U
  checked.bits.lastSlot := (slot + fetched.nr - 1.U)(p.slotBits - 1, 0)
  checked.bits.needsCluster := Mux(is.alloc, secondHint.valid, is.ofCluster)

  // To the executor: the request, with its cluster, which was read in the cycle before.
  io.next.op.valid := second.valid && checked.valid && !io.forward.newHint.valid && !io.next.exclusive
  io.next.op.bits.alloc := is.alloc
  io.next.op.bits.free := is.free
  io.next.op.bits.status := checked.bits.status
  io.next.op.bits.refused := checked.bits.refused
  io.next.op.bits.cpu := fetched.cpu(p.cpuBits - 1, 0)
  io.next.op.bits.key := second.bits.accepted.key
  io.next.op.bits.order := fetched.order
  io.next.op.bits.hint := second.bits.hint
  io.next.op.bits.range.start := slot
  io.next.op.bits.range.last := checked.bits.lastSlot
  io.next.op.bits.nr := fetched.nr
  io.next.op.bits.device := Mux(is.alloc, second.bits.hint.device, fetched.device(p.deviceBits - 1, 0))
  io.next.cluster := second.bits.target
  io.next.needsCluster := !checked.bits.refused && checked.bits.needsCluster

  // To the units. A unit's device, which the first place goes on to name, is looked at all the time, since it may be
  // changing on behalf of the requests before.
  private val ofUnit = RegNext(device)
  io.unit.req := unit.bits
  io.unit.device := ofUnit.bits
  io.unit.claimed := ofUnit.valid

  assert(!io.next.take || io.next.op.valid, "a request is taken that is not there")
}

object Intake {

  /** Of the codes that the intake itself gives. */
  private val StatusBits =
    log2Ceil(
      Seq(StatusCode.Ok, StatusCode.BadOpcode, StatusCode.BadCpu, StatusCode.BadDevice, StatusCode.BadRange).max + 1
    )
}
