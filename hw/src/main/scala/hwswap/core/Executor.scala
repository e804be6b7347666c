// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Carries allocations and frees out: the back of the pipeline, two cycles a request.
  *
  *   - look (LookStage): the open cluster is searched for free slots, or its slots to be freed are looked at
  *   - commit (CommitStage): the outcome is decided, and everything is written: count, flag and order, the change
  *     of slots, the list move, the device's numbers, the answer. The next request's cluster is opened meanwhile.
  *   - write (WriteStage): the CPU's hint is written, while the next request is looked at
  *
  * An allocation without a hint, or whose hint leads to nothing, goes on with the slow path, which opens one cluster
  * after the other; each goes through the same two cycles. It mirrors `swap_alloc_fast()`,
  * `alloc_swap_scan_cluster()` with `relocate_cluster()`, and `__swap_cluster_free_entries()`.
  *
  * The next request may be for the CPU and order of this one: then it uses the hint this one leaves.
  *
  * A list move that has to wait for the one before keeps a request in commit, and so does an answer nobody takes.
  */
class Executor(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val next = Flipped(new NextRequest)
    val forward = new HintForwarding
    val turn = new UnitTurn
    val slow = new SlowSearch

    /** A slow path is at work. */
    val onSlowPath = Output(Bool())

    // The open cluster: see OpenCluster.
    val open = Valid(UInt(p.clusterBits.W))
    val opened = Input(new OpenedCluster)
    val search = new ClusterSearch
    val newMeta = Valid(new ClusterMeta)
    val newEmpty = Output(Bool())
    val rowChange = Valid(new RowChange)

    /** A unit picks this word in the next cycle. */
    val walkPick = Input(UInt(p.wordBits.W))

    // Everything else that is written.
    val devices = Input(Vec(p.devices, new SwapDevice))
    val change = Output(new DeviceUpdate)
    val move = Valid(new ListMove)
    val resp = Valid(new UnitResp)
    val room = Input(new CommitRoom)
    val events = Output(new CoreEvents)

    /** The policies; the CPU of an allocation, for the slow path. */
    val policy = Input(new Policy)
    val cpu = Output(UInt(p.cpuBits.W))
  })

  private object State extends ChiselEnum {
    val idle, look, commit, slow, unit = Value
  }
  private val state = RegInit(State.idle)
  private val op = Reg(new PipeOp)
  private val slow = RegInit(false.B)
  private val refused = op.refused

  /** The word that is looked at. */
  private val pick = Reg(UInt(p.wordBits.W))

  /** The words after it, in which a search goes on; all, if it may find something anywhere. */
  private val later = Reg(UInt(p.words.W))
  private def laterThan(hint: CpuHint): UInt =
    SlotRange.beyond(hint.last >> p.wordSlotBits, p.words) | Fill(p.words, hint.whole)

  /** The open cluster comes from a list or the index, not by way of a hint. */
  private val fromList = slow && (!io.slow.resuming || io.slow.indexed)

  /** The open cluster comes from a list's head, not by way of a hint. */
  private val listed = slow && !io.slow.resuming

  // Look.
  private val number = Mux(slow, io.slow.device, op.device)
  private val device = At(io.devices, number)

  /** 2^order, in a register, since much is worked out from it: how many slots an allocation gets. */
  private val slots = RegEnable(VecInit.tabulate(p.countBits)(k => io.next.op.bits.order === k.U).asUInt, io.next.take)
  io.search.look := state === State.look || state === State.unit
  io.search.order := op.order
  io.search.after := op.hint.last
  io.search.anywhere := io.opened.empty || op.hint.whole
  io.search.later := later | Fill(p.words, io.opened.empty)

  // A free within one word, or of whole words, is one change. Any other takes three: the slots in the first word, those
  // in the last, the words between them. It goes through `parts`, in which it looks at the first word, the last one and
  // the first again, changes the first, changes the last, and lets that be written; the commit changes the rest.
  private val part = RegInit(0.U(log2Ceil(Executor.Parts).W))
  private val range = op.range

  /** Registers a value that depends on the slots alone and takes long. */
  private def ofSlots[T <: Data](what: SlotRange => T): T = RegEnable(what(io.next.op.bits.range), io.next.take)
  private def between(range: SlotRange): UInt =
    VecInit.tabulate(p.words)(w => range.firstWord < w.U && range.lastWord > w.U).asUInt
  private val inOneWord = ofSlots(_.inOneWord)
  private val partly = ofSlots(range => !range.inOneWord && !range.ofWholeWords)
  private val wholeWords = ofSlots(range => Mux(range.ofWholeWords, range.touched, between(range)))
  private val inParts = op.free && !refused && partly
  private val lastPart = !inParts || part === (Executor.Parts - 1).U
  private val atLastWord = inParts && (part === 1.U || part === 3.U)
  private val firstHalf = WireDefault(range)
  firstHalf.last := range.firstWord ## Fill(p.wordSlotBits, true.B)
  private val lastHalf = WireDefault(range)
  lastHalf.start := range.lastWord ## 0.U(p.wordSlotBits.W)
  private val inner = Wire(new SlotRange)
  inner.start := (range.firstWord + 1.U)(p.wordBits - 1, 0) ## 0.U(p.wordSlotBits.W)
  inner.last := (range.lastWord - 1.U)(p.wordBits - 1, 0) ## Fill(p.wordSlotBits, true.B)
  private val firstUsed, partsUsed = Reg(Bool())
  when(part === 1.U)(firstUsed := io.search.allUsed)
  when(part === 2.U)(partsUsed := firstUsed && io.search.allUsed)
  private val allUsed = Mux(inParts, partsUsed, io.search.allUsed)
  io.search.pick := pick
  io.search.checked := Mux(inParts, Mux(atLastWord, lastHalf, firstHalf), range)
  io.search.checkedWords := wholeWords & Fill(p.words, !inOneWord)

  // The open cluster was the open one before: a cycle later it can be looked at as a whole.
  private val unready = io.search.stale && (op.alloc || !inOneWord)

  private val random = io.policy.hint === HintPolicyCode.RandomTrunk.U
  private val look = LookStage(op, slots, io.opened, number, device, listed, random)
  private val seen = RegNext(look)

  // Policy INDEXED: a cluster that was reached by a hint and has no run there was not searched, as it were.
  private val skips = p.indexed.B && io.policy.placement === PlacementPolicyCode.Indexed.U && !listed

  // Commit. Whether it can be carried out is known one cycle before.
  private val inCommit = state === State.commit
  private val stalled = !io.room.resp || (look.mayMove && !io.room.move)
  private val lookDone = Wire(Bool())
  private val committing = RegInit(false.B)
  private val commitNext = (lookDone || (inCommit && !committing)) && !stalled
  committing := commitNext

  private val alloc = op.alloc && !refused
  private val planned = WireDefault(0.U.asTypeOf(new CommitStage))
  when(commitNext) {
    planned.allocates := alloc && device.info.writeok && (listed || look.usable)
    planned.frees := op.free && !refused
    planned.answers := op.free || refused
    planned.searched := alloc && (listed || (look.usable && !skips))
    planned.searchedIfFound := alloc && look.usable && skips
    planned.falls := alloc && !slow
    planned.again := alloc && !slow && skips && look.usable && !op.hint.whole
    planned.leads := alloc
    planned.mayLead := !slow && !(op.alloc && random)
  }
  private val commit = RegNext(planned, 0.U.asTypeOf(new CommitStage))

  // The actions, by the search's result.
  private val allocates = commit.allocates && io.search.found
  private val frees = commit.frees && allUsed
  private val searched = commit.searched || (commit.searchedIfFound && io.search.found)
  private val changes = searched || frees
  private val answering = allocates || commit.answers
  private val lastSlot = io.search.foundSlot | seen.low

  // The cluster's new record and list.
  private val asPlanned = allocates || op.free
  private val result = Mux(asPlanned, seen.changed, seen.unchanged)
  io.newMeta.valid := changes
  io.newMeta.bits := result.meta
  io.newEmpty := Mux(op.alloc, seen.empty && !allocates, seen.emptied)
  io.rowChange.valid := allocates || frees
  io.rowChange.bits.used := op.alloc
  io.rowChange.bits.found := op.alloc
  io.rowChange.bits.range := Mux(inParts, inner, range)
  when(op.alloc) {
    io.rowChange.bits.range.start := io.search.foundSlot
    io.rowChange.bits.range.last := lastSlot
  }
  when(state === State.look && inParts && partsUsed) {
    when(part === 3.U) {
      io.rowChange.valid := true.B
      io.rowChange.bits.range := firstHalf
    }
    when(part === 4.U) {
      io.rowChange.valid := true.B
      io.rowChange.bits.range := lastHalf
    }
  }

  io.move.valid := changes && result.relist
  io.move.bits.device := seen.owner
  io.move.bits.cluster := io.opened.cluster
  io.move.bits.unlink := io.opened.meta.listed
  io.move.bits.fromHead := listed
  io.move.bits.from := seen.present
  io.move.bits.next := io.slow.next
  io.move.bits.alone := io.slow.alone
  io.move.bits.push := true.B
  io.move.bits.to := result.list

  // The hint.
  private val write = Wire(new WriteStage)
  write.searched := searched
  write.key := op.key
  when(seen.rotating) {
    write.key.ofDevice := true.B
    write.key.index := seen.owner
  }
  write.hint.valid := allocates && !seen.filled && !lastSlot.andR
  write.hint.device := seen.owner
  write.hint.cluster := io.opened.cluster
  write.hint.last := lastSlot
  write.hint.whole := false.B
  write.draws := random && searched && !seen.rotating
  private val writer = Module(new HintWriter)
  writer.io.commit := write
  writer.io.base := device.info.base
  writer.io.clusters := device.clusters
  writer.io.reseed := io.policy.reseed
  writer.io.seed := io.policy.seed
  io.forward.newHint := writer.io.newHint
  io.forward.nextKey := write.key
  io.forward.key := op.key

  io.change.op := Mux(allocates || frees, DeviceOp.adjust, DeviceOp.none)
  io.change.device := seen.owner
  io.change.clusters := DontCare
  io.change.used := DontCare
  io.change.usedDelta := seen.delta

  // The answer. Only an allocation that found nothing has none yet.
  io.resp.valid := answering || io.slow.failed
  io.resp.bits := 0.U.asTypeOf(io.resp.bits)
  io.resp.bits.status := Mux(
    state === State.slow,
    StatusCode.NoSpace.U,
    MuxCase(
      op.status,
      Seq(
        refused -> op.status,
        (op.free && !allUsed) -> StatusCode.BadRange.U
      )
    )
  )
  when(op.alloc && !refused && state =/= State.slow) {
    io.resp.bits.device := seen.owner
    io.resp.bits.offset := seen.inDevice ## io.search.foundSlot
  }

  // The slow path.
  private val hintless = !slow && alloc && !op.hint.valid
  private val hopeless = state === State.look && hintless && RegNext(io.room.resp, true.B)
  lookDone := state === State.look && !hintless && !unready && lastPart
  io.slow.start := hopeless || (commit.falls && !allocates)
  io.slow.order := op.order
  io.slow.searched := committing && slow
  io.slow.allocated := allocates
  io.slow.again := commit.again && !io.search.found
  io.slow.place := op.hint

  // The next request. Its cluster is opened whatever this one brings; it comes in only if this one is done. None comes
  // in the cycle after the commit, when this one's changes are written. With RANDOM_TRUNK the hint this one leaves is
  // not known yet at the commit, and the next request waits for it.
  private val free = state === State.idle && !io.search.changing
  private val leadsOn = commit.leads && io.next.op.bits.alloc && io.forward.alike
  private val opening = io.next.op.valid && (free || commit.mayLead)
  io.open.valid := opening && io.next.needsCluster && !leadsOn
  io.open.bits := io.next.cluster
  io.next.take := io.next.op.valid && (free || (answering && commit.mayLead))
  io.cpu := op.cpu
  when(io.next.take) {
    op := io.next.op.bits
    pick := Mux(io.next.op.bits.alloc, io.next.op.bits.hint.last >> p.wordSlotBits, io.next.op.bits.range.firstWord)
    later := laterThan(io.next.op.bits.hint)
    when(leadsOn) {
      op.hint := write.hint
      op.device := seen.owner
      pick := lastSlot >> p.wordSlotBits
      later := Mux(io.search.foundHere, later, io.search.beyond)
    }
  }
  when(state === State.unit)(pick := io.walkPick)
  when(io.slow.start) {
    slow := true.B
  }.elsewhen(io.next.take) {
    slow := false.B
  }
  io.next.exclusive := state === State.slow || state === State.unit || slow
  io.onSlowPath := slow
  io.turn.turn := state === State.unit
  io.turn.refused := answering && !op.alloc && !op.free

  switch(state) {
    is(State.idle) {
      when(io.next.take)(state := arrival)
    }
    is(State.look) {
      when(hopeless) {
        state := State.slow
      }.elsewhen(!hintless && !unready) {
        part := Mux(lastPart, 0.U, part + 1.U)
        when(inParts)(pick := Mux(part === 0.U || part === 2.U, range.lastWord, range.firstWord))
        when(lastPart)(state := State.commit)
      }
    }
    is(State.commit) {
      when(committing) {
        when(answering) {
          state := Mux(io.next.take, arrival, State.idle)
          slow := false.B
        }.otherwise {
          state := State.slow
        }
      }
    }
    is(State.slow) {
      when(io.slow.search) {
        val hint = WireDefault(op.hint)
        hint.last := io.slow.resumeBehind
        hint.whole := !io.slow.resuming || io.slow.resumeWhole
        op.hint := hint
        pick := io.slow.resumeBehind >> p.wordSlotBits
        later := laterThan(hint)
        state := State.look
      }.elsewhen(io.slow.failed) {
        state := State.idle
        slow := false.B
      }
    }
    is(State.unit) {
      when(io.turn.done) {
        state := State.idle
      }
    }
  }

  private def arrival: State.Type =
    Mux(
      io.next.op.bits.alloc || io.next.op.bits.free || io.next.op.bits.status =/= StatusCode.Ok.U,
      State.look,
      State.unit
    )

  // The index does not tell NONFULL from FRAG; all other clusters' lists are known.
  private val ofFrag = io.slow.indexed && seen.onFrag
  io.events := 0.U.asTypeOf(io.events)
  io.events.scan := searched
  io.events.listMove := io.move.valid
  io.events.freed := frees
  io.events.allocFast := allocates && !fromList
  io.events.allocNonfull := allocates && fromList && io.slow.position === AllocWalk.Nonfull.U && !ofFrag
  io.events.allocFree := allocates && fromList && AllocWalk.isFree(io.slow.position)
  io.events.allocFrag := allocates && fromList &&
    (io.slow.position === AllocWalk.Frag.U || (io.slow.position === AllocWalk.Nonfull.U && ofFrag))
  io.events.allocSteal := allocates && fromList && io.slow.position > AllocWalk.Frag.U
  io.events.allocFail := io.slow.failed

  assert(
    !(committing && slow && io.slow.indexed && !io.search.found),
    "the index names a cluster that has no free run"
  )
  assert(
    !(state === State.look && listed && look.present =/= io.slow.list),
    "a cluster's flag and order differ from the list it was found on"
  )
}

object Executor {

  /** Cycles in which a free is looked at whose slots are parts of several words. */
  val Parts: Int = 6
}
