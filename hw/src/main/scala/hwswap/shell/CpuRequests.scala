// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.bus.Axi
import hwswap.core.{CoreOp, CorePort}

/** The CPU pages: ALLOC and FREE by register, one request under way a CPU.
  *
  * A request carries a sequence number. Writing the number of the last finished request does nothing, so a host
  * whose reply was lost writes the request again and finds the old response. After reset that number is 0: a host's
  * first request uses another one. While a request is under way its page takes no other.
  */
class CpuRequests(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val core = new CorePort

    /** The engine has stopped: a request that the core has not taken ends in BUS_ERROR. */
    val stop = Input(Bool())

    /** The core's answers are not to be trusted: requests end in BUS_ERROR, too. */
    val fault = Input(Bool())

    /** A request is under way. */
    val busy = Output(Bool())

    /** Pulses: a request was finished; it ended in an error (NO_SPACE is none). */
    val finished = Output(Bool())
    val failed = Output(Bool())
  })

  import MapAccess.{get, merge, word}
  private val map = RegMap.CpuPage

  /** One CPU's page: its registers, and the request it holds out to the core. */
  private class Page(cpu: Int) {
    private val base = map.Base + cpu * map.Stride
    private val write = io.regs.write
    private def touched(offset: Int): Bool = write.valid && write.bits.at(base + offset)

    val arg = RegInit(0.U(map.Arg.Slot.width.W))
    val request = RegInit(0.U(Axi.DataBits.W))
    val busy = RegInit(false.B)
    val seq = RegInit(0.U(map.Response.Seq.width.W))
    val status = RegInit(0.U(map.Response.Status.width.W))
    val device = RegInit(0.U(map.Response.Type.width.W))
    val slot = RegInit(0.U(map.Response.Slot.width.W))

    when(touched(map.Arg.Offset)) {
      arg := get(merge(word(map.Arg.Slot -> arg), write.bits.data, write.bits.strb), map.Arg.Slot)
    }
    private val merged = merge(request, write.bits.data, write.bits.strb)
    when(touched(map.Request.Offset) && !busy) {
      request := merged
      when(write.bits.strb(0) && get(merged, map.Request.Seq) =/= seq)(busy := true.B)
    }

    val opcode = get(request, map.Request.Opcode)
    val order = get(request, map.Request.Order)

    /** Why the request is refused without asking the core; OK when it is not. One cycle after the request. */
    val refusal = RegNext(
      MuxCase(
        StatusCode.BadOpcode.U,
        Seq(
          io.stop -> StatusCode.BusError.U,
          (opcode === OpcodeCode.Alloc.U) -> Mux(order < p.orders.U, StatusCode.Ok.U, StatusCode.BadCpu.U),
          (opcode === OpcodeCode.Free.U) ->
            Mux(get(request, map.Request.Type) < p.devices.U, StatusCode.Ok.U, StatusCode.BadDevice.U)
        )
      )
    )

    val req = WireInit(CorePort.blank)
    req.op := Mux(opcode === OpcodeCode.Alloc.U, CoreOp.alloc, CoreOp.free)
    req.cpu := cpu.U
    req.order := order
    req.device := get(request, map.Request.Type)
    req.offset := arg
    req.nr := get(request, map.Request.Nr)

    def finish(code: UInt, dev: UInt, offset: UInt): Unit = {
      busy := false.B
      seq := get(request, map.Request.Seq)
      status := code
      device := dev
      slot := offset
    }

    val registers: Seq[(Int, UInt)] = Seq(
      (base + map.Arg.Offset) -> word(map.Arg.Slot -> arg),
      (base + map.Request.Offset) -> request,
      (base + map.Response.Offset) -> word(
        map.Response.Slot -> slot,
        map.Response.Type -> device,
        map.Response.Status -> status,
        map.Response.Busy -> busy,
        map.Response.Seq -> seq
      )
    )
  }

  private val pages = Seq.tabulate(p.cpuPages)(new Page(_))
  io.regs.readData := RegPort.answer(io.regs.read, pages.flatMap(_.registers))
  io.busy := pages.map(_.busy).reduce(_ || _)

  // One request at a time goes to the core; the pages take turns.
  object State extends ChiselEnum {
    val idle, ask, wait_ = Value
  }
  val state = RegInit(State.idle)
  val cpu = RegInit(0.U(log2Ceil(p.cpuPages).max(1).W))
  private val waiting = VecInit(pages.map(_.busy))
  private val next = Mux(cpu === (p.cpuPages - 1).U, 0.U, cpu + 1.U)
  private val refusal = VecInit(pages.map(_.refusal))(cpu)

  io.core.req.valid := state === State.ask && refusal === StatusCode.Ok.U
  io.core.req.bits := VecInit(pages.map(_.req))(cpu)
  io.core.resp.ready := state === State.wait_
  private val answer = Mux(io.fault, StatusCode.BusError.U, io.core.resp.bits.status)
  private val refused = state === State.ask && refusal =/= StatusCode.Ok.U
  io.finished := refused || io.core.resp.fire
  io.failed := refused || (io.core.resp.fire && answer =/= StatusCode.Ok.U && answer =/= StatusCode.NoSpace.U)

  switch(state) {
    is(State.idle)(when(waiting(cpu))(state := State.ask).otherwise(cpu := next))
    is(State.ask)(when(io.core.req.fire)(state := State.wait_))
    is(State.wait_)(when(io.core.resp.fire)(state := State.idle))
  }
  for ((page, i) <- pages.zipWithIndex)
    when(cpu === i.U) {
      when(refused)(page.finish(refusal, 0.U, 0.U))
      when(io.core.resp.fire) {
        val isAlloc = page.opcode === OpcodeCode.Alloc.U && answer === StatusCode.Ok.U
        page.finish(
          answer,
          Mux(isAlloc, io.core.resp.bits.device, 0.U),
          Mux(isAlloc, io.core.resp.bits.offset, 0.U)
        )
      }
    }
  when(io.finished) {
    state := State.idle
    cpu := next
  }
}
