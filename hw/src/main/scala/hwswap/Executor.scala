// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** What the host was asked about: an engine cluster, for an order; whether it came from FULL, or the head of any list.
  */
class AskedPlace(p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val order = UInt(p.orderBits.W)
  val full, listed = Bool()
}

/** Carries allocations and frees out: the back of the pipeline, two cycles a request.
  *
  *   - look: the open cluster is searched for free slots, or its slots to be freed are looked at
  *   - commit: what that brought is decided, and everything is written: count, flag and order, the change of slots, the
  *     CPU's hint, the list move, the device's numbers, the answer. The next request's cluster is opened meanwhile.
  *
  * An allocation without a hint, or whose hint leads to nothing, goes on with the slow path, which opens one cluster
  * after the other; each goes through the same two cycles. It mirrors `swap_alloc_fast()`,
  * `alloc_swap_scan_cluster()` with `relocate_cluster()`, and `__swap_cluster_free_entries()`.
  *
  * The next request may be for the CPU and order of this one: then it uses the hint this one leaves.
  *
  * An allocation whose host wants to be asked (`reclaim`) stays in commit for one cycle more, in which what the search
  * passed over is weighed. If it asks, it ends there; `waiting` remembers that, and the answer is a request of its own
  * that searches the same cluster again (`resumes`), from where the host says.
  *
  * A list move that has to wait for the one before keeps a request in commit, and so does an answer nobody takes.
  */
class Executor(p: Params) extends Module {
  val io = IO(new Bundle {

    /** The next request, its cluster, and that it is taken. */
    val op = Flipped(Valid(new PipeOp(p)))
    val cluster = Input(UInt(p.clusterBits.W))
    val needsCluster = Input(Bool())
    val take = Output(Bool())

    /** A slow path or a unit is at work: the store is theirs. */
    val exclusive = Output(Bool())

    // The open cluster: see OpenCluster.
    val open = Valid(UInt(p.clusterBits.W))
    val opened = Input(UInt(p.clusterBits.W))
    val meta = Input(new ClusterMeta(p))
    val find = Output(Bool())
    val order = Output(UInt(p.orderBits.W))
    val behind = Output(UInt(p.slotBits.W))
    val anywhere = Output(Bool())
    val checked = Output(new SlotRange(p))
    val found = Input(Bool())
    val foundSlot = Input(UInt(p.slotBits.W))
    val allUsed = Input(Bool())
    val newMeta = Valid(new ClusterMeta(p))
    val rowOp = Output(RowOp())
    val range = Output(new SlotRange(p))

    // Everything else that is written.
    val devices = Input(Vec(p.devices, new SwapDevice(p)))
    val change = Output(new DeviceChange(p))
    val newHint = Valid(new HintWrite(p))
    val move = Valid(new ListMove(p))
    val moveRoom = Input(Bool())
    val resp = Decoupled(new UnitResp(p))
    val events = Output(new CoreEvents)

    // More than half of swap is in use; all devices and the available list show what was done.
    val halfUsed = Input(Bool())
    val settled = Input(Bool())

    // The slow path: see there.
    val slowStart = Output(Bool())
    val slowOrder = Output(UInt(p.orderBits.W))
    val slowHinting = Output(Bool())
    val search = Input(Bool())
    val resuming = Input(Bool())
    val resumeBehind = Input(UInt(p.slotBits.W))
    val resumeWhole = Input(Bool())
    val slowFailed = Input(Bool())
    val searched = Output(Bool())
    val gave = Output(Bool())
    val parks = Output(Bool())
    val dismissed = Output(Bool())
    val slowReclaims = Output(Bool())
    val mute = Input(Bool())
    val slowDevice = Input(UInt(p.deviceBits.W))
    val list = Input(UInt(p.listBits.W))
    val next = Input(UInt(p.clusterBits.W))
    val alone = Input(Bool())
    val position = Input(UInt(AllocWalk.bits(p).W))

    /** The policies; the CPU of an allocation, for the slow path. */
    val policy = Input(new Policy)
    val cpu = Output(UInt(p.cpuBits.W))

    /** A unit's turn, until it is done. */
    val unitTurn = Output(Bool())
    val unitDone = Input(Bool())

    /** A unit's request was refused before it came to the unit. */
    val unitRefused = Output(Bool())
  })

  private object State extends ChiselEnum {
    val idle, look, commit, slow, unit = Value
  }
  private val state = RegInit(State.idle)
  private val op = Reg(new PipeOp(p))
  private val slow = RegInit(false.B)
  private val refused = op.status =/= StatusCode.Ok.U

  // An allocation that waits for the host's answer, and what was asked: about which cluster, for which order, whether
  // the cluster came from FULL, or from another list's head.
  private val waiting = RegInit(false.B)
  private val asked = Reg(new AskedPlace(p))
  private val fromList = Mux(op.resumes, asked.listed, slow && !io.resuming)

  /** The open cluster comes from a list's head, not by way of a hint. */
  private val listed = slow && !io.resuming

  // Look.
  private val meta = io.meta
  private val number = Mux(slow, io.slowDevice, op.device)
  private val device = At(io.devices, number)
  private val slots = VecInit.tabulate(p.countBits)(k => op.order === k.U).asUInt
  io.find := state === State.look && op.alloc
  io.order := op.order
  io.behind := Mux(slow, io.resumeBehind, op.hint.last)
  io.anywhere := listed || meta.count === 0.U || Mux(slow, io.resumeWhole, op.hint.whole)
  io.checked := op.range

  // What commit wants to know, as it was when the cluster was looked at.
  private val writeok = RegNext(device.info.writeok)
  private val random = io.policy.hint === HintPolicyCode.RandomTrunk.U
  private val discards = RegNext(device.info.writeok && device.has(MemMap.DeviceFlags.Flags.Discard))
  private val epoch = RegNext(device.info.epoch)
  private val inDevice = RegNext((io.opened - device.info.base)(p.clusterBits - 1, 0))
  private val owner = RegNext(number)
  private val rotates = !device.has(MemMap.DeviceFlags.Flags.Solidstate)
  private val rotating = RegNext(rotates)
  private val larger = RegNext(meta.count + slots)
  private val smaller = RegNext(meta.count - op.nr)
  private val filled = RegNext(meta.count + slots === p.slots.U)
  private val emptied = RegNext(meta.count === op.nr)
  private val empty = RegNext(meta.count === 0.U)
  private val full = RegNext(meta.count === p.slots.U)
  private val low = RegNext(SlotRange.lowSlots(op.order, p))
  private val present = RegNext(ListId(meta.flag, meta.order, p))

  /** `cluster_is_usable()`; a FREE cluster has no table, an off-list one is in the kernel's hands. */
  private val usable = RegNext(
    Mux(
      op.resumes && asked.full,
      meta.flag === ClusterFlag.none,
      (meta.flag.isOneOf(ClusterFlag.nonfull, ClusterFlag.frag) || (op.resumes && meta.flag === ClusterFlag.none)) &&
        (op.order === 0.U || op.order === meta.order) ||
        (meta.flag === ClusterFlag.free && random && device.info.writeok && !rotates && !op.resumes)
    )
  )

  // An answer that names another cluster or order than was asked about.
  private val stray = RegNext(op.resumes && (io.opened =/= asked.cluster || op.order =/= asked.order))
  private val rejected = refused || stray

  // What the search passes over is weighed for one cycle more: slots in use from where it began, or, when the host has
  // tried there, from behind that place, to those that were found or to the cluster's end. (`cluster_scan_range()`)
  private val first = RegNext(Mux(io.anywhere, 0.U, io.behind + 1.U))
  private val begin = first +& Mux(op.resumes, slots, 0.U)
  private val end = Mux(io.found, io.foundSlot, p.slots.U)
  private val passes = RegNext(end > begin && !(io.found && io.foundSlot === first))
  private val passed = RegNext((end - begin)(p.countBits - 1, 0))
  private val askFrom = RegNext(begin(p.slotBits - 1, 0))
  private val roomy = RegNext(meta.count +& slots <= p.slots.U)
  private val weighed = RegNext(state === State.commit && io.settled, false.B)
  private val ofFull = op.resumes && asked.full
  private val asksFull = listed && AllocWalk.isFull(io.position)
  private val mute = ofFull || (op.resumes && !op.tried) || (slow && io.mute)
  private val asks = op.reclaim && !rejected &&
    (asksFull || (io.halfUsed && passes && roomy && (listed || usable) && !mute))

  // Commit: what was found.
  private val granted = io.found && writeok && (listed || usable) && !asks && !ofFull
  private val lastSlot = io.foundSlot | low
  private val scanned = op.alloc && !rejected && (listed || (usable && !asks))
  private val freed = op.free && !refused && io.allUsed

  // Where the cluster goes.
  private val allocFlag = MuxCase(
    ClusterFlag.frag,
    Seq((!granted && empty) -> ClusterFlag.free, Mux(granted, filled, full) -> ClusterFlag.full)
  )
  private val allocOrder = Mux(empty, Mux(granted, op.order, 0.U), meta.order)
  private val freeFlag = Mux(emptied, Mux(discards, ClusterFlag.discard, ClusterFlag.free), ClusterFlag.nonfull)
  private val freeOrder = Mux(emptied && !discards, 0.U, meta.order)
  private val newFlag = Mux(op.alloc, Mux(asks, ClusterFlag.none, allocFlag), freeFlag)
  private val newOrder = Mux(op.alloc, allocOrder, freeOrder)
  private val relist = listed || newFlag =/= meta.flag

  // Whether it may have to change its list is known before what was found.
  private val mayMove = RegNext(
    Mux(
      op.alloc,
      listed || op.resumes || meta.flag =/= ClusterFlag.frag || meta.count === 0.U || meta.count + slots >= p.slots.U,
      meta.flag =/= ClusterFlag.nonfull || meta.count === op.nr
    )
  )
  private val stalled = !io.resp.ready || (mayMove && !io.moveRoom) || (op.reclaim && !weighed)
  private val committing = state === State.commit && !stalled
  private val changes = committing && (scanned || freed)

  io.newMeta.valid := changes
  io.newMeta.bits.count := Mux(op.alloc, Mux(granted, larger, meta.count), smaller)
  io.newMeta.bits.flag := newFlag
  io.newMeta.bits.order := newOrder
  io.newMeta.bits.taken := false.B
  io.rowOp := RowOp.none
  io.range.start := Mux(op.alloc, io.foundSlot, op.range.start)
  io.range.last := Mux(op.alloc, lastSlot, op.range.last)
  when(committing && op.alloc && granted && !rejected) {
    io.rowOp := Mux(op.hinting, RowOp.hint, RowOp.give)
  }
  when(committing && freed) {
    io.rowOp := RowOp.clear
  }

  io.move.valid := changes && relist
  io.move.bits.device := owner
  io.move.bits.cluster := io.opened
  io.move.bits.unlink := meta.listed // not where a host's step took it off
  io.move.bits.fromHead := listed && !asks
  io.move.bits.from := present
  io.move.bits.next := io.next
  io.move.bits.alone := io.alone
  io.move.bits.push := !asks
  io.move.bits.to := ListId(newFlag, newOrder, p)

  // The hint: behind the slots that were gives, unless the cluster ends there.
  private val newHint = Wire(new CpuHint(p))
  newHint.valid := granted && !filled && !lastSlot.andR
  newHint.device := owner
  newHint.cluster := io.opened
  newHint.last := lastSlot
  newHint.whole := false.B

  // Policy RANDOM_TRUNK: where there is none, it is a random trunk, unless that is the device's first.
  private val trunks = Module(new Trunks(p))
  trunks.io.reseed := io.policy.reseed
  trunks.io.seed := io.policy.seed
  trunks.io.clusters := device.clusters
  private val ends = committing && op.alloc && !rejected && (listed || usable || op.resumes) && !asks && !ofFull
  trunks.io.draw := random && ends && !newHint.valid && !rotating
  private val trunk = Wire(new CpuHint(p))
  trunk.valid := trunks.io.cluster =/= 0.U
  trunk.device := owner
  trunk.cluster := (RegNext(device.info.base) + trunks.io.cluster)(p.clusterBits - 1, 0)
  trunk.last := DontCare
  trunk.whole := true.B
  io.newHint.valid := RegNext(ends, false.B)
  private val key = WireDefault(op.key)
  when(rotating) {
    key.ofDevice := true.B
    key.index := owner
  }
  io.newHint.bits.key := RegNext(key)
  io.newHint.bits.hint := RegNext(Mux(trunks.io.draw, trunk, newHint))

  private val gives = committing && op.alloc && !rejected && granted
  io.change.op := Mux(gives || (committing && freed), DeviceOp.adjust, DeviceOp.none)
  io.change.device := owner
  io.change.clusters := DontCare
  io.change.used := DontCare
  io.change.usedDelta := Mux(op.alloc, slots.zext, -op.nr.zext)
  io.change.hintedDelta := Mux(op.alloc && op.hinting, slots.zext, 0.S)

  // The answer. Only an allocation that found nothing has none yet.
  private val answering = committing && (gives || op.free || rejected || asks)
  io.resp.valid := answering || io.slowFailed
  io.resp.bits := 0.U.asTypeOf(io.resp.bits)
  io.resp.bits.status := Mux(
    io.slowFailed,
    StatusCode.NoSpace.U,
    MuxCase(
      op.status,
      Seq(
        refused -> op.status,
        (stray || (op.free && !io.allUsed)) -> StatusCode.BadRange.U,
        asks -> StatusCode.NeedReclaim.U
      )
    )
  )
  when(op.alloc && !rejected && !io.slowFailed) {
    io.resp.bits.device := owner
    io.resp.bits.offset := inDevice ## Mux(asks, askFrom, io.foundSlot)
    io.resp.bits.more := Mux(asks, asksFull ## passed.pad(CoreResp.MoreBits - 1), 0.U)
    io.resp.bits.epoch := epoch
  }

  // The slow path.
  private val hintless = !slow && op.alloc && !refused && !op.hint.valid
  private val hopeless = state === State.look && hintless && io.resp.ready
  private val missed = committing && !slow && op.alloc && !rejected && !granted && !asks
  io.slowStart := hopeless || missed
  io.slowOrder := op.order
  io.slowHinting := op.hinting
  io.searched := committing && slow
  io.gave := gives
  io.parks := asks
  io.dismissed := gives && op.resumes
  io.slowReclaims := op.reclaim && io.halfUsed
  when(committing && asks) {
    waiting := true.B
    asked.cluster := io.opened
    asked.order := op.order
    asked.full := asksFull
    asked.listed := fromList
  }.elsewhen(committing && op.resumes && !rejected) {
    waiting := false.B
  }

  // The next request. Its cluster is opened whatever this one brings; it comes in only if this one is done.
  // With RANDOM_TRUNK the hint this one leaves takes a cycle more, and the next request waits for it; with reclaim it
  // is not known before whether the next one is allowed.
  private val alone = op.alloc && (random || op.reclaim)
  private val untimely = Mux(waiting, !(io.op.bits.resumes || io.op.bits.free), io.op.bits.resumes)
  private val leadsOn = state === State.commit && !refused && op.leadsTo(io.op.bits)
  private val opening = io.op.valid && (state === State.idle || (committing && !slow && !alone))
  io.open.valid := opening && io.needsCluster && !leadsOn
  io.open.bits := io.cluster
  io.take := io.op.valid && (state === State.idle || (answering && !slow && !alone))
  io.cpu := op.cpu
  when(io.take) {
    op := io.op.bits
    when(leadsOn) {
      op.hint := newHint
      op.device := owner
    }
    when(untimely) {
      op.status := StatusCode.BadOpcode.U
    }
  }
  when(io.slowStart) {
    slow := true.B
    op.resumes := false.B // the slow path goes on elsewhere
  }.elsewhen(io.take) {
    slow := false.B
  }
  io.exclusive := state === State.slow || state === State.unit || slow
  io.unitTurn := state === State.unit
  io.unitRefused := answering && !op.alloc && !op.free

  switch(state) {
    is(State.idle) {
      when(io.take)(state := arrival)
    }
    is(State.look) {
      when(hopeless) {
        state := State.slow
      }.elsewhen(!hintless) {
        state := State.commit
      }
    }
    is(State.commit) {
      when(committing) {
        when(answering) {
          state := Mux(io.take, arrival, State.idle)
          slow := false.B
        }.otherwise {
          state := State.slow
        }
      }
    }
    is(State.slow) {
      when(io.search) {
        state := State.look
      }.elsewhen(io.slowFailed) {
        state := State.idle
        slow := false.B
      }
    }
    is(State.unit) {
      when(io.unitDone) {
        state := State.idle
      }
    }
  }

  private def arrival: State.Type =
    Mux(
      io.op.bits.alloc || io.op.bits.free || io.op.bits.status =/= StatusCode.Ok.U || untimely,
      State.look,
      State.unit
    )

  io.events := 0.U.asTypeOf(io.events)
  io.events.scan := ends
  io.events.listMove := io.move.valid && io.move.bits.push
  io.events.freed := committing && freed
  io.events.allocFast := gives && !fromList
  io.events.allocNonfull := gives && fromList && io.position === AllocWalk.Nonfull.U
  io.events.allocFree := gives && fromList && AllocWalk.isFree(io.position)
  io.events.allocFrag := gives && fromList && io.position === AllocWalk.Frag.U
  io.events.allocSteal := gives && fromList && io.position > AllocWalk.Frag.U
  io.events.allocFail := io.slowFailed

  assert(!(io.slowFailed && !io.resp.ready), "an answer finds no room")
  assert(
    !(state === State.look && listed && ListId(meta.flag, meta.order, p) =/= io.list),
    "a cluster's flag and order differ from the list it was found on"
  )
}
