// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Requests to the core: commands of the same names. */
object CoreOp extends ChiselEnum {
  val swaponPrepare, markBad, swapon, swapoffBegin, swapoff, alloc, free, check, discardTake, discardDone = Value
  val dump = Value

  /** Requests for a unit that name a cluster by a slot of it. */
  val ofSlot: Seq[CoreOp.Type] = Seq(markBad, discardDone)
}

/** A request to the core. Fields an operation does not name are ignored.
  *
  *   - swaponPrepare: device, pages, base, flags, priority, node
  *   - markBad, free: device, offset, nr
  *   - swapon, swapoffBegin, swapoff, check, discardTake: device
  *   - discardDone: device, offset
  *   - alloc: cpu, order
  *   - dump: cluster
  */
class CoreReq(implicit p: Params) extends Bundle {
  val op = CoreOp()
  val cpu = UInt(8.W)
  val order = UInt(4.W)
  val device = UInt(5.W)
  val offset = UInt(32.W)
  val nr = UInt(10.W)
  val pages = UInt(32.W)
  val base = UInt(32.W)
  val flags = UInt(4.W)
  val priority = SInt(16.W)
  val node = UInt(Policy.NodeBits.W)
  val cluster = UInt(p.clusterBits.W)
}

/** The core's answer.
  *
  *   - alloc: device and offset when status is OK; NO_SPACE otherwise
  *   - check: offset holds the number of faults
  *   - discardTake: offset of the cluster's first slot when status is OK
  *   - dump: the data asked for is at DumpPort, until the answer is taken
  */
class CoreResp extends Bundle {
  val status = UInt(7.W)
  val device = UInt(5.W)
  val offset = UInt(32.W)
}

/** A line of the device table, for the registers and for units that walk a device. */
class DeviceInfo extends Bundle {
  val pages = UInt(32.W)
  val base = UInt(32.W)
  val used = UInt(32.W)
  val priority = SInt(16.W)
  val flags = UInt(4.W)
  val claimed = Bool()
  val writeok = Bool()
  val available = Bool()
}

/** One-cycle pulses that the statistics registers count. */
class CoreEvents extends Bundle {
  val allocFast, allocNonfull, allocFree, allocFrag, allocSteal, allocFail = Bool()
  val freed, scan, listMove = Bool()
}

/** The register POLICY, as it is: see RegMap.Policy. The codes are those of the register. */
class Policy extends Bundle {
  val scan = UInt(RegMap.Policy.Scan.width.W)
  val device = UInt(RegMap.Policy.Device.width.W)
  val hint = UInt(RegMap.Policy.Hint.width.W)
  val placement = UInt(RegMap.Policy.Placement.width.W)

  /** Of the random trunks' generator, and a pulse: it starts from there. */
  val seed = UInt(RegMap.Policy.Seed.width.W)
  val reseed = Bool()
}

object Policy {

  /** Width of a node's number. */
  val NodeBits: Int = 4
}

/** A cluster as DUMP shows it. */
class DumpPort(implicit p: Params) extends Bundle {
  val bitmap = new BitmapPort
  val meta = Input(new ClusterMeta)

  /** Its neighbours in its list; of no meaning where it has none. */
  val next, prev = Input(UInt(p.clusterBits.W))
}

/** The core: requests in order, one at a time; each accepted request gets exactly one response. */
class CoreIO(implicit p: Params) extends Bundle {
  val req = Flipped(Decoupled(new CoreReq))
  val resp = Decoupled(new CoreResp)

  /** The cluster of a dump, while its answer waits to be taken. */
  val dumped = Flipped(new DumpPort)

  /** The differences from the kernel's rules; any change takes effect with the next request. */
  val policy = Input(new Policy)

  /** The node of each CPU. */
  val nodes = Input(Vec(p.cpus, UInt(Policy.NodeBits.W)))

  /** Synchronous clear of everything, a pulse; the core is not ready until done. */
  val clear = Input(Bool())
  val devices = Output(Vec(p.devices, new DeviceInfo))

  /** Free slots of devices with write permission. */
  val freeSlots = Output(UInt(32.W))
  val events = Output(new CoreEvents)

  /** An internal check failed (sticky until clear). */
  val fault = Output(Bool())
}
