// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._
import hwswap.store.ClusterLinks

/** A change of a cluster's place: off the list it is on, to the tail of another, or both.
  *
  *   - unlink: it is on list `from`, anywhere
  *   - fromHead: it is the head of `from`, and `next` is the cluster after it, unless it is `alone` there; `to` may be
  *     the same list
  *   - push: it goes to the tail of `to`
  */
class ListMove(implicit p: Params) extends Bundle {
  val device = UInt(p.deviceBits.W)
  val cluster = UInt(p.clusterBits.W)
  val unlink = Bool()
  val fromHead = Bool()
  val from = UInt(p.listBits.W)
  val next = UInt(p.clusterBits.W)
  val alone = Bool()
  val push = Bool()
  val to = UInt(p.listBits.W)
}

/** Both ends of a list; meaningless while it is empty. */
class ListEnds(implicit p: Params) extends Bundle {
  val head = UInt(p.clusterBits.W)
  val tail = UInt(p.clusterBits.W)
}

/** The clusters' lists: doubly linked, first in first out, 23 a device. It mirrors `move_cluster()` and the list part
  * of `isolate_lock_cluster()`: a cluster enters at the tail, is taken from the head, or leaves from anywhere.
  *
  * Four memories (heads and tails here, next and previous links in the clusters' memory) with one read and one write
  * port each, so that a step touches every one once, and one bit a list in registers that says whether it is empty. The
  * links of a list's ends that point outside are never read as links.
  *
  * A move waits in a register until the one before it is done, so nobody has to wait for the end of one. It takes 3
  * cycles when the cluster comes from a list's head or from nowhere, 4 when it goes nowhere, 5 otherwise. The others'
  * reads, `peek` and `look`, are answered two cycles later in registers; `peek` is not used during a move, `look` of
  * a cluster not while its links change.
  */
class ClusterLists(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val move = Flipped(Valid(new ListMove))

    /** A move may be asked for. */
    val room = Output(Bool())

    /** In the next cycle a move may be asked for, unless one is in this. */
    val nextRoom = Output(Bool())

    val query = Input(new ListQuery)
    val view = Output(new ListsView)

    /** Empty all lists of this device; the clusters' links stay as they are. */
    val forget = Flipped(Valid(UInt(p.deviceBits.W)))

    /** A link was found broken (one cycle). */
    val fault = Output(Bool())
  })

  private object Step extends ChiselEnum {
    val idle, capture, neighbours, detach, attach = Value
  }
  private val step = RegInit(Step.idle)

  // The move that waits, and the one that is under way.
  private val waiting = RegInit(false.B)
  private val request = RegEnable(io.move.bits, io.room)
  private val starting = waiting && step === Step.idle
  private val move = RegEnable(request, starting)
  waiting := io.move.valid || (waiting && !starting)
  io.room := !waiting
  io.nextRoom := !waiting || starting
  io.view.idle := !waiting && step === Step.idle

  private val filled = RegInit(VecInit.fill(p.devices)(VecInit.fill(p.lists)(false.B)))
  private def ram(depth: Int) = SyncReadMem(depth, UInt(p.clusterBits.W), SyncReadMem.Undefined)
  private val headRam, tailRam = ram(p.devices << p.listBits)

  // Read and write ports. Each step below sets what it needs.
  private val readHead, readTail = WireDefault(io.query.peek)
  private val readHeadAt, readTailAt = WireDefault(endsAddress(io.query.peekDevice, io.query.peekList))
  private val readNext, readPrev = WireDefault(io.query.look.valid)
  private val readNextAt, readPrevAt = WireDefault(io.query.look.bits)
  private val writeHead, writeTail, writeNext, writePrev = WireDefault(false.B)
  private val writeHeadAt, writeTailAt = WireDefault(endsAddress(move.device, move.to))
  private val newHead, newTail, writeNextAt, newNext, writePrevAt, newPrev = WireDefault(move.cluster)

  // The words read: as they come, and one cycle later.
  private val links = Module(new ClusterLinks).io
  private val headRead = headRam.read(readHeadAt)
  private val tailRead = tailRam.read(readTailAt)
  private val nextRead = links.next.data
  private val prevRead = links.prev.data
  links.next.read.valid := readNext
  links.next.read.bits := readNextAt
  links.prev.read.valid := readPrev
  links.prev.read.bits := readPrevAt
  private def held(value: UInt, read: Bool): UInt = RegEnable(value, RegNext(read, false.B))
  private val head = held(headRead, readHead)
  private val tail = held(tailRead, readTail)
  private val next = held(nextRead, readNext)
  private val prev = held(prevRead, readPrev)
  io.view.ends.head := head
  io.view.newHead := headRead
  io.view.ends.tail := tail
  io.view.next := next
  io.view.prev := prev
  when(writeHead)(headRam.write(writeHeadAt, newHead))
  when(writeTail)(tailRam.write(writeTailAt, newTail))
  links.next.write.valid := writeNext
  links.next.write.bits := writeNextAt
  links.next.newData := newNext
  links.prev.write.valid := writePrev
  links.prev.write.bits := writePrevAt
  links.prev.newData := newPrev

  // The cluster is at the list's ends: known with the ends themselves.
  private val isHead = LateEqual(headRead, move.cluster)
  private val isTail = LateEqual(tailRead, move.cluster)
  private val wasHead = RegNext(isHead)
  private val wasTail = RegNext(isTail)

  // The list a cluster is appended to is empty: known one step before.
  private val first = RegNext(!isFilled(move.device, move.to))

  // Whether the neighbours point back.
  private val linked = LateEqual(nextRead, move.cluster, wasHead) && LateEqual(prevRead, move.cluster, wasTail)
  private val checking = RegNext(step === Step.detach, false.B)
  private val broken = checking && !linked
  assert(!broken, "a neighbour in a list does not point back at the cluster")
  io.fault := RegNext(broken, false.B)
  io.view.nonEmpty := VecInit(filled.map(_.asUInt))

  // The head of a list that is also all of it goes to the same list: nothing to do.
  private val stays = request.fromHead && request.alone && request.from === request.to
  private val inside = request.unlink && !request.fromHead

  switch(step) {
    // Fetch the ends of the list the cluster leaves, and its links; or the tail it is appended to.
    is(Step.idle) {
      when(starting) {
        readHead := true.B
        readHeadAt := endsAddress(request.device, request.from)
        readTail := true.B
        readTailAt := endsAddress(request.device, Mux(inside, request.from, request.to))
        when(inside) {
          readNext := true.B
          readNextAt := request.cluster
          readPrev := true.B
          readPrevAt := request.cluster
        }
        step := Mux(stays, Step.idle, Step.capture)
      }
    }

    is(Step.capture) {
      when(move.fromHead) {
        writeHead := !move.alone
        writeHeadAt := endsAddress(move.device, move.from)
        newHead := move.next
        setFilled(move.device, move.from, !move.alone)
      }
      step := Mux(move.unlink && !move.fromHead, Step.neighbours, Step.attach)
    }

    // Fetch the links that must point back at the cluster, and the tail of the list it goes to.
    is(Step.neighbours) {
      readNext := !isHead
      readNextAt := prev
      readPrev := !isTail
      readPrevAt := next
      readTail := move.push
      readTailAt := endsAddress(move.device, move.to)
      step := Step.detach
    }

    // Close the gap.
    is(Step.detach) {
      writeHead := wasHead && !wasTail
      writeHeadAt := endsAddress(move.device, move.from)
      newHead := next
      writeTail := wasTail && !wasHead
      writeTailAt := endsAddress(move.device, move.from)
      newTail := prev
      setFilled(move.device, move.from, !(wasHead && wasTail))
      writeNext := !wasHead && !wasTail
      writeNextAt := prev
      newNext := next
      writePrev := !wasHead && !wasTail
      writePrevAt := next
      newPrev := prev
      step := Mux(move.push, Step.attach, Step.idle)
    }

    // Append after the tail.
    is(Step.attach) {
      writeHead := first
      writeTail := true.B
      setFilled(move.device, move.to, true.B)
      writeNext := !first
      writeNextAt := tail
      writePrev := !first
      newPrev := tail
      assert(first || tail =/= move.cluster, "a cluster is put on the list whose tail it already is")
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

  when(io.move.valid) {
    val wanted = io.move.bits
    assert(io.room, "a list move is asked for while another one waits")
    assert(wanted.unlink || wanted.push, "a list move that moves nothing")
    assert(!wanted.fromHead || (wanted.unlink && wanted.push), "a head leaves its list and goes nowhere")
    assert(
      !wanted.unlink || wanted.fromHead || !wanted.push || wanted.from =/= wanted.to,
      "a cluster goes to the list it is on"
    )
  }
  assert(
    !(starting && request.unlink && !isFilled(request.device, request.from)),
    "a cluster is taken off an empty list"
  )
  assert(!(io.query.peek && !io.view.idle), "a list's ends are read during a move")
  assert(!(io.query.look.valid && (starting && inside || step === Step.neighbours)), "two readers of links at once")
  assert(!(readHead && writeHead && readHeadAt === writeHeadAt), "a list's head is read while it is written")
  assert(!(readTail && writeTail && readTailAt === writeTailAt), "a list's tail is read while it is written")
  assert(!(readNext && writeNext && readNextAt === writeNextAt), "a next link is read while it is written")
  assert(!(readPrev && writePrev && readPrevAt === writePrevAt), "a prev link is read while it is written")
}
