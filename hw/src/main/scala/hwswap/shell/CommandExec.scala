// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma}
import hwswap.core.{CoreArbiter, CorePort}
import hwswap.tables.{TableJob, TableResult}

/** Carries commands out, in order. Those for the core follow each other into its pipeline, and complete as it answers;
  * any other begins when all before it have completed, and is alone until it has. The next command is checked
  * beforehand.
  *
  * A SWAPOFF takes the device's tables before the core forgets where its clusters are.
  */
class CommandExec(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new Command))
    val out = Decoupled(new Completion)

    /** Begin nothing any more, and forget commands that were not begun. Those that the core has taken end. */
    val stop = Input(Bool())

    /** The core's answers are not to be trusted: its commands complete with BUS_ERROR. */
    val fault = Input(Bool())
    val tableWrites = Input(Bool())
    val core = new CorePort
    val dump = Decoupled(new DumpJob)
    val dumpDone = Flipped(Valid(UInt(MemMap.Completion.Info.Status.width.W)))
    val table = Decoupled(new TableJob)
    val tableDone = Flipped(Valid(new TableResult))
    val busy = Output(Bool())

    /** Pulses: a command was done; it ended in an error (NO_SPACE is none). */
    val finished = Output(Bool())
    val failed = Output(Bool())
  })

  object State extends ChiselEnum {
    val idle, dump, dumpWait, table, tableWait, core, complete = Value
  }

  /** The fields still needed of a command that is in the core: those for its completion, and which of the core's
    * answers go into RESULT if the core has carried it out.
    */
  private class InCore extends Bundle {
    val opcode = UInt(MemMap.Completion.Info.Opcode.width.W)
    val irq, device, offset = Bool()
  }

  // Check one command ahead: a command makes room for the next when the core takes it.
  // While the place is free it takes any input in, so that only one bit depends on whether a command came.
  val decoded = RegInit(false.B)
  val command = RegEnable(CommandDecode(io.in.bits, io.tableWrites), !decoded)
  io.in.ready := !decoded

  val state = RegInit(State.idle)
  val cycles = Reg(UInt(MemMap.Completion.Info.Cycles.width.W))
  val status = Reg(UInt(MemMap.Completion.Info.Status.width.W))

  /** RESULT of a command that was not done in the core. */
  val value = Reg(UInt(Axi.DataBits.W))
  val place = command.place

  // A core command starts at once; everything else passes through the states, alone.
  private val inCore = Module(new Queue(new InCore, CoreArbiter.Depth))
  val refused = command.refusal.any
  val begins = decoded && !io.stop
  val straight = place === CommandPlace.core && !command.takeFirst && !refused
  val alone = !inCore.io.deq.valid
  private val mayGo = (state === State.idle && begins && straight) || state === State.core
  io.core.req.valid := mayGo && inCore.io.enq.ready
  io.core.req.bits := command.core
  private def isOne(codes: Int*): Bool = codes.map(command.opcode === _.U).reduce(_ || _)
  private val allocates = isOne(OpcodeCode.Alloc)
  inCore.io.enq.valid := io.core.req.fire
  inCore.io.enq.bits.opcode := command.opcode
  inCore.io.enq.bits.irq := command.irq
  inCore.io.enq.bits.device := allocates
  inCore.io.enq.bits.offset := allocates || isOne(OpcodeCode.Check, OpcodeCode.DiscardTake)

  val coreResp = io.core.resp.fire
  io.core.resp.ready := !alone && io.out.ready
  inCore.io.deq.ready := coreResp
  private val coreStatus = Mux(io.fault, StatusCode.BusError.U, io.core.resp.bits.status)
  private val isOk = coreStatus === StatusCode.Ok.U

  io.dump.valid := state === State.dump
  io.dump.bits.cluster := command.low
  io.dump.bits.count := command.nr
  io.dump.bits.target := command.arg1(Axi.DataBits - 1, Axi.DataBits - Dma.AddrBits)
  io.table.valid := state === State.table
  io.table.bits.op := command.table
  io.table.bits.device := command.device
  io.table.bits.nr := command.nr
  io.table.bits.slot := command.low
  io.table.bits.kinds := command.kinds
  io.table.bits.arg1 := command.arg1
  io.table.bits.arg2 := command.arg2

  // At once: the completion of a core command leaves in the cycle of the core's answer.
  val fromCore = !alone
  private val answered = inCore.io.deq.bits
  io.out.valid := (fromCore && io.core.resp.valid) || state === State.complete
  io.out.bits.opcode := Mux(fromCore, answered.opcode, command.opcode)
  io.out.bits.irq := Mux(fromCore, answered.irq, command.irq)
  io.out.bits.cycles := cycles
  io.out.bits.status := Mux(fromCore, coreStatus, status)
  private val result = MemMap.Completion.Result
  private val coreResult = MapAccess.word(
    result.Slot -> Mux(isOk && answered.offset, io.core.resp.bits.offset, 0.U),
    result.Type -> Mux(isOk && answered.device, io.core.resp.bits.device, 0.U)
  )
  io.out.bits.result := Mux(fromCore, coreResult, value)
  decoded := Mux(decoded, !(io.core.req.fire || (state === State.complete && io.out.fire)), io.in.valid)
  when(io.stop && state === State.idle)(decoded := false.B)

  // Cycles of a command in the core: from when it was taken, or the one before it was answered, until its answer is
  // there. Waiting for the place after it does not count.
  when((alone && state === State.idle) || coreResp) {
    cycles := 1.U
  }.elsewhen(state =/= State.complete && !io.core.resp.valid)(cycles := cycles + 1.U)

  private def complete(code: UInt, result: UInt): Unit = {
    state := State.complete
    status := code
    value := result
  }

  switch(state) {
    is(State.idle) {
      when(begins && !straight && alone) {
        when(refused) {
          complete(command.refusal.status, 0.U)
        }.elsewhen(place === CommandPlace.atOnce) {
          complete(StatusCode.Ok.U, 0.U)
        }.otherwise {
          state := Mux(place === CommandPlace.dump, State.dump, State.table)
        }
      }
    }
    is(State.dump) {
      cycles := 1.U
      when(io.dump.fire)(state := State.dumpWait)
    }
    is(State.dumpWait)(when(io.dumpDone.valid)(complete(io.dumpDone.bits, 0.U)))
    is(State.table) {
      when(place === CommandPlace.table)(cycles := 1.U)
      when(io.table.fire)(state := State.tableWait)
    }
    is(State.tableWait) {
      when(io.tableDone.valid) {
        complete(io.tableDone.bits.status, io.tableDone.bits.value)
        when(command.takeFirst && io.tableDone.bits.status === StatusCode.Ok.U)(state := State.core)
      }
    }
    is(State.core)(when(io.core.req.fire)(state := State.idle))
    is(State.complete)(when(io.out.fire)(state := State.idle))
  }

  io.busy := decoded || io.in.valid || state =/= State.idle || !alone
  io.finished := io.out.fire
  private val fine = Seq(StatusCode.Ok, StatusCode.NoSpace)
  io.failed := io.out.fire && !fine.map(io.out.bits.status === _.U).reduce(_ || _)
}
