// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** The registers of swap tables: LOOKUP reads a word as TABLE_LOOKUP does. */
class TableRegisters extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort

    /** The lookup that was asked for, and its answer. */
    val job = Decoupled(new TableJob)
    val done = Flipped(Valid(new TableResult))

    /** A lookup is under way. */
    val busy = Output(Bool())
  })
  import MapAccess.{get, merge, word}
  private val map = RegMap.Lookup
  private val info = RegMap.LookupInfo
  private val fields = Seq(map.Slot, map.Type, map.Seq)
  private val mask = fields.map(f => ((BigInt(1) << f.width) - 1) << f.lsb).reduce(_ | _)

  private val lookup = RegInit(0.U(Axi.DataBits.W))
  private val busy, asking = RegInit(false.B)
  private val seq = RegInit(0.U(info.Seq.width.W))
  private val status = RegInit(0.U(info.Status.width.W))
  private val found = RegInit(0.U(Axi.DataBits.W))
  private val kind = RegInit(TableKindCode.Free.U(TableEntry.KindBits.W))
  private val counted = TableEntry.inUse(kind)

  // While a lookup is under way the register takes no other.
  private val write = io.regs.write
  when(write.valid && write.bits.at(map.Offset) && !busy) {
    lookup := merge(lookup, write.bits.data, write.bits.strb) & mask.U
    when(write.bits.strb(0)) {
      busy := true.B
      asking := true.B
    }
  }
  when(io.job.fire)(asking := false.B)
  when(io.done.valid) {
    busy := false.B
    seq := get(lookup, map.Seq)
    status := io.done.bits.status
    val isFound = io.done.bits.status === StatusCode.Ok.U
    found := Mux(isFound, io.done.bits.value, 0.U)
    kind := Mux(isFound, TableEntry.kind(io.done.bits.value), TableKindCode.Free.U)
  }
  io.busy := busy
  io.job.valid := asking
  io.job.bits := 0.U.asTypeOf(new TableJob)
  io.job.bits.op := TableOp.lookup
  io.job.bits.device := get(lookup, map.Type)
  io.job.bits.slot := get(lookup, map.Slot)

  io.regs.readData := RegPort.answer(
    io.regs.read,
    Seq(
      map.Offset -> lookup,
      RegMap.LookupEntry.Offset -> found,
      info.Offset -> word(
        info.Status -> status,
        info.Busy -> busy,
        info.Kind -> kind,
        info.Count -> Mux(counted, get(found, MemMap.TableEntry.Shadow.Count), 0.U),
        info.Zero -> (counted && get(found, MemMap.TableEntry.Shadow.Zero).asBool),
        info.Seq -> seq
      )
    )
  )
}
