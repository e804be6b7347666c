// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** Which cluster an allocation without a (good) hint looks at next: the kernel's `swap_alloc_slow()` over the available
  * devices, and `cluster_alloc_swap_entry()` over a device's lists.
  *
  * The available devices come in turn, each put behind its equals before it is tried; on a device the lists in the order
  * of AllocWalk. It opens clusters; the executor searches them and relocates them. While one is searched, the one behind
  * it in its list is read already, so a list is gone through at one cluster in 3 cycles.
  */
class SlowPath(p: Params) extends Module {
  val io = IO(new Bundle {

    /** Begin, for this order, for a hint or not; both steady until the end. */
    val start = Input(Bool())
    val order = Input(UInt(p.orderBits.W))
    val hinting = Input(Bool())

    /** The device table and the available list show all changes. */
    val settled = Input(Bool())
    val devices = Input(Vec(p.devices, new SwapDevice(p)))
    val first = Flipped(Valid(UInt(p.deviceBits.W)))
    val successor = Flipped(Valid(UInt(p.deviceBits.W)))
    val members = Input(UInt(p.devices.W))
    val eligible = Output(UInt(p.devices.W))
    val requeue = Valid(UInt(p.deviceBits.W))

    // The lists.
    val listsIdle = Input(Bool())
    val nonEmpty = Input(Vec(p.devices, UInt(p.lists.W)))
    val peek = Output(Bool())
    val peekList = Output(UInt(p.listBits.W))
    val ends = Input(new ListEnds(p))
    val look = Valid(UInt(p.clusterBits.W))
    val behind = Input(UInt(p.clusterBits.W))

    // The store.
    val read = Valid(UInt(p.clusterBits.W))
    val open = Valid(UInt(p.clusterBits.W))

    /** Search the open cluster, from the next cycle on. */
    val search = Output(Bool())

    /** It was searched, and slots in it were given, or not. */
    val searched = Input(Bool())
    val gave = Input(Bool())

    /** Nothing was found (one cycle). */
    val failed = Output(Bool())

    // Where the open cluster was found: it is the head of `list`, and what follows there.
    val device = Output(UInt(p.deviceBits.W))
    val list = Output(UInt(p.listBits.W))
    val next = Output(UInt(p.clusterBits.W))
    val last = Output(Bool())
    val only = Output(Bool())
    val position = Output(UInt(AllocWalk.bits(p).W))
  })

  private object State extends ChiselEnum {
    val idle, pick, visit, walk, choose, ends, fetch, load, search, commit, turn = Value
  }
  private val state = RegInit(State.idle)

  // The walk along the available list.
  private val device = Reg(UInt(p.deviceBits.W))
  private val successor = Reg(Valid(UInt(p.deviceBits.W)))
  private val visits = Reg(UInt(log2Ceil(SlowPath.maxVisits(p) + 1).W))
  private val visited = RegNext(At(io.devices, device))
  private val isBlkdev = visited.has(MemMap.DeviceFlags.Flags.Blkdev)
  private val holds = RegNext(At(io.nonEmpty, device))

  // The walk along a device's lists, and along one of them from its head to what was its tail at the start.
  private val position = Reg(UInt(AllocWalk.bits(p).W))
  private val list = Reg(UInt(p.listBits.W))
  private val whole = Reg(Bool())
  private val current, head, tail, next = Reg(UInt(p.clusterBits.W))
  private val last = current === tail
  private val listWalk = Module(new AllocWalk(p))
  listWalk.io.order := io.order
  listWalk.io.nonEmpty := holds
  listWalk.io.from := position
  listWalk.io.freeFirst := visited.has(MemMap.DeviceFlags.Flags.Discard)

  io.eligible := RegNext(VecInit(io.devices.map(d => !io.hinting || d.hintable)).asUInt)
  io.requeue.valid := false.B
  io.requeue.bits := device
  io.peek := false.B
  io.peekList := listWalk.io.list
  io.look.valid := false.B
  io.look.bits := io.ends.head
  io.read.valid := false.B
  io.read.bits := next
  io.open.valid := false.B
  io.open.bits := current
  io.search := false.B
  io.failed := false.B
  io.device := device
  io.list := list
  io.next := next
  io.last := last
  io.only := head === tail
  io.position := position

  switch(state) {
    is(State.idle) {
      visits := 0.U
      when(io.start) {
        state := State.pick
      }
    }

    // Start at the head of the available list.
    is(State.pick) {
      device := io.first.bits
      when(io.settled) {
        when(io.first.valid) {
          state := State.visit
        }.otherwise {
          fail()
        }
      }
    }

    // The successor is noted before the device goes behind its equals.
    is(State.visit) {
      successor := io.successor
      io.requeue.valid := true.B
      visits := visits + 1.U
      position := 0.U
      state := State.walk
    }

    // What the lists hold is known one cycle after they have come to rest.
    is(State.walk) {
      when(io.order =/= 0.U && !isBlkdev) {
        fail()
      }.elsewhen(io.listsIdle && RegNext(io.listsIdle, false.B)) {
        state := State.choose
      }
    }

    is(State.choose) {
      position := listWalk.io.position
      list := listWalk.io.list
      whole := listWalk.io.whole
      io.peek := listWalk.io.valid
      when(listWalk.io.valid) {
        state := State.ends
      }.otherwise {
        leaveDevice()
      }
    }

    is(State.ends) {
      state := State.fetch
    }

    is(State.fetch) {
      current := io.ends.head
      head := io.ends.head
      tail := io.ends.tail
      io.read.valid := true.B
      io.read.bits := io.ends.head
      io.look.valid := true.B
      state := State.load
    }

    is(State.load) {
      io.open.valid := true.B
      io.search := true.B
      state := State.search
    }

    // The cluster behind the one that is searched: its link is there now. A list that comes back to where it began
    // begins with its head again.
    is(State.search) {
      next := Mux(last, head, io.behind)
      io.read.valid := whole && !last
      io.read.bits := io.behind
      io.look.valid := whole && !last && io.behind =/= tail
      io.look.bits := io.behind
      state := State.commit
    }

    is(State.commit) {
      io.read.valid := whole && !last
      when(io.searched) {
        when(io.gave) {
          state := State.idle
        }.elsewhen(whole && !last) {
          state := State.turn
        }.otherwise {
          position := position + 1.U
          state := State.walk
        }
      }
    }

    is(State.turn) {
      current := next
      io.open.valid := true.B
      io.open.bits := next
      io.search := true.B
      state := State.search
    }
  }

  /** After a failure on a device: the end of the loop in `swap_alloc_slow()`. A large order has one attempt; the walk
    * starts over when the device to come has left the list. The number of visits is bounded, which the kernel's is not.
    */
  private def leaveDevice(): Unit =
    when(io.order =/= 0.U || !successor.valid || visits === SlowPath.maxVisits(p).U) {
      fail()
    }.otherwise {
      device := successor.bits
      state := Mux(At(VecInit(io.members.asBools), successor.bits), State.visit, State.pick)
    }

  private def fail(): Unit = {
    io.failed := true.B
    state := State.idle
  }

  assert(!(io.start && state =/= State.idle), "a slow path begins before the one before it ended")
  assert(!(io.searched && state =/= State.commit), "a cluster was searched that was not asked for")
}

object SlowPath {

  /** Visits of devices an allocation makes at most. */
  def maxVisits(p: Params): Int = 2 * p.devices
}
