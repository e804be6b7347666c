// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** A device as the core sees it: what the registers show, and what only the core needs. */
class SwapDevice(p: Params) extends Bundle {
  val info = new DeviceInfo

  /** Clusters of the device, the last one perhaps in part: its pages divided by 512, rounded up. */
  val clusters = UInt(p.clusterCountBits.W)

  /** Its clusters have been listed: SWAPON was done. */
  val listed = Bool()

  /** Slots in outstanding hints. */
  val hinted = UInt(p.usedBits.W)

  /** Slots, in use or not: whole clusters. */
  def slots(p: Params): UInt = clusters ## 0.U(p.slotBits.W)

  /** Its flag number `field` is set. */
  def has(field: MapField): Bool = info.flags(field.lsb)

  /** It may be asked for hints. */
  def hintable: Bool = has(MemMap.DeviceFlags.Flags.Solidstate) && !has(MemMap.DeviceFlags.Flags.NoHints)

  /** This engine cluster is one of its own. */
  def owns(cluster: UInt): Bool = info.claimed && cluster >= info.base && cluster < info.base + clusters
}

/** What happens to a device: it is prepared, gets write permission (and counts as listed), loses it, is forgotten, or
  * its numbers of slots change.
  */
object DeviceOp extends ChiselEnum {
  val none, claim, enable, disable, forget, adjust = Value
}

/** A change of a device.
  *
  *   - claim: everything about the new device is in the request; `clusters` and `used` are given here
  *   - adjust: `usedDelta` and `hintedDelta`, slots, signed
  */
class DeviceChange(p: Params) extends Bundle {
  val op = DeviceOp()
  val device = UInt(p.deviceBits.W)
  val clusters = UInt(p.clusterCountBits.W)
  val used = UInt(p.usedBits.W)
  val usedDelta = SInt((p.countBits + 1).W)
  val hintedDelta = SInt((p.countBits + 1).W)
}

/** The device table: the kernel's `swap_info[]`, as far as the engine needs it. One change a cycle.
  *
  * A device is available when it has write permission and a free slot; this table says when one enters or leaves the
  * available list (`add_to_avail_list()`, `del_from_avail_list()`).
  */
class SwapDevices(p: Params) extends Module {
  val io = IO(new Bundle {
    val change = Input(new DeviceChange(p))

    /** The request of a claim. */
    val req = Input(new CoreReq(p))
    val devices = Output(Vec(p.devices, new SwapDevice(p)))

    /** The changed device enters or leaves the available list with this change. */
    val enter = Output(Bool())
    val leave = Output(Bool())
    val priority = Output(SInt(p.priorityBits.W))

    /** Free slots of the devices with write permission. */
    val freeSlots = Output(UInt(p.usedBits.W))

    /** Slots in outstanding hints. */
    val hintedSlots = Output(UInt(p.usedBits.W))

    /** A count left its bounds (one cycle). */
    val fault = Output(Bool())
  })

  private val devices = RegInit(VecInit.fill(p.devices)(0.U.asTypeOf(new SwapDevice(p))))
  private val freeSlots, hintedSlots = RegInit(0.U(p.usedBits.W))
  io.devices := devices
  io.freeSlots := freeSlots
  io.hintedSlots := hintedSlots

  private val op = io.change.op
  private val old = At(devices, io.change.device)
  private val next = WireDefault(old)
  private val adjust = op === DeviceOp.adjust
  private val used = (old.info.used.zext + io.change.usedDelta).asUInt
  private val hinted = (old.hinted.zext + io.change.hintedDelta).asUInt

  switch(op) {
    is(DeviceOp.claim) {
      next.info.pages := io.req.pages
      next.info.base := io.req.base
      next.info.used := io.change.used
      next.info.priority := io.req.priority
      next.info.flags := io.req.flags
      next.info.claimed := true.B
      next.info.writeok := false.B
      next.info.epoch := io.req.epoch
      next.clusters := io.change.clusters
      next.listed := false.B
      next.hinted := 0.U
    }
    is(DeviceOp.enable) {
      next.listed := true.B
      next.info.writeok := true.B
    }
    is(DeviceOp.disable) {
      next.info.writeok := false.B
    }
    is(DeviceOp.forget) {
      next := 0.U.asTypeOf(next)
    }
    is(DeviceOp.adjust) {
      next.info.used := used(next.info.used.getWidth - 1, 0)
      next.hinted := hinted(p.usedBits - 1, 0)
    }
  }
  next.info.available := next.info.writeok && next.info.used =/= next.slots(p)
  when(op =/= DeviceOp.none) {
    At(devices, io.change.device) := next

    // The sums lose what the device held and gain what it holds now.
    freeSlots := freeSlots - freeOf(old) + freeOf(next)
    hintedSlots := hintedSlots - old.hinted + next.hinted
  }
  io.enter := op =/= DeviceOp.none && next.info.available && !old.info.available
  io.leave := op =/= DeviceOp.none && !next.info.available && old.info.available
  io.priority := old.info.priority

  private def freeOf(device: SwapDevice): UInt =
    Mux(device.info.writeok, device.slots(p) - device.info.used, 0.U)(p.usedBits - 1, 0)

  // One bit more than a count of slots can have is set after a count went below 0, too.
  private val beyond = adjust && (used > old.slots(p) || hinted > used)
  io.fault := beyond
  assert(!beyond, "a device counts more slots in use than it has, or more in hints than in use")
}
