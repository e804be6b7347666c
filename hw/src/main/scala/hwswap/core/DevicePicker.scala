// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A place of the available list. */
class AvailablePlace(implicit p: Params) extends Bundle {
  val valid = Bool()
  val device = UInt(p.deviceBits.W)
  val priority = SInt(p.priorityBits.W)
}

/** Reads the available list in the sequence of policy DEVICE: SEQUENTIAL or NODE_FIRST. The list itself is as ever;
  * within a priority those of another node come last (where there are some), then devices of default priority (-1) come
  * in the sequence of their swapons, all others as the list has them.
  *
  * It goes through the places one per cycle, once to find the device after which it looks (if it does), and once to
  * find the best one after that: at most 2 * devices + 5 cycles, during which list and inputs are steady.
  */
class DevicePicker(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Look for the first device, or for the one after `cursor`, which is on the list. */
    val start = Input(Bool())
    val after = Input(Bool())
    val cursor = Input(UInt(p.deviceBits.W))
    val places = Input(Vec(p.devices, new AvailablePlace))

    /** Devices that come after the others of their priority, one bit each. */
    val far = Input(UInt(p.devices.W))

    /** The swapon of each device: greater is later. */
    val numbers = Input(Vec(p.devices, UInt(DevicePicker.NumberBits.W)))

    /** One cycle: this is the device, if there is one. */
    val done = Output(Bool())
    val device = Valid(UInt(p.deviceBits.W))
  })

  /** The place of a device in the sequence: a smaller rank is earlier. */
  private class Rank extends Bundle {
    val priority = SInt(p.priorityBits.W)
    val far = Bool()
    val number = UInt(DevicePicker.NumberBits.W)
    val place = UInt(p.deviceBits.W)

    private def sequence: UInt = far ## number ## place
    def before(other: Rank): Bool =
      priority > other.priority || (priority === other.priority && sequence < other.sequence)
  }

  private object State extends ChiselEnum {
    val idle, find, search, finish = Value
  }
  private val state = RegInit(State.idle)
  private val at = Reg(UInt(p.deviceBits.W))
  private val last = at === (p.devices - 1).U
  private val after = Reg(Bool())

  // One place, and its rank one cycle later.
  private val shown = At(io.places, at)
  private val rank = Reg(new Rank)
  private val device = RegNext(shown.device)
  private val finding = RegNext(state === State.find && shown.valid && shown.device === io.cursor, false.B)
  private val searching = RegNext(state === State.search && shown.valid, false.B)
  rank.priority := shown.priority
  rank.far := At(VecInit(io.far.asBools), shown.device)
  rank.number := Mux(shown.priority === DevicePicker.Default.S, At(io.numbers, shown.device), 0.U)
  rank.place := at

  private val cursor, best = Reg(new Rank)
  private val found = Reg(Valid(UInt(p.deviceBits.W)))
  when(finding) {
    cursor := rank
  }
  when(searching && (!after || cursor.before(rank)) && (!found.valid || rank.before(best))) {
    best := rank
    found.valid := true.B
    found.bits := device
  }

  switch(state) {
    is(State.idle) {
      at := 0.U
      after := io.after
      found.valid := false.B
      when(io.start) {
        state := Mux(io.after, State.find, State.search)
      }
    }
    is(State.find) {
      at := Mux(last, 0.U, at + 1.U)
      when(last)(state := State.search)
    }
    is(State.search) {
      at := at + 1.U
      when(last)(state := State.finish)
    }
    is(State.finish) {
      when(!searching)(state := State.idle)
    }
  }
  io.done := state === State.finish && !searching
  io.device := found
}

object DevicePicker {

  /** Swapons are distinguished by so many bits. */
  val NumberBits: Int = 32

  /** The priority of a device without an explicit one. */
  val Default: Int = -1
}
