// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._
import hwswap.store.ClusterMemoryPort

/** The core: the swap allocator's state and rules. docs/engine.md has the picture.
  *
  * Requests go through a pipeline in order: the intake looks device, hint and cluster up, the executor carries out
  * allocations and frees, at two cycles each, with the slow path's help where a hint is of no use. All other requests
  * are carried out by units, alone. Each accepted request gets exactly one response, unless `clear` comes in between:
  * that puts everything back to its state after reset.
  */
class Core(p: Params) extends Module {
  val io = IO(new CoreIO(p))

  /** The clusters' memory, if it is not on chip. */
  val memory = Option.when(p.dram.nonEmpty)(IO(Flipped(new ClusterMemoryPort(p))))

  withReset(reset.asBool || io.clear) {
    body()
  }

  private def body(): Unit = {
    val intake = Module(new Intake(p))
    val executor = Module(new Executor(p))
    val slowPath = Module(new SlowPath(p))
    val cluster = Module(new OpenCluster(p))
    val hinted = Module(new HintedSlots(p))
    val walker = Module(new RowWalker(p))
    val lists = Module(new ClusterLists(p))
    val devices = Module(new SwapDevices(p))
    val available = Module(new AvailableList(p))
    val hints = Module(new CpuHints(p))
    val answers = Module(new AnswerQueue(p))

    // The pipeline.
    intake.io.req <> io.req
    intake.io.advisory := io.advisory
    intake.io.policy := io.policy
    intake.io.devices := devices.io.devices
    intake.io.exclusive := executor.io.exclusive
    intake.io.take := executor.io.take
    executor.io.op := intake.io.op
    executor.io.cluster := intake.io.cluster
    executor.io.needsCluster := intake.io.needsCluster
    executor.io.devices := devices.io.devices

    // All changes of devices and of the available list show when there was none for so many cycles.
    val access = Wire(new StateAccess(p))
    val requeueing = slowPath.io.requeue.valid || access.requeue.valid
    val changing = RegNext(devices.io.change.op =/= DeviceOp.none || requeueing, false.B)
    val unsettled = RegInit(0.U(log2Ceil(Core.SettleCycles + 1).W))
    when(changing) {
      unsettled := (Core.SettleCycles - 1).U
    }.elsewhen(unsettled =/= 0.U) {
      unsettled := unsettled - 1.U
    }
    val settled = unsettled === 0.U && !changing

    // The units. Each has the shared state for itself while it is at work; which one follows from the request alone.
    val units: Seq[(CoreUnit, Seq[CoreOp.Type])] =
      Option.when(p.advisory)(Module(new MirrorUnit(p)) -> Seq(CoreOp.apply_, CoreOp.release, CoreOp.dump)).toSeq ++
        Seq(
          Module(new SwaponUnit(p)) -> Seq(CoreOp.swaponPrepare, CoreOp.markBad, CoreOp.swapon),
          Module(new SwapoffUnit(p)) -> Seq(CoreOp.swapoffBegin, CoreOp.swapoff),
          Module(new DiscardUnit(p)) -> Seq(CoreOp.discardTake, CoreOp.discardDone)
        ) ++
        Option.when(p.check)(Module(new CheckUnit(p)) -> Seq(CoreOp.check)) ++
        Option.when(p.steps)(Module(new StepUnit(p)) -> CoreOp.steps)
    object Turn extends ChiselEnum {
      val waiting, running, answered = Value
    }
    val turn = RegInit(Turn.waiting)
    val req = intake.io.unitReq
    val view = Wire(new StateView(p))
    val unitTurn = executor.io.unitTurn
    val start = RegInit(false.B)
    val indexIdle = WireDefault(true.B)
    start := unitTurn && turn === Turn.waiting && !start && lists.io.idle && settled && !hinted.io.busy && indexIdle &&
      answers.io.empty && !io.pool.full
    val running = start || turn === Turn.running
    val mine = units.map { case (_, ops) => RegNext(req.op.isOneOf(ops)) }
    for (((unit, _), itsTurn) <- units.zip(mine)) {
      unit.io.start := start && itsTurn
      unit.io.req := req
      unit.io.view := view
    }
    def ofUnit[T <: Data](port: UnitIO => T): T =
      suppressEnumCastWarning(Mux1H(mine, units.map { case (unit, _) => port(unit.io) }))
    access := ofUnit(_.access)
    // Its answer goes through two registers, one a unit, and what it changes through one: a unit decides late.
    val dones = units.map { case (unit, _) => RegNext(unit.io.done, false.B) }
    val resps = units.map { case (unit, _) => RegNext(unit.io.resp) }
    val done = RegNext(running && Mux1H(mine, dones), false.B)
    val unitResp = RegNext(Mux1H(mine, resps))
    def lateOfUnit[T <: Data](port: StateAccess => T): T = suppressEnumCastWarning(
      Mux1H(mine, units.map { case (unit, _) => RegNext(port(unit.io.access), 0.U.asTypeOf(port(unit.io.access))) })
    )
    val unitMeta = lateOfUnit(_.newMeta)
    val unitMove = lateOfUnit(_.move)
    when(!running) {
      access.idle()
    }
    val answeredNow = turn === Turn.answered && io.resp.fire
    when(done) {
      turn := Turn.answered
    }.elsewhen(start) {
      turn := Turn.running
    }.elsewhen(answeredNow) {
      turn := Turn.waiting
    }
    executor.io.unitDone := answeredNow
    intake.io.unitDone := answeredNow || executor.io.unitRefused
    io.events := Mux(unitTurn, ofUnit(_.events), executor.io.events)

    // Clusters that come into use or get empty. Of the units, one alone empties clusters that had a table.
    val discarded = unitMeta.valid && req.op === CoreOp.discardDone
    io.pool.event.valid := executor.io.pool.event.valid || discarded
    io.pool.event.bits.cluster := cluster.io.cluster
    io.pool.event.bits.empties := discarded || executor.io.pool.event.bits.empties
    executor.io.pool.none := io.pool.none
    executor.io.pool.full := io.pool.full

    // The responses. The unit's comes last: before it is at work, all others have been given. A dumped cluster stays
    // open until its response is taken.
    answers.io.enq.valid := executor.io.resp.valid || done
    answers.io.enq.bits := Mux(unitTurn, unitResp, executor.io.resp.bits)
    executor.io.respRoom := answers.io.room
    answers.io.deq.ready := io.resp.ready
    val answer = answers.io.deq.bits
    val kernel = Mux(answer.record, cluster.io.kernel, 0.U.asTypeOf(new KernelMeta))
    io.resp.valid := answers.io.deq.valid
    io.resp.bits.status := answer.status
    io.resp.bits.device := answer.device
    io.resp.bits.offset := answer.offset
    io.resp.bits.more := answer.more
    io.resp.bits.epoch := answer.epoch
    io.resp.bits.taken := answer.taken
    io.resp.bits.waits := 0.U
    io.resp.bits.record.count := answer.count
    io.resp.bits.record.order := kernel.order
    io.resp.bits.record.flag := kernel.flag
    io.resp.bits.record.seq := kernel.seq
    io.resp.bits.record.epoch := answer.epoch

    // The open cluster. A unit's request is noted in one cycle, read in the next and opened in the one after that.
    val unitWish = RegNext(access.open, 0.U.asTypeOf(access.open))
    val unitOpen = RegNext(unitWish, 0.U.asTypeOf(access.open))
    val blankWish = RegNext(access.blank)
    cluster.io.read.valid := intake.io.read.valid || slowPath.io.read.valid || unitWish.valid
    for (outside <- memory) {
      cluster.memory.get <> outside.store
      lists.memory.get <> outside.links
      // A line that nobody needs is not worth waiting for.
      cluster.io.read.valid := (intake.io.read.valid && intake.io.wanted) || slowPath.io.read.valid ||
        (unitWish.valid && !blankWish)
      outside.recordOnly := unitWish.valid && RegNext(access.recordOnly)
      outside.blank.valid := unitWish.valid && blankWish
      outside.blank.bits := unitWish.bits
    }
    // What the intake reads comes last, and it is far from here to the store.
    cluster.io.read.bits := Mux(
      unitWish.valid || executor.io.exclusive,
      Mux(unitWish.valid, unitWish.bits, slowPath.io.read.bits),
      intake.io.read.bits
    )
    cluster.io.open.valid := executor.io.open.valid || slowPath.io.open.valid || unitOpen.valid
    cluster.io.open.bits := Mux(
      unitOpen.valid,
      unitOpen.bits,
      Mux(slowPath.io.open.valid, slowPath.io.open.bits, executor.io.open.bits)
    )
    cluster.io.blank := ShiftRegister(access.blank, 2)
    cluster.io.recordOnly := ShiftRegister(access.recordOnly, 2)
    cluster.io.newMeta.valid := unitMeta.valid || executor.io.newMeta.valid
    cluster.io.newMeta.bits := Mux(unitTurn, unitMeta.bits, executor.io.newMeta.bits)
    cluster.io.newEmpty := Mux(unitTurn, unitMeta.bits.count === 0.U, executor.io.newEmpty)
    cluster.io.newKernel := access.newKernel
    cluster.io.change := executor.io.rowChange
    cluster.io.look := executor.io.look
    cluster.io.pick := executor.io.pick
    executor.io.walkPick := walker.io.pick
    // For a unit it does not matter.
    cluster.io.nextOrder := Mux(executor.io.onSlowPath, executor.io.order, intake.io.op.bits.order)
    cluster.io.order := executor.io.order
    cluster.io.behind := executor.io.behind
    cluster.io.anywhere := executor.io.anywhere
    cluster.io.later := executor.io.later
    cluster.io.checked := executor.io.checked
    cluster.io.checkedWords := executor.io.checkedWords
    executor.io.opened := cluster.io.cluster
    executor.io.meta := cluster.io.meta
    executor.io.empty := cluster.io.empty
    executor.io.found := cluster.io.found
    executor.io.foundSlot := cluster.io.foundSlot
    executor.io.foundHere := cluster.io.foundHere
    executor.io.beyond := cluster.io.beyond
    executor.io.allUsed := cluster.io.allUsed
    executor.io.stale := cluster.io.stale
    executor.io.changing := cluster.io.changing
    view.opened := RegNext(unitOpen.valid, false.B)
    view.cluster := cluster.io.cluster
    view.meta := cluster.io.meta
    view.kernel := cluster.io.kernel

    // Hinted slots, and walks over them and the row.
    hinted.io.mark := executor.io.hints
    hinted.io.cluster := cluster.io.cluster
    executor.io.hintsRoom := hinted.io.nextRoom
    hinted.io.lookUp := walker.io.lookUpHinted
    hinted.io.read := walker.io.readHinted
    hinted.io.write := walker.io.writeHinted
    hinted.io.newWord := walker.io.newHinted
    walker.io.walk := access.walk
    walker.io.range := access.range
    walker.io.used := cluster.io.word
    walker.io.hinted := hinted.io.word
    cluster.io.put := walker.io.put
    cluster.io.newWord := walker.io.newUsed
    io.applied <> walker.io.record
    io.dumped <> walker.io.kernel
    view.walked := walker.io.walked
    view.used := walker.io.usedCount
    view.hinted := walker.io.hintedCount
    view.hintedLeft := walker.io.hintedLeft
    view.stray := walker.io.stray

    // The lists.
    lists.io.move.valid := unitMove.valid || executor.io.move.valid
    lists.io.move.bits := Mux(unitTurn, unitMove.bits, executor.io.move.bits)
    executor.io.moveRoom := lists.io.nextRoom
    lists.io.peek := access.peek || slowPath.io.peek
    lists.io.peekDevice := Mux(unitTurn, access.peekDevice, slowPath.io.device)
    lists.io.peekList := Mux(unitTurn, access.peekList, slowPath.io.peekList)
    lists.io.look := Mux(unitTurn, access.look, slowPath.io.look)
    lists.io.forget := RegNext(access.forgetLists, 0.U.asTypeOf(access.forgetLists))
    view.listRoom := lists.io.room && !unitMove.valid
    view.listsIdle := lists.io.idle && !unitMove.valid
    view.ends := lists.io.ends
    view.next := lists.io.next
    view.prev := lists.io.prev
    view.nonEmpty := lists.io.nonEmpty

    // The slow path.
    slowPath.io.start := executor.io.slowStart
    slowPath.io.order := executor.io.slowOrder
    slowPath.io.hinting := executor.io.slowHinting
    slowPath.io.settled := settled
    slowPath.io.reclaims := executor.io.slowReclaims
    slowPath.io.parks := executor.io.parks
    slowPath.io.dismissed := executor.io.dismissed
    slowPath.io.moved.valid := executor.io.move.valid
    slowPath.io.moved.bits := executor.io.move.bits.cluster
    executor.io.mute := slowPath.io.mute
    executor.io.halfUsed := devices.io.halfUsed
    executor.io.settled := settled
    slowPath.io.policy := io.policy
    slowPath.io.node := RegNext(At(io.nodes, executor.io.cpu))
    executor.io.policy := io.policy
    slowPath.io.hint := hints.io.hint
    executor.io.resuming := slowPath.io.resuming
    executor.io.resumeBehind := slowPath.io.resumeBehind
    executor.io.resumeWhole := slowPath.io.resumeWhole
    slowPath.io.devices := devices.io.devices
    slowPath.io.first := available.io.first
    slowPath.io.successor := available.io.successor
    slowPath.io.members := available.io.members
    slowPath.io.places := available.io.places
    slowPath.io.listsIdle := lists.io.idle
    slowPath.io.nonEmpty := lists.io.nonEmpty
    slowPath.io.ends := lists.io.ends
    slowPath.io.newHead := lists.io.newHead
    slowPath.io.behind := lists.io.next
    slowPath.io.searched := executor.io.searched
    slowPath.io.gave := executor.io.gave
    executor.io.search := slowPath.io.search
    executor.io.slowFailed := slowPath.io.failed
    executor.io.slowDevice := slowPath.io.device
    executor.io.list := slowPath.io.list
    executor.io.next := slowPath.io.next
    executor.io.alone := slowPath.io.alone
    executor.io.position := slowPath.io.position

    // The index is kept up to date whatever the policy is, so the policy can be switched at any time.
    slowPath.io.again := executor.io.again
    slowPath.io.place := executor.io.place
    executor.io.indexed := slowPath.io.indexed
    slowPath.io.indexReady := true.B
    slowPath.io.indexIdle := true.B
    slowPath.io.ofOrder := 0.U.asTypeOf(slowPath.io.ofOrder)
    slowPath.io.ofAny := 0.U.asTypeOf(slowPath.io.ofAny)
    view.indexReady := true.B
    if (p.indexed) {
      val feed = Module(new IndexFeed(p))
      val index = Module(new ClusterIndex(p))
      feed.io.cluster := cluster.io.cluster
      feed.io.meta := cluster.io.meta
      feed.io.newMeta := cluster.io.newMeta
      feed.io.orders := cluster.io.orders
      feed.io.written := cluster.io.written
      index.io.update := feed.io.update
      index.io.query := slowPath.io.query
      index.io.forget.valid := access.forgetLists.valid && req.op === CoreOp.swapoff
      index.io.forget.bits.first := intake.io.unitDevice.info.base
      index.io.forget.bits.last :=
        (intake.io.unitDevice.info.base + intake.io.unitDevice.clusters - 1.U)(p.clusterBits - 1, 0)
      indexIdle := index.io.idle && !feed.io.busy
      slowPath.io.indexReady := index.io.ready
      slowPath.io.indexIdle := indexIdle
      slowPath.io.ofOrder := index.io.ofOrder
      slowPath.io.ofAny := index.io.ofAny
      view.indexReady := RegNext(index.io.ready, true.B) // a device is forgotten for longer than that
    }

    // The devices, and the available list that follows them.
    devices.io.change := Mux(unitTurn, RegNext(access.change), executor.io.change)
    devices.io.req := req
    available.io.add := devices.io.enter
    available.io.remove := devices.io.leave
    available.io.requeue := RegNext(requeueing, false.B)
    available.io.device := RegNext(
      Mux(
        access.requeue.valid,
        access.requeue.bits,
        Mux(requeueing, slowPath.io.requeue.bits, devices.io.changing)
      )
    )
    available.io.priority := devices.io.priority
    available.io.eligible := Mux(running, Fill(p.devices, true.B), slowPath.io.eligible)
    available.io.cursor := Mux(running, req.device(p.deviceBits - 1, 0), slowPath.io.device)
    view.devices := devices.io.devices
    view.device := intake.io.unitDevice
    view.claimed := intake.io.unitClaimed
    view.members := available.io.members
    view.first := available.io.first
    view.successor := available.io.successor
    io.devices := VecInit(devices.io.devices.map(_.info.shown))
    io.freeSlots := devices.io.freeSlots
    io.hintedSlots := devices.io.hintedSlots

    // The CPUs' hints.
    intake.io.hintsReady := hints.io.ready && !slowPath.io.mayReadHint
    intake.io.hint := hints.io.hint
    intake.io.newHint := executor.io.newHint
    intake.io.nextKey := executor.io.nextKey
    intake.io.present := executor.io.key
    executor.io.alike := intake.io.alike
    hints.io.read.valid := intake.io.readHint.valid || slowPath.io.readHint.valid
    hints.io.read.bits := Mux(slowPath.io.mayReadHint, slowPath.io.readHint.bits, intake.io.readHint.bits)
    hints.io.write := Mux(access.newHint.valid, access.newHint, executor.io.newHint)
    hints.io.drop := access.dropHints
    view.hintsReady := hints.io.ready
    view.advisory := io.advisory

    val fault = RegInit(false.B)
    val faults = Seq(cluster.io.fault, lists.io.fault, devices.io.fault, hinted.io.fault)
    when(faults.map(RegNext(_, false.B)).reduce(_ || _)) {
      fault := true.B
    }
    io.fault := fault
    assert(
      !settled || available.io.members === VecInit(devices.io.devices.map(_.info.available)).asUInt,
      "the available list and the device table disagree"
    )
  }
}

object Core {

  /** Cycles from the cycle after a change of a device to the one in which the available list has followed it. */
  val SettleCycles: Int = 5
}
