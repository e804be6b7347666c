// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma}
import hwswap.core.Policy

/** The registers that only the core and the units around it have use for: the ring's size, policies, doorbell.
  *
  * @param file
  *   they are declared in
  * @param write
  *   the host's writes
  * @param state
  *   the state of the core that can be read
  * @param settings
  *   fields of the registers
  * @param nodes
  *   of the CPUs
  */
private[shell] class CoreRegisters(
    file: RegisterFile,
    write: Valid[RegWrite],
    state: CoreState,
    settings: Settings,
    nodes: Vec[UInt]
)(implicit p: Params) {
  import MapAccess.{get, merge, word}
  import file.{readOnly, readWrite}

  // A size that is not built is not taken over, so that the ring's offset has no more bits than there are for it.
  private val size = RegMap.CmdSize
  private val log2 = RegInit(0.U(size.Log2.width.W))
  when(write.valid && write.bits.starts(size.Offset)) {
    val wanted = get(write.bits.data, size.Log2)
    log2 := Mux(wanted >= Settings.CmdLog2.start.U && wanted <= Settings.CmdLog2.end.U, wanted, 0.U)
  }
  readOnly(size.Offset, word(size.Log2 -> log2))
  settings.cmdLog2 := log2

  private def words(offset: Int, field: MapField): UInt =
    file.address(offset, field)(field.msb, field.msb + 1 - Dma.AddrBits)
  settings.cmdBase := words(RegMap.CmdBase.Offset, RegMap.CmdBase.Addr)
  settings.cplBase := words(RegMap.CplBase.Offset, RegMap.CplBase.Addr)

  // POLICY: choices that are not built are not taken over.
  private val policy = RegMap.Policy
  private val policyWord = RegInit(0.U(Axi.DataBits.W))
  when(write.valid && write.bits.at(policy.Offset)) {
    val wanted = merge(policyWord, write.bits.data, write.bits.strb)
    def known(field: MapField, highest: Int): (MapField, UInt) =
      field -> Mux(get(wanted, field) <= highest.U, get(wanted, field), 0.U)
    policyWord := word(
      known(policy.Scan, ScanPolicyCode.FreeFirst),
      known(policy.Device, DevicePolicyCode.NodeFirst),
      known(policy.Hint, HintPolicyCode.RandomTrunk),
      known(policy.Placement, PlacementPolicyCode.Indexed),
      policy.Seed -> get(wanted, policy.Seed)
    )
  }
  readOnly(policy.Offset, policyWord)
  settings.policy.scan := get(policyWord, policy.Scan)
  settings.policy.device := get(policyWord, policy.Device)
  settings.policy.hint := get(policyWord, policy.Hint)
  settings.policy.placement := get(policyWord, policy.Placement)
  settings.policy.seed := get(policyWord, policy.Seed)
  settings.policy.reseed := RegNext(write.valid && write.bits.at(policy.Offset), false.B)

  // CPU_NODE: four bits per CPU, for the CPUs there are.
  private val perWord = Axi.DataBits / Policy.NodeBits
  nodes := VecInit(
    (0 until p.cpus)
      .grouped(perWord)
      .zipWithIndex
      .flatMap { case (cpus, i) =>
        val field = MapField(0, cpus.length * Policy.NodeBits, BigInt(0))
        val nodes = readWrite(RegMap.CpuNode.Base + i * RegMap.CpuNode.Stride, field)
        cpus.indices.map(at => nodes(Policy.NodeBits * at + Policy.NodeBits - 1, Policy.NodeBits * at))
      }
      .toSeq
  )

  // The doorbell acts when the lowest byte is written; bytes written before wait in the register.
  private val tailWord = readWrite(RegMap.CmdTail.Offset, RegMap.CmdTail.Tail)
  private val tail = RegInit(0.U(RegMap.CmdTail.Tail.width.W))
  when(RegNext(write.valid && write.bits.starts(RegMap.CmdTail.Offset), false.B)) {
    tail := get(tailWord, RegMap.CmdTail.Tail)
  }
  settings.cmdTail := tail

  readOnly(RegMap.CmdHead.Offset, word(RegMap.CmdHead.Head -> state.cmdHead))
  readOnly(RegMap.Usage.Offset, word(RegMap.Usage.Slots -> state.freeSlots))
}
