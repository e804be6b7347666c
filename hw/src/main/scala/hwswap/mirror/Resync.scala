// SPDX-License-Identifier: Apache-2.0
package hwswap
package mirror

import chisel3._
import chisel3.util._
import hwswap.core.DeviceInfo

/** Fetches every record of a claimed device, or of all of them, one after the other. */
class Resync(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new ResyncJob))
    val done = Valid(new JobResult)
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val fetch = Decoupled(new FetchJob)
    val fetchDone = Flipped(Valid(new JobResult))
  })

  object State extends ChiselEnum {
    val idle, device, size, fetch, wait_, finish = Value
  }
  val state = RegInit(State.idle)
  val all = Reg(Bool())
  val device = Reg(UInt(p.deviceBits.W))
  val cluster = Reg(UInt(p.clusterBits.W))
  val left = Reg(UInt((p.clusterBits + 1).W))
  val count = Reg(UInt((p.clusterBits + 1).W))
  val error = Reg(Bool())
  val claimed = Reg(Bool())
  val pages = Reg(UInt((p.slotBits + p.clusterBits + 1).W))

  val info = io.devices(if (p.devices == 1) 0.U else device)
  val lastDevice = !all || device === (p.devices - 1).U

  io.job.ready := state === State.idle
  io.fetch.valid := state === State.fetch
  io.fetch.bits.cluster := cluster

  private def nextDevice(): Unit = {
    device := device + 1.U
    state := Mux(lastDevice, State.finish, State.device)
  }

  switch(state) {
    is(State.idle) {
      count := 0.U
      error := false.B
      when(io.job.valid) {
        state := State.device
        all := io.job.bits.all
        device := Mux(io.job.bits.all, 0.U, io.job.bits.device(p.deviceBits - 1, 0))
      }
    }
    is(State.device) {
      cluster := info.base(p.clusterBits - 1, 0)
      pages := info.pages(p.slotBits + p.clusterBits, 0)
      claimed := info.claimed
      state := State.size
    }
    is(State.size) {
      left := ((pages +& (p.slots - 1).U) >> p.slotBits)(p.clusterBits, 0)
      when(claimed && pages =/= 0.U)(state := State.fetch).otherwise(nextDevice())
    }
    is(State.fetch)(when(io.fetch.fire)(state := State.wait_))
    is(State.wait_) {
      when(io.fetchDone.valid) {
        cluster := cluster + 1.U
        left := left - 1.U
        count := count + 1.U
        state := State.fetch
        when(io.fetchDone.bits.error) {
          error := true.B
          state := State.finish
        }.elsewhen(left === 1.U)(nextDevice())
      }
    }
    is(State.finish)(state := State.idle)
  }
  io.done.valid := state === State.finish
  io.done.bits.count := count
  io.done.bits.error := error
}
