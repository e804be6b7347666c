// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** The core: the swap allocator's state and rules. docs/engine.md has the picture.
  *
  * Requests go through a pipeline in order: the intake looks device, hint and cluster up, the executor carries out
  * allocations and frees, at two cycles each, with the slow path's help where a hint is of no use. All other requests
  * are carried out by units, alone. Each accepted request gets exactly one response, unless `clear` comes in between:
  * that puts everything back to its state after reset.
  */
class Core(implicit p: Params) extends Module {
  val io = IO(new CoreIO)

  withReset(reset.asBool || io.clear) {
    body()
  }

  private def body(): Unit = {
    val intake = Module(new Intake)
    val executor = Module(new Executor)
    val slowPath = Module(new SlowPath)
    val cluster = Module(new OpenCluster)
    val walker = Module(new RowWalker)
    val lists = Module(new ClusterLists)
    val devices = Module(new SwapDevices)
    val available = Module(new AvailableList)
    val hints = Module(new CpuHints)
    val answers = Module(new AnswerQueue)

    // The pipeline, and the slow path beside it.
    intake.io.req <> io.req
    executor.io.next <> intake.io.next
    intake.io.forward <> executor.io.forward
    slowPath.io.work <> executor.io.slow
    for (policy <- Seq(intake.io.policy, executor.io.policy, slowPath.io.policy)) policy := io.policy
    for (table <- Seq(intake.io.devices, executor.io.devices, slowPath.io.devices)) table := devices.io.devices
    slowPath.io.node := RegNext(At(io.nodes, executor.io.cpu))

    // All changes of devices and of the available list show when there was none for so many cycles.
    val access = Wire(new StateAccess)
    val changing = RegNext(devices.io.change.op =/= DeviceOp.none || slowPath.io.requeue.valid, false.B)
    val unsettled = RegInit(0.U(log2Ceil(Core.SettleCycles + 1).W))
    when(changing) {
      unsettled := (Core.SettleCycles - 1).U
    }.elsewhen(unsettled =/= 0.U) {
      unsettled := unsettled - 1.U
    }
    val settled = unsettled === 0.U && !changing
    slowPath.io.settled := settled

    // The units. Each has the shared state for itself while it is at work; which one follows from the request alone.
    val units: Seq[(CoreUnit, Seq[CoreOp.Type])] =
      Seq(
        Module(new SwaponUnit) -> Seq(CoreOp.swaponPrepare, CoreOp.markBad, CoreOp.swapon),
        Module(new SwapoffUnit) -> Seq(CoreOp.swapoffBegin, CoreOp.swapoff),
        Module(new DiscardUnit) -> Seq(CoreOp.discardTake, CoreOp.discardDone),
        Module(new CheckUnit) -> Seq(CoreOp.check),
        Module(new DumpUnit) -> Seq(CoreOp.dump)
      )
    object Turn extends ChiselEnum {
      val waiting, running, answered = Value
    }
    val turn = RegInit(Turn.waiting)
    val req = intake.io.unit.req
    val view = Wire(new StateView)
    val unitTurn = executor.io.turn.turn
    val start = RegInit(false.B)
    val indexIdle = WireDefault(true.B)
    start := unitTurn && turn === Turn.waiting && !start && lists.io.view.idle && settled && indexIdle &&
      answers.io.empty
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
    // Its answer goes through two registers, one per unit, and its changes through one: a unit decides late.
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
    executor.io.turn.done := answeredNow
    intake.io.unit.done := answeredNow || executor.io.turn.refused
    io.events := Mux(unitTurn, ofUnit(_.events), executor.io.events)

    // The responses. The unit's comes last: before it is at work, all others have been given. A dumped cluster stays
    // open until its response is taken.
    answers.io.enq.valid := executor.io.resp.valid || done
    answers.io.enq.bits := Mux(unitTurn, unitResp, executor.io.resp.bits)
    executor.io.room.resp := answers.io.room
    answers.io.deq.ready := io.resp.ready
    val answer = answers.io.deq.bits
    io.resp.valid := answers.io.deq.valid
    io.resp.bits.status := answer.status
    io.resp.bits.device := answer.device
    io.resp.bits.offset := answer.offset

    // The open cluster.
    view.opened := ClusterTurns.join(cluster, intake, executor, slowPath)(unitTurn, access.open, unitMeta)
    cluster.io.change := executor.io.rowChange
    executor.io.search <> cluster.io.search
    executor.io.opened := cluster.io.opened
    executor.io.walkPick := walker.io.pick
    view.cluster := cluster.io.opened.cluster
    view.meta := cluster.io.opened.meta

    // Walks over its row.
    walker.io.walk := access.walk
    walker.io.range := access.range
    walker.io.used := cluster.io.word
    cluster.io.put := walker.io.put
    cluster.io.newWord := walker.io.newUsed
    io.dumped.bitmap <> walker.io.counted
    io.dumped.meta := cluster.io.opened.meta
    io.dumped.next := lists.io.view.next
    io.dumped.prev := lists.io.view.prev
    view.walked := walker.io.walked
    view.used := walker.io.usedCount

    // The lists.
    lists.io.move.valid := unitMove.valid || executor.io.move.valid
    lists.io.move.bits := Mux(unitTurn, unitMove.bits, executor.io.move.bits)
    executor.io.room.move := lists.io.nextRoom
    lists.io.query := Mux(unitTurn, access.query, slowPath.io.query)
    lists.io.query.peek := access.query.peek || slowPath.io.query.peek
    slowPath.io.lists := lists.io.view
    lists.io.forget := RegNext(access.forgetLists, 0.U.asTypeOf(access.forgetLists))
    view.listRoom := lists.io.room && !unitMove.valid
    view.lists := lists.io.view
    view.lists.idle := lists.io.view.idle && !unitMove.valid

    // The index is kept up to date whatever the policy is, so the policy can be switched at any time.
    slowPath.io.indexIdle := true.B
    slowPath.io.index.ready := true.B
    slowPath.io.index.ofOrder := 0.U.asTypeOf(slowPath.io.index.ofOrder)
    slowPath.io.index.ofAny := 0.U.asTypeOf(slowPath.io.index.ofAny)
    view.indexReady := true.B
    if (p.indexed) {
      val feed = Module(new IndexFeed)
      val index = Module(new ClusterIndex)
      feed.io.cluster := cluster.io.opened.cluster
      feed.io.meta := cluster.io.opened.meta
      feed.io.newMeta := cluster.io.newMeta
      feed.io.orders := cluster.io.orders
      feed.io.written := cluster.io.written
      index.io.update := feed.io.update
      slowPath.io.index <> index.io.search
      index.io.forget.valid := access.forgetLists.valid && req.op === CoreOp.swapoff
      val gone = intake.io.unit.device
      index.io.forget.bits.first := gone.info.base
      index.io.forget.bits.last := (gone.info.base + gone.clusters - 1.U)(p.clusterBits - 1, 0)
      indexIdle := index.io.idle && !feed.io.busy
      slowPath.io.indexIdle := indexIdle
      view.indexReady := RegNext(index.io.search.ready, true.B) // a device is forgotten for longer than that
    }

    // The devices, and the available list that follows them.
    devices.io.change := Mux(unitTurn, RegNext(access.change), executor.io.change)
    devices.io.req := req
    available.io.add := devices.io.enter
    available.io.remove := devices.io.leave
    available.io.requeue := RegNext(slowPath.io.requeue.valid, false.B)
    available.io.device := RegNext(
      Mux(slowPath.io.requeue.valid, slowPath.io.requeue.bits, devices.io.changing)
    )
    available.io.priority := devices.io.priority
    available.io.cursor := slowPath.io.work.device
    slowPath.io.available := available.io.view
    view.devices := devices.io.devices
    view.device := intake.io.unit.device
    view.claimed := intake.io.unit.claimed
    view.available := available.io.view
    io.devices := VecInit(devices.io.devices.map(_.info.shown))
    io.freeSlots := devices.io.freeSlots

    // The CPUs' hints.
    intake.io.hintsReady := hints.io.ready && !slowPath.io.mayReadHint
    intake.io.hint := hints.io.hint
    slowPath.io.hint := hints.io.hint
    hints.io.read.valid := intake.io.readHint.valid || slowPath.io.readHint.valid
    hints.io.read.bits := Mux(slowPath.io.mayReadHint, slowPath.io.readHint.bits, intake.io.readHint.bits)
    hints.io.write := executor.io.forward.newHint
    hints.io.drop := access.dropHints
    view.hintsReady := hints.io.ready

    val fault = RegInit(false.B)
    val faults = Seq(cluster.io.fault, lists.io.fault, devices.io.fault)
    when(faults.map(RegNext(_, false.B)).reduce(_ || _)) {
      fault := true.B
    }
    io.fault := fault
    assert(
      !settled || available.io.view.members === VecInit(devices.io.devices.map(_.info.available)).asUInt,
      "the available list and the device table disagree"
    )
  }
}

object Core {

  /** Cycles from the cycle after a change of a device to the one in which the available list has followed it: while
    * `settled`, the list and the device table agree, which is asserted.
    */
  val SettleCycles: Int = 5
}
