// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** A change of a cluster's place: off the list it is on, to the tail of another, or both. */
class ListMove(p: Params) extends Bundle {
  val device = UInt(p.deviceBits.W)
  val cluster = UInt(p.clusterBits.W)
  val unlink = Bool()
  val from = UInt(p.listBits.W)
  val push = Bool()
  val to = UInt(p.listBits.W)
}

/** Both ends of a list; meaningless while it is empty. */
class ListEnds(p: Params) extends Bundle {
  val head = UInt(p.clusterBits.W)
  val tail = UInt(p.clusterBits.W)
}

/** The clusters' lists: doubly linked, first in first out, 23 a device. It mirrors `move_cluster()` and the list part
  * of `isolate_lock_cluster()`: a cluster enters at the tail, is taken from the head, or leaves from anywhere.
  *
  * Three RAMs (ends, next, prev) with one read and one write port each, so that a step touches every RAM once, and one
  * bit a list in registers that says whether it is empty. The links of a list's ends that point outside are never read
  * as links.
  *
  * A `move` takes 4 cycles (push only, or unlink only) or 6 (both); `done` is high in the last one. It starts only when
  * the one before is done. `peek` and `look` answer two cycles later, from registers that take the RAMs' delay, and are
  * not used during a move.
  */
class ClusterLists(p: Params) extends Module {
  val io = IO(new Bundle {
    val move = Flipped(Valid(new ListMove(p)))
    val done = Output(Bool())

    /** Read both ends of list `peekList` of device `peekDevice`. */
    val peek = Input(Bool())
    val peekDevice = Input(UInt(p.deviceBits.W))
    val peekList = Input(UInt(p.listBits.W))
    val ends = Output(new ListEnds(p))

    /** Read both links of this cluster. */
    val look = Flipped(Valid(UInt(p.clusterBits.W)))
    val next = Output(UInt(p.clusterBits.W))
    val prev = Output(UInt(p.clusterBits.W))

    /** Empty all lists of this device; the clusters' links stay as they are. */
    val forget = Flipped(Valid(UInt(p.deviceBits.W)))

    /** Bit l of element d: list l of device d holds a cluster. */
    val nonEmpty = Output(Vec(p.devices, UInt(p.lists.W)))

    /** A link was found broken (one cycle). */
    val fault = Output(Bool())
  })

  private object Step extends ChiselEnum {
    val idle, begin, capture, neighbours, detach, fetch, attach = Value
  }
  private val step = RegInit(Step.idle)
  private val move = RegEnable(io.move.bits, io.move.valid)
  private val filled = RegInit(VecInit.fill(p.devices)(VecInit.fill(p.lists)(false.B)))

  private val endsRam = SyncReadMem(p.devices << p.listBits, new ListEnds(p), SyncReadMem.Undefined)
  private val nextRam = SyncReadMem(p.clusters, UInt(p.clusterBits.W), SyncReadMem.Undefined)
  private val prevRam = SyncReadMem(p.clusters, UInt(p.clusterBits.W), SyncReadMem.Undefined)

  // Read and write ports. Each step below sets what it needs.
  private val readEnds = WireDefault(io.peek)
  private val readEndsAt = WireDefault(endsAddress(io.peekDevice, io.peekList))
  private val readNext, readPrev = WireDefault(io.look.valid)
  private val readNextAt, readPrevAt = WireDefault(io.look.bits)
  private val writeEnds, writeNext, writePrev = WireDefault(false.B)
  private val writeEndsAt = WireDefault(endsAddress(move.device, move.to))
  private val newEnds = Wire(new ListEnds(p))
  private val writeNextAt, newNext, writePrevAt, newPrev = WireDefault(move.cluster)

  // What was read: as it comes, and one cycle later.
  private val endsRead = endsRam.read(readEndsAt, readEnds)
  private val nextRead = nextRam.read(readNextAt, readNext)
  private val prevRead = prevRam.read(readPrevAt, readPrev)
  private val endsThere = RegNext(readEnds, false.B)
  private val ends = RegEnable(endsRead, endsThere)
  private val next = RegEnable(nextRead, RegNext(readNext, false.B))
  private val prev = RegEnable(prevRead, RegNext(readPrev, false.B))
  io.ends := ends
  io.next := next
  io.prev := prev
  when(writeEnds) {
    endsRam.write(writeEndsAt, newEnds)
  }
  when(writeNext) {
    nextRam.write(writeNextAt, newNext)
  }
  when(writePrev) {
    prevRam.write(writePrevAt, newPrev)
  }

  // The cluster is at the list's ends: known with `ends`.
  private val isHead = RegEnable(endsRead.head === move.cluster, endsThere)
  private val isTail = RegEnable(endsRead.tail === move.cluster, endsThere)

  // The list a cluster is appended to is empty: known one step before.
  private val first = RegNext(!isFilled(move.device, move.to))

  newEnds := ends
  private val ending = WireDefault(false.B)
  io.done := RegNext(ending, false.B)
  private val broken = WireDefault(false.B)
  io.fault := RegNext(broken, false.B)
  io.nonEmpty := VecInit(filled.map(_.asUInt))

  switch(step) {
    // A cluster that leaves a list: fetch the list's ends and the cluster's links.
    is(Step.idle) {
      when(io.move.valid) {
        readEnds := true.B
        readEndsAt := endsAddress(io.move.bits.device, io.move.bits.from)
        readNext := true.B
        readNextAt := io.move.bits.cluster
        readPrev := true.B
        readPrevAt := io.move.bits.cluster
        step := Mux(io.move.bits.unlink, Step.capture, Step.begin)
      }
    }
    is(Step.capture) {
      step := Step.neighbours
    }

    // Shorten the list at its ends and fetch the links that must point back at the cluster.
    is(Step.neighbours) {
      writeEnds := true.B
      writeEndsAt := endsAddress(move.device, move.from)
      newEnds.head := Mux(isHead, next, ends.head)
      newEnds.tail := Mux(isTail, prev, ends.tail)
      setFilled(move.device, move.from, !(isHead && isTail))
      readNext := !isHead
      readNextAt := prev
      readPrev := !isTail
      readPrevAt := next
      ending := !move.push
      step := Step.detach
    }

    // Close the gap, and fetch the ends of the list the cluster goes to (after the write above: it may be the same).
    is(Step.detach) {
      val linked = (isHead || nextRead === move.cluster) && (isTail || prevRead === move.cluster)
      assert(linked, "a neighbour in a list does not point back at the cluster")
      broken := !linked
      writeNext := !isHead && !isTail
      writeNextAt := prev
      newNext := next
      writePrev := !isHead && !isTail
      writePrevAt := next
      newPrev := prev
      readEnds := move.push
      readEndsAt := endsAddress(move.device, move.to)
      step := Mux(move.push, Step.fetch, Step.idle)
    }

    // A cluster that is on no list: fetch the ends of the list it goes to.
    is(Step.begin) {
      readEnds := true.B
      readEndsAt := endsAddress(move.device, move.to)
      step := Step.fetch
    }
    is(Step.fetch) {
      ending := true.B
      step := Step.attach
    }

    // Append behind the tail.
    is(Step.attach) {
      writeEnds := true.B
      newEnds.head := Mux(first, move.cluster, ends.head)
      newEnds.tail := move.cluster
      setFilled(move.device, move.to, true.B)
      writeNext := !first
      writeNextAt := ends.tail
      newNext := move.cluster
      writePrev := !first
      writePrevAt := move.cluster
      newPrev := ends.tail
      assert(first || ends.tail =/= move.cluster, "a cluster is put on the list whose tail it already is")
      step := Step.idle
    }
  }

  when(io.forget.valid) {
    At(filled, io.forget.bits) := VecInit.fill(p.lists)(false.B)
  }

  private def endsAddress(device: UInt, list: UInt): UInt = (device ## list)(log2Ceil(p.devices << p.listBits) - 1, 0)

  private def isFilled(device: UInt, list: UInt): Bool = At(filled, device)(list)

  private def setFilled(device: UInt, list: UInt, value: Bool): Unit =
    At(filled, device)(list) := value

  assert(!(io.move.valid && step =/= Step.idle), "a list move starts before the one before it is done")
  assert(!(io.move.valid && !io.move.bits.unlink && !io.move.bits.push), "a list move that moves nothing")
  assert(
    !(io.move.valid && io.move.bits.unlink && !isFilled(io.move.bits.device, io.move.bits.from)),
    "a cluster is taken off an empty list"
  )
  assert(!((io.peek || io.look.valid) && (step =/= Step.idle || io.move.valid)), "lists are read during a move")
  assert(!(readEnds && writeEnds && readEndsAt === writeEndsAt), "list ends are read while they are written")
  assert(!(readNext && writeNext && readNextAt === writeNextAt), "a next link is read while it is written")
  assert(!(readPrev && writePrev && readPrevAt === writePrevAt), "a prev link is read while it is written")
}
