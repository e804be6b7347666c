// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** The core: the swap allocator's state and rules, one request after the other.
  *
  * It takes a request, checks that the mode allows it, starts the unit that carries it out, and gives the unit the
  * shared state (store, lists, devices, available list, CPU hints) until it is done. Each accepted request gets exactly
  * one response, unless `clear` comes in between: that puts everything back to its state after reset.
  *
  * From accepting a request to its response: a unit's own cycles and two more, of which the first looks up the device
  * the request names and the CPU's hint.
  */
class Core(p: Params) extends Module {
  val io = IO(new CoreIO(p))

  withReset(reset.asBool || io.clear) {
    body()
  }

  private def body(): Unit = {
    val cluster = Module(new OpenCluster(p))
    val lists = Module(new ClusterLists(p))
    val devices = Module(new SwapDevices(p))
    val available = Module(new AvailableList(p))
    val hints = Module(new CpuHints(p))

    // Request, look the device up, start, run, respond.
    object State extends ChiselEnum {
      val idle, prepare, start, run, respond = Value
    }
    val state = RegInit(State.idle)
    val req = RegEnable(io.req.bits, io.req.fire)
    val resp = Reg(new UnitResp(p))
    val allowed = Mux(
      req.op.isOneOf(CoreOp.alloc, CoreOp.free),
      !io.advisory,
      io.advisory || !req.op.isOneOf(CoreOp.hintAlloc, CoreOp.apply_, CoreOp.release, CoreOp.dump)
    )

    val units: Seq[(CoreUnit, Seq[CoreOp.Type])] = Seq(
      Module(new AllocUnit(p)) -> Seq(CoreOp.alloc, CoreOp.hintAlloc),
      Module(new FreeUnit(p)) -> Seq(CoreOp.free),
      Module(new MirrorUnit(p)) -> Seq(CoreOp.apply_, CoreOp.release, CoreOp.dump),
      Module(new SwaponUnit(p)) -> Seq(CoreOp.swaponPrepare, CoreOp.markBad, CoreOp.swapon),
      Module(new SwapoffUnit(p)) -> Seq(CoreOp.swapoffBegin, CoreOp.swapoff),
      Module(new CheckUnit(p)) -> Seq(CoreOp.check)
    )

    // The unit at work has the shared state for itself. Which one that is follows from the request alone.
    val access = Wire(new StateAccess(p))
    val view = Wire(new StateView(p))
    val running = state.isOneOf(State.start, State.run)
    val mine = units.map { case (_, ops) => RegNext(req.op.isOneOf(ops)) }
    val start = RegNext(state === State.prepare && allowed, false.B)
    for (((unit, _), itsTurn) <- units.zip(mine)) {
      unit.io.start := start && itsTurn
      unit.io.req := req
      unit.io.view := view
    }
    def ofUnit[T <: Data](port: UnitIO => T): T =
      suppressEnumCastWarning(Mux1H(mine, units.map { case (unit, _) => port(unit.io) }))
    access := ofUnit(_.access)
    val done = running && ofUnit(_.done)
    val answer = ofUnit(_.resp)
    io.events := ofUnit(_.events)
    when(!running) {
      access.idle()
      io.events := 0.U.asTypeOf(io.events)
    }

    io.req.ready := state === State.idle && hints.io.ready
    switch(state) {
      is(State.idle) {
        when(io.req.fire) {
          state := State.prepare
        }
      }
      is(State.prepare) {
        resp := 0.U.asTypeOf(resp)
        resp.status := StatusCode.BadOpcode.U
        state := Mux(allowed, State.start, State.respond)
      }
      is(State.start, State.run) {
        resp := answer
        state := Mux(done, State.respond, State.run)
      }
      is(State.respond) {
        when(io.resp.ready) {
          state := State.idle
        }
      }
    }

    // The response. A dumped cluster stays the cluster at hand until the response is taken; the bitmap is what was read
    // of its rows.
    io.resp.valid := state === State.respond
    io.resp.bits.status := resp.status
    io.resp.bits.device := resp.device
    io.resp.bits.offset := resp.offset
    io.resp.bits.epoch := resp.epoch
    io.resp.bits.taken := resp.taken
    val kernel = Mux(resp.record, cluster.io.kernel, 0.U.asTypeOf(new KernelMeta))
    io.resp.bits.record.bitmap := cluster.io.bitmap
    io.resp.bits.record.count := resp.count
    io.resp.bits.record.order := kernel.order
    io.resp.bits.record.flag := kernel.flag
    io.resp.bits.record.seq := kernel.seq
    io.resp.bits.record.epoch := resp.epoch

    // The cluster at hand.
    cluster.io.open := access.open
    cluster.io.rowOp := access.rowOp
    cluster.io.range := access.range
    cluster.io.findOrder := access.findOrder
    cluster.io.cancel := access.cancel
    cluster.io.blank := state === State.prepare
    cluster.io.loaded := req.record.bitmap
    cluster.io.newMeta := access.newMeta
    cluster.io.newKernel := access.newKernel
    view.opened := cluster.io.opened
    view.cluster := cluster.io.cluster
    view.meta := cluster.io.meta
    view.kernel := cluster.io.kernel
    view.rowsDone := cluster.io.done
    view.rowsBusy := cluster.io.busy
    view.found := cluster.io.found
    view.foundSlot := cluster.io.foundSlot
    view.allInUse := cluster.io.allInUse
    view.allFree := cluster.io.allFree
    view.overlap := cluster.io.overlap
    view.counted := cluster.io.counted
    view.used := cluster.io.used
    view.hinted := cluster.io.hinted
    view.hintedElsewhere := cluster.io.hintedElsewhere

    // The lists.
    lists.io.move := access.move
    lists.io.peek := access.peek
    lists.io.peekDevice := access.peekDevice
    lists.io.peekList := access.peekList
    lists.io.look := access.look
    lists.io.forget := access.forgetLists
    view.moved := lists.io.done
    view.ends := lists.io.ends
    view.next := lists.io.next
    view.prev := lists.io.prev
    view.nonEmpty := lists.io.nonEmpty

    // The devices, and the available list that follows them.
    devices.io.change := access.change
    devices.io.req := req
    available.io.add := devices.io.enter
    available.io.remove := devices.io.leave
    available.io.requeue := RegNext(access.requeue.valid, false.B)
    available.io.device := RegNext(Mux(access.requeue.valid, access.requeue.bits, devices.io.changing))
    available.io.priority := devices.io.priority
    available.io.eligible := access.eligible
    available.io.cursor := access.cursor
    view.devices := devices.io.devices
    view.device := RegNext(At(devices.io.devices, req.device(p.deviceBits - 1, 0)))
    view.claimed := RegNext(req.device < p.devices.U) && view.device.info.claimed
    view.first := available.io.first
    view.successor := available.io.successor
    view.members := available.io.members
    io.devices := VecInit(devices.io.devices.map(_.info.shown))
    io.freeSlots := devices.io.freeSlots
    io.hintedSlots := devices.io.hintedSlots

    // The CPU's hint is read while the request is accepted, and steady from the start on.
    hints.io.read := io.req.fire
    hints.io.readCpu := io.req.bits.cpu(p.cpuBits - 1, 0)
    hints.io.readOrder := io.req.bits.order
    hints.io.write := access.newHint
    hints.io.writeCpu := req.cpu(p.cpuBits - 1, 0)
    hints.io.writeOrder := req.order
    hints.io.drop := access.dropHints
    view.hint := RegEnable(hints.io.hint, state === State.prepare)
    view.hintsReady := hints.io.ready
    view.advisory := io.advisory

    val fault = RegInit(false.B)
    when(cluster.io.fault || lists.io.fault || devices.io.fault) {
      fault := true.B
    }
    io.fault := fault
    assert(
      available.io.members === ShiftRegister(VecInit(devices.io.devices.map(_.info.available)).asUInt, 2, 0.U, true.B),
      "the available list and the device table disagree"
    )
  }
}
