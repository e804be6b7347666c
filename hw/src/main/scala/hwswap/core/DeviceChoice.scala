// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** The device that the slow path tries next, by policy DEVICE: as the available list has them, or, with SEQUENTIAL and
  * NODE_FIRST, in the sequence of DevicePicker.
  */
class DeviceChoice(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Choose the first device, or the one after `cursor`, which is on the list. Held until `done`; the list and the
      * other inputs are steady meanwhile.
      */
    val ask = Input(Bool())
    val after = Input(Bool())
    val cursor = Input(UInt(p.deviceBits.W))

    /** The policies, and the node of the CPU. */
    val policy = Input(new Policy)
    val node = Input(UInt(Policy.NodeBits.W))
    val devices = Input(Vec(p.devices, new SwapDevice))
    val available = Input(new AvailableView)

    /** This is the device, if there is one: in the cycle of the question, or later by such a policy. */
    val done = Output(Bool())
    val device = Valid(UInt(p.deviceBits.W))
  })
  private val ranked = io.policy.device =/= DevicePolicyCode.RoundRobin.U
  private val byNode = io.policy.device === DevicePolicyCode.NodeFirst.U
  private val picker = Module(new DevicePicker)
  private val picking = RegInit(false.B)
  picker.io.start := io.ask && ranked && !picking
  picker.io.after := io.after
  picker.io.cursor := io.cursor
  picker.io.places := io.available.places
  picker.io.numbers := VecInit(io.devices.map(_.number))
  picker.io.far := RegNext(VecInit(io.devices.map(d => byNode && d.node =/= io.node)).asUInt)
  when(picker.io.start) {
    picking := true.B
  }.elsewhen(picker.io.done) {
    picking := false.B
  }
  io.done := !ranked || picker.io.done
  io.device := Mux(ranked, picker.io.device, Mux(io.after, io.available.successor, io.available.first))
}
