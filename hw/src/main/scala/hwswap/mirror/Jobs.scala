// SPDX-License-Identifier: Apache-2.0
package hwswap
package mirror

import chisel3._
import hwswap.bus.Axi

/** The end of a job: how many things it did, and whether a DMA transfer of it was answered with an error. */
class JobResult extends Bundle {
  val count = UInt(32.W)
  val error = Bool()
}

object HintJobKind extends ChiselEnum {

  /** consume: release what the host has popped. fill: top a ring up. recall: void a device's hints, or all. */
  val consume, fill, recall = Value
}

/** Work for the hint rings. */
class HintJob(implicit p: Params) extends Bundle {
  val kind = HintJobKind()

  /** consume, fill: which ring. */
  val cpu = UInt(p.cpuBits.W)
  val order = UInt(4.W)

  /** consume: hints the host has ever popped from the ring. */
  val head = UInt(32.W)

  /** recall: which device, or all. */
  val device = UInt(5.W)
  val all = Bool()
}

/** Fetch the record of one cluster and apply it. */
class FetchJob(implicit p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
}

/** Fetch all records of a device, or of all devices. */
class ResyncJob extends Bundle {
  val all = Bool()
  val device = UInt(5.W)
}

/** Write `count` records from `cluster` on to `target`. */
class DumpJob extends Bundle {
  val cluster = UInt(32.W)
  val count = UInt(MemMap.Command.Head.Nr.width.W)
  val target = UInt(Axi.AddrBits.W)
}
