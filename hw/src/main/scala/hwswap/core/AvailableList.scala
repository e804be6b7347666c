// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** The available list: devices that may have a free slot (SwapDevices), highest priority first, and among equals the
  * one that came last at the end. It mirrors the kernel's `swap_avail_head`, a plist, with `plist_add()`, `plist_del()`
  * and `plist_requeue()`.
  *
  * The list is held in order: element 0 is its head, the elements in use are the lowest ones. All places are compared
  * at once, so that each change takes two cycles, in the first of which the device is looked for, and a question none.
  * Changes are at least two cycles apart.
  */
class AvailableList(implicit p: Params) extends Module {
  val io = IO(new Bundle {

    /** Add the device after its equals; it is not on the list. */
    val add = Input(Bool())

    /** Take the device off the list it is on. */
    val remove = Input(Bool())

    /** Put the device, which is on the list, after its equals. */
    val requeue = Input(Bool())

    /** The device of add, remove and requeue. */
    val device = Input(UInt(p.deviceBits.W))

    /** Its priority (16 bits, signed), for add. */
    val priority = Input(SInt(p.priorityBits.W))

    /** A device that is on the list: `successor` is the one after it. */
    val cursor = Input(UInt(p.deviceBits.W))
    val view = Output(new AvailableView)
  })

  private val places = RegInit(VecInit.fill(p.devices)(0.U.asTypeOf(new AvailablePlace)))
  io.view.places := places

  // First cycle: where the device is, one bit a place.
  private def placeOf(device: UInt): Vec[Bool] = VecInit(places.map(e => e.valid && e.device === device))
  private val found = placeOf(io.device)
  private val here = RegNext(found)
  private val adding = RegNext(io.add, false.B)
  private val removing = RegNext(io.remove, false.B)
  private val requeueing = RegNext(io.requeue, false.B)

  // Second cycle: the change.
  private val added = Wire(new AvailablePlace)
  added.valid := true.B
  added.device := RegNext(io.device)
  added.priority := RegNext(Mux(io.requeue, Mux1H(found, places.map(_.priority)), io.priority))

  // Places that stay in front of the device: those of its equals and betters. They are the lowest ones.
  private val ahead = VecInit(places.map(e => e.valid && e.priority >= added.priority))
  private val empty = 0.U.asTypeOf(new AvailablePlace)

  for (i <- places.indices) {
    val below = if (i == 0) added else places(i - 1)
    val above = if (i + 1 == p.devices) empty else places(i + 1)
    val aboveAhead = if (i + 1 == p.devices) false.B else ahead(i + 1)
    val belowAhead = if (i == 0) true.B else ahead(i - 1)
    val fromHereUp = here.take(i + 1).reduce(_ || _)
    when(adding) {
      when(!ahead(i)) {
        places(i) := Mux(belowAhead, added, below)
      }
    }.elsewhen(removing) {
      when(fromHereUp) {
        places(i) := above
      }
    }.elsewhen(requeueing) {
      when(fromHereUp && ahead(i)) {
        places(i) := Mux(aboveAhead, above, added)
      }
    }
  }

  private def firstOf(among: Seq[Bool]): Valid[UInt] = {
    val result = Wire(Valid(UInt(p.deviceBits.W)))
    result.valid := among.reduce(_ || _)
    result.bits := PriorityMux(among, places.map(_.device))
    result
  }
  private val atCursor = placeOf(io.cursor)
  private val after = places.indices.map(i => atCursor.take(i).foldLeft(false.B)(_ || _))
  io.view.first := firstOf(places.map(_.valid))
  io.view.successor := firstOf(places.zip(after).map { case (e, b) => e.valid && b })
  io.view.members := VecInit.tabulate(p.devices)(d => placeOf(d.U).asUInt.orR).asUInt

  assert(
    PopCount(Seq(io.add, io.remove, io.requeue, adding, removing, requeueing)) <= 1.U,
    "two changes of the available list at once"
  )
  assert(!(io.add && found.asUInt.orR), "a device is added to the available list twice")
  assert(!((io.remove || io.requeue) && !found.asUInt.orR), "a device that is not on the available list is moved")
  for ((a, b) <- places.zip(places.drop(1)))
    assert(!b.valid || (a.valid && a.priority >= b.priority), "the available list is out of order")
  for (d <- 0 until p.devices)
    assert(PopCount(placeOf(d.U)) <= 1.U, "a device is on the available list twice")
}
