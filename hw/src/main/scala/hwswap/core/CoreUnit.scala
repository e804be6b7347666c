// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A unit's access, in one cycle, to the state that all units share. Fields without their `valid`, `op` or the like
  * have no effect.
  */
class StateAccess(implicit p: Params) extends Bundle {

  // The open cluster: see OpenCluster and RowWalker. It is there three cycles after `open`. The range is that of the
  // walk.
  val open = Valid(UInt(p.clusterBits.W))
  val walk = RowWalk()
  val range = new SlotRange
  val newMeta = Valid(new ClusterMeta)

  // The lists: see ClusterLists.
  val move = Valid(new ListMove)
  val query = new ListQuery
  val forgetLists = Valid(UInt(p.deviceBits.W))

  // The devices: see SwapDevices. The hints: see CpuHints.
  val change = new DeviceUpdate
  val dropHints = Valid(UInt(p.deviceBits.W))

  /** Asks for nothing. */
  def idle(): Unit = {
    this := DontCare
    Seq(open, newMeta, move, query.look, forgetLists, dropHints).foreach(_.valid := false.B)
    query.peek := false.B
    walk := RowWalk.none
    change.op := DeviceOp.none
  }
}

/** A unit's view of the shared state. */
class StateView(implicit p: Params) extends Bundle {

  /** The device the request names, as it was one cycle ago; meaningless unless `claimed`. */
  val device = new SwapDevice

  /** The request names a device that exists and is claimed. */
  val claimed = Bool()

  // The open cluster. At the start it is the one the request names, if it names one.
  val opened = Bool()
  val cluster = UInt(p.clusterBits.W)
  val meta = new ClusterMeta
  val walked = Bool()
  val used = UInt(p.countBits.W)

  // The lists.
  val listRoom = Bool()
  val lists = new ListsView

  // The devices and the available list.
  val devices = Vec(p.devices, new SwapDevice)

  val available = new AvailableView
  val hintsReady = Bool()

  /** The index has forgotten the range. */
  val indexReady = Bool()
}

/** Ports of a unit.
  *
  * `start` is high for one cycle; `req` is steady from two cycles before until the unit is done. `done` is high for one
  * cycle, with the answer. Only the unit that was started last has its `access` looked at.
  */
class UnitIO(implicit p: Params) extends Bundle {
  val start = Input(Bool())
  val req = Input(new CoreReq)
  val view = Input(new StateView)
  val access = Output(new StateAccess)
  val done = Output(Bool())
  val resp = Output(new UnitResp)
  val events = Output(new CoreEvents)
}

/** A unit's answer. */
class UnitResp(implicit p: Params) extends Bundle {
  val status = UInt(MemMap.Completion.Info.Status.width.W)
  val device = UInt(p.deviceBits.W)
  val offset = UInt(32.W)
}

/** A part of the core that carries out one group of operations, alone while it does so. */
abstract class CoreUnit(implicit p: Params) extends Module {
  val io = IO(new UnitIO)
  protected val req: CoreReq = io.req
  protected val view: StateView = io.view
  protected val access: StateAccess = io.access

  access.idle()
  io.done := false.B
  io.resp := 0.U.asTypeOf(io.resp)
  io.events := 0.U.asTypeOf(io.events)

  /** Ends the request with this status. */
  protected def finish(status: Int): Unit = {
    io.done := true.B
    io.resp.status := status.U
  }

  /** The device the request names; meaningless unless `claimed`. */
  protected val device: SwapDevice = view.device
  protected val claimed: Bool = view.claimed

  protected def deviceIndex(device: UInt): UInt = device(p.deviceBits - 1, 0)

  /** The request's offset as a cluster of its device, and as a slot in that cluster. */
  protected val clusterInDevice: UInt = req.offset >> p.slotBits
  protected val slot: UInt = req.offset(p.slotBits - 1, 0)

  /** The request's offset and number of slots name slots of the device, in one cluster, without the header: known from
    * the start on.
    */
  protected val rangeValid: Bool = RegNext(
    req.nr =/= 0.U && req.offset =/= 0.U && slot +& req.nr <= p.slots.U &&
      req.offset +& req.nr <= device.info.pages
  )

  /** Those slots. */
  protected def requestRange(): Unit = {
    access.range.start := slot
    access.range.last := (slot + req.nr - 1.U)(p.slotBits - 1, 0)
  }

  /** All slots of a cluster. */
  protected def wholeRange(): Unit = {
    access.range.start := 0.U
    access.range.last := (p.slots - 1).U
  }

  /** Writes count, flag and order of the open cluster; moves it to the tail of its list when `relist` says so, which
    * goes on while the unit does something else.
    *
    * Only the cluster's new flag decides whether it is put on a list; its present one, whether it is taken off one.
    */
  protected def store(owner: UInt, count: UInt, flag: ClusterFlag.Type, order: UInt, relist: Bool): Unit = {
    access.newMeta.valid := true.B
    access.newMeta.bits.count := count
    access.newMeta.bits.flag := flag
    access.newMeta.bits.order := order
    access.newMeta.bits.taken := false.B
    access.move.valid := relist
    access.move.bits.device := owner
    access.move.bits.cluster := view.cluster
    access.move.bits.unlink := view.meta.listed
    access.move.bits.fromHead := false.B
    access.move.bits.from := ListId(view.meta.flag, view.meta.order)
    access.move.bits.push := flag =/= ClusterFlag.none
    access.move.bits.to := ListId(flag, order)
    io.events.listMove := relist
  }
}
