// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A line of the device table as the core holds it: DeviceInfo with fields no wider than the store needs. */
class DeviceLine(implicit p: Params) extends Bundle {
  val pages = UInt(p.usedBits.W)
  val base = UInt(p.clusterBits.W)
  val used = UInt(p.usedBits.W)
  val priority = SInt(p.priorityBits.W)
  val flags = UInt(4.W)
  val claimed = Bool()
  val writeok = Bool()
  val available = Bool()

  /** The same, as others see it. */
  def shown: DeviceInfo = {
    val info = Wire(new DeviceInfo)
    for ((name, field) <- info.elements) field := elements(name)
    info
  }
}

/** A device as the core sees it: the fields that the registers show, and those that only the core needs. */
class SwapDevice(implicit p: Params) extends Bundle {
  val info = new DeviceLine

  /** Clusters of the device, the last one perhaps in part: its pages divided by 512, rounded up. */
  val clusters = UInt(p.clusterCountBits.W)

  /** Its clusters have been listed: SWAPON was done. */
  val listed = Bool()

  /** Its swapon: how many there had been. */
  val number = UInt(DevicePicker.NumberBits.W)

  /** The node it belongs to. */
  val node = UInt(Policy.NodeBits.W)

  /** Slots, in use or not: whole clusters. */
  def slots(implicit p: Params): UInt = clusters ## 0.U(p.slotBits.W)

  /** Its flag number `field` is set. */
  def has(field: MapField): Bool = info.flags(field.lsb)

  /** This engine cluster is one of its own. */
  def owns(cluster: UInt): Bool = info.claimed && cluster >= info.base && cluster < info.base +& clusters
}

/** The changes of a device: it is prepared, gets write permission (and counts as listed), loses it, is forgotten, or
  * its numbers of slots change.
  */
object DeviceOp extends ChiselEnum {
  val none, claim, enable, disable, forget, adjust = Value
}

/** A change of a device.
  *
  *   - claim: everything about the new device, which fits in the store, is in the request; `clusters` and `used` are
  *     given here
  *   - adjust: `usedDelta`, slots, signed
  */
class DeviceUpdate(implicit p: Params) extends Bundle {
  val op = DeviceOp()
  val device = UInt(p.deviceBits.W)
  val clusters = UInt(p.clusterCountBits.W)
  val used = UInt(p.usedBits.W)
  val usedDelta = SInt((p.countBits + 1).W)
}

/** The device table: the kernel's `swap_info[]`, as far as the engine needs it. A change shows two cycles later;
  * changes are two cycles apart.
  *
  * A device is available from when it gets write permission, or its first free slot, to when it loses the one or its
  * last slot is taken; this table says when one enters or leaves the available list (`add_to_avail_list()`,
  * `del_from_avail_list()`), one cycle after that shows here. So one that is full when an interrupted swapoff gives its
  * permission back is available: the kernel's own check fails, on a count that still has a flag in it.
  */
class SwapDevices(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val change = Input(new DeviceUpdate)

    /** The request of a claim, steady for two cycles. */
    val req = Input(new CoreReq)
    val devices = Output(Vec(p.devices, new SwapDevice))

    /** The device that is changing. */
    val changing = Output(UInt(p.deviceBits.W))

    /** One cycle later: it enters or leaves the available list. */
    val enter = Output(Bool())
    val leave = Output(Bool())
    val priority = Output(SInt(p.priorityBits.W))

    /** Free slots of the devices with write permission. */
    val freeSlots = Output(UInt(p.usedBits.W))

    /** A count left its bounds (one cycle). */
    val fault = Output(Bool())
  })

  private val devices = RegInit(VecInit.fill(p.devices)(0.U.asTypeOf(new SwapDevice)))
  private val freeSlots = RegInit(0.U(p.usedBits.W))
  io.devices := devices
  io.freeSlots := freeSlots

  private val swapons = RegInit(0.U(DevicePicker.NumberBits.W))

  private val op = RegNext(io.change.op, DeviceOp.none)
  private val change = RegNext(io.change)
  private val changing = op =/= DeviceOp.none

  // The device as it was, as it is written, and what decides whether it is available.
  private val old = RegNext(At(devices, io.change.device))
  private val device = At(devices, change.device)
  private val used = (old.info.used.zext + change.usedDelta).asUInt
  private val writeok = WireDefault(old.info.writeok)
  private val counting = op === DeviceOp.adjust
  private val available = writeok && !(counting && used === old.slots)

  // The change of the sum of all devices' free slots.
  private val free = (old.slots - old.info.used).zext
  private val freeDelta = WireDefault(0.S((p.usedBits + 1).W))

  switch(op) {
    is(DeviceOp.claim) {
      device.info.pages := io.req.pages(p.usedBits - 1, 0)
      device.info.base := io.req.base(p.clusterBits - 1, 0)
      device.info.used := change.used
      device.info.priority := io.req.priority
      device.info.flags := io.req.flags
      device.info.claimed := true.B
      device.node := io.req.node
      device.clusters := change.clusters
      device.listed := false.B
      writeok := false.B
    }
    is(DeviceOp.enable) {
      device.listed := true.B
      writeok := true.B
      when(!old.listed) {
        device.number := swapons
        swapons := swapons + 1.U
      }
      freeDelta := Mux(old.info.writeok, 0.S, free)
    }
    is(DeviceOp.disable) {
      writeok := false.B
      freeDelta := Mux(old.info.writeok, -free, 0.S)
    }
    is(DeviceOp.forget) {
      device := 0.U.asTypeOf(device)
      writeok := false.B
      freeDelta := Mux(old.info.writeok, -free, 0.S)
    }
    is(DeviceOp.adjust) {
      device.info.used := used(p.usedBits - 1, 0)
      freeDelta := Mux(old.info.writeok, -change.usedDelta, 0.S)
    }
  }
  when(changing) {
    device.info.writeok := writeok
    device.info.available := available
    freeSlots := (freeSlots.zext + freeDelta).asUInt(p.usedBits - 1, 0)
  }
  io.enter := RegNext(changing && available && !old.info.available, false.B)
  io.leave := RegNext(changing && !available && old.info.available, false.B)
  io.changing := change.device
  io.priority := RegNext(old.info.priority)

  assert(!(changing && io.change.op =/= DeviceOp.none), "two changes of devices in consecutive cycles")

  // One bit more than a count of slots can have is set after a count went below 0, too.
  private val beyond = counting && used > old.slots
  io.fault := beyond
  assert(!beyond, "a device counts more slots in use than it has")
}
