// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** The place where a CPU looks first for an order: after slot `last` of an engine cluster, or in the whole of it, and
  * the device it belongs to. The slot itself, not the one after it, is held because it follows without an adder from
  * the slots that were given.
  */
class CpuHint(implicit p: Params) extends Bundle {
  val valid = Bool()
  val device = UInt(p.deviceBits.W)
  val cluster = UInt(p.clusterBits.W)
  val last = UInt(p.slotBits.W)
  val whole = Bool()
}

/** The owner of a hint: a CPU and order, or a rotating device, whose hint all CPUs share. */
class HintKey(implicit p: Params) extends Bundle {
  val ofDevice = Bool()
  val index = UInt(p.cpuBits.max(p.deviceBits).W)
  val order = UInt(p.orderBits.W)
}

/** A new hint. */
class HintWrite(implicit p: Params) extends Bundle {
  val key = new HintKey
  val hint = new CpuHint
}

/** The hints, one for each CPU and order (the kernel's `percpu_swap_cluster`), and one for each device and order, which
  * rotating devices use (`global_cluster`). An invalid one stands for offset 0 or no device.
  *
  * A RAM; reading takes `CpuHints.ReadCycles`. After reset and after `drop` the whole of it is gone through, an entry a
  * cycle, and `ready` is low meanwhile.
  */
class CpuHints(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Read a hint; it is there `CpuHints.ReadCycles` later, for one cycle. Undefined when it is written in the cycle
      * that it is read in.
      */
    val read = Flipped(Valid(new HintKey))
    val hint = Output(new CpuHint)
    val write = Flipped(Valid(new HintWrite))

    /** Forget all hints into this device (the kernel's `flush_percpu_swap_cluster()`). */
    val drop = Flipped(Valid(UInt(p.deviceBits.W)))
    val ready = Output(Bool())
  })

  private val addressBits = io.read.bits.getWidth
  private val depth = 1 << addressBits
  private val ram = SyncReadMem(depth, new CpuHint, SyncReadMem.Undefined)

  // The sweep reads entry `at` while it looks at the one before, and writes the one before that: the entry read comes
  // late in its cycle.
  private val sweeping = RegInit(true.B)
  private val dropAll = RegInit(true.B)
  private val dropDevice = RegEnable(io.drop.bits, io.drop.valid)
  private val at = RegInit(0.U((addressBits + 1).W))
  private val last = at === (depth + 1).U
  when(sweeping) {
    at := Mux(last, 0.U, at + 1.U)
    sweeping := !last
  }.elsewhen(io.drop.valid) {
    sweeping := true.B
    dropAll := false.B
  }
  io.ready := !sweeping

  io.hint := ram.read(Mux(sweeping, at(addressBits - 1, 0), io.read.bits.asUInt))
  private val reading = sweeping && at < depth.U
  private val dropped =
    RegNext(RegNext(reading, false.B) && (dropAll || io.hint.device === dropDevice), false.B)
  private val entry = WireDefault(io.write.bits.hint)
  when(sweeping) {
    entry.valid := false.B
  }
  when(dropped || (io.write.valid && !sweeping)) {
    ram.write(Mux(sweeping, (at - 2.U)(addressBits - 1, 0), io.write.bits.key.asUInt), entry)
  }

  assert(
    !(sweeping && (io.read.valid || io.write.valid || io.drop.valid)),
    "CPU hints are used while they are gone through"
  )
}

object CpuHints {

  /** Cycles from `read` to `hint`, those of a RAM. */
  val ReadCycles: Int = 1
}
