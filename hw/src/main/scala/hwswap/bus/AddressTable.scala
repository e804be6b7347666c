// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** The registers that hold the addresses of structures in host memory, and their lookup for the DMA.
  *
  * They lie in one small memory, not in registers of their own: only one transfer at a time needs an address. What was
  * not written since reset reads 0.
  */
class AddressTable extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val lookup = Flipped(new AddressLookup)

    /** What DmaBase.target stands for. */
    val target = Input(UInt(Axi.AddrBits.W))
  })

  private val offsets = Seq(
    DmaBase.commands -> RegMap.CmdBase.Offset,
    DmaBase.completions -> RegMap.CplBase.Offset
  )
  private val entries = DmaBase.all.length
  val memory = Mem(entries, Vec(Axi.DataBytes, UInt(8.W)))
  val written = RegInit(0.U(entries.W))

  private def find(addr: UInt): Valid[UInt] = {
    val found = Wire(Valid(UInt(DmaBase.getWidth.W)))
    val hits = offsets.map { case (base, offset) => (addr === offset.U) -> base.asUInt }
    found.valid := hits.map(_._1).reduce(_ || _)
    found.bits := Mux1H(hits)
    found
  }
  private def entry(index: UInt): UInt = Mux(written(index), memory.read(index).asUInt, 0.U)

  // The first write to an entry makes its other bytes 0.
  private val write = RegNext(io.regs.write.bits)
  val changed = RegNext(find(io.regs.write.bits.addr))
  when(RegNext(io.regs.write.valid, false.B) && changed.valid) {
    val first = !written(changed.bits)
    val bytes = Seq.tabulate(Axi.DataBytes)(i => Mux(write.strb(i), write.data(8 * i + 7, 8 * i), 0.U))
    memory.write(changed.bits, VecInit(bytes), write.strb.asBools.map(_ || first))
    written := written | UIntToOH(changed.bits, entries)
  }

  val asked = RegNext(find(io.regs.read.bits))
  io.regs.readData := RegNext(Mux(asked.valid, entry(asked.bits), 0.U))

  io.lookup.address := Mux(io.lookup.base === DmaBase.target, io.target, entry(io.lookup.base.asUInt))
}
