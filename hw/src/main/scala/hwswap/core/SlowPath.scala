// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Selects the next cluster for an allocation without a (good) hint: the kernel's `swap_alloc_slow()` over the
  * available devices, and `cluster_alloc_swap_entry()` over a device's lists.
  *
  * The available devices come in turn, each put after its equals before it is tried; on a device the lists in the
  * order of AllocWalk. It opens clusters; the executor searches them and relocates them. While one is searched, the one
  * after it in its list is read already, so a list is gone through at one cluster in 3 cycles.
  *
  * With policy INDEXED, the index names a cluster in the place of a walk along a device's lists; and where a hint leads
  * to a cluster that has no run from there on, all of that cluster is searched before anything else is tried.
  */
class SlowPath(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val work = Flipped(new SlowSearch)

    /** The policy, which says which lists are searched in which order; and the node of the CPU. */
    val policy = Input(new Policy)
    val node = Input(UInt(Policy.NodeBits.W))

    /** The device table and the available list show all changes. */
    val settled = Input(Bool())
    val devices = Input(Vec(p.devices, new SwapDevice))
    val available = Input(new AvailableView)
    val requeue = Valid(UInt(p.deviceBits.W))

    // The lists.
    val query = Output(new ListQuery)
    val lists = Input(new ListsView)

    // A rotating device's hint.
    val readHint = Valid(new HintKey)

    /** It may be read in this cycle. */
    val mayReadHint = Output(Bool())
    val hint = Input(new CpuHint)

    /** The index, and that all changes are in it. */
    val index = new IndexSearch
    val indexIdle = Input(Bool())

    // The store.
    val read = Valid(UInt(p.clusterBits.W))
    val open = Valid(UInt(p.clusterBits.W))
  })

  private object State extends ChiselEnum {
    val idle, pick, visit, walk, recall, recalled, note, noted, choose, ask, answered, ends, fetch, load, search,
        commit, turn = Value
  }
  private val state = RegInit(State.idle)

  // The walk along the available list.
  private val device = Reg(UInt(p.deviceBits.W))
  private val successor = Reg(Valid(UInt(p.deviceBits.W)))
  private val visits = Reg(UInt(log2Ceil(SlowPath.MaxVisits + 1).W))
  private val visited = RegNext(At(io.devices, device))
  private val large = RegNext(io.work.order =/= 0.U)
  private val isBlkdev = visited.has(MemMap.DeviceFlags.Flags.Blkdev)
  private val holds = Reg(UInt(p.lists.W))
  holds := At(io.lists.nonEmpty, device)

  private val choice = Module(new DeviceChoice)
  choice.io.ask := state.isOneOf(State.pick, State.visit) && io.settled
  choice.io.after := state === State.visit
  choice.io.cursor := device
  choice.io.policy := io.policy
  choice.io.node := io.node
  choice.io.devices := io.devices
  choice.io.available := io.available

  // The walk along a device's lists, and along one list from its head to its tail at the start.
  private val position = Reg(UInt(AllocWalk.bits.W))
  private val list = Reg(UInt(p.listBits.W))
  private val whole = Reg(Bool())
  private val current, head, tail, stop, next = Reg(UInt(p.clusterBits.W))

  /** The cluster of this list is its last. */
  private val last = Reg(Bool())

  /** The cluster to read, if any: known one cycle before. */
  private val readAt = Reg(UInt(p.clusterBits.W))
  private val listWalk = Module(new AllocWalk)
  listWalk.io.order := io.work.order
  listWalk.io.nonEmpty := holds
  listWalk.io.from := position
  private val before = io.policy.scan === ScanPolicyCode.FreeFirst.U
  listWalk.io.freeFirst := visited.has(MemMap.DeviceFlags.Flags.Discard) || before

  // With policy FREE_FIRST, as many clusters of FRAG are looked at as were there before NONFULL was gone through.
  private val noted = Reg(Bool())
  private val fragThere = Reg(Bool())
  private val fragTail = Reg(UInt(p.clusterBits.W))
  private val ownFrag = ListId(ClusterFlag.frag, io.work.order)
  listWalk.io.allFrag := before
  listWalk.io.noFrag := before && !fragThere

  // The index names one place on a device.
  private val indexes = p.indexed.B && io.policy.placement === PlacementPolicyCode.Indexed.U
  private val asked = RegInit(false.B)
  io.work.indexed := asked
  io.index.query.valid := false.B
  io.index.query.bits.order := io.work.order
  io.index.query.bits.range.first := visited.info.base
  io.index.query.bits.range.last := (visited.info.base + visited.clusters - 1.U)(p.clusterBits - 1, 0)
  private val freeThere = VecInit(holds.asBools)(ListId.free)
  private val takesFree = freeThere && (visited.has(MemMap.DeviceFlags.Flags.Discard) || !io.index.ofOrder.valid)
  private val named = io.index.ofOrder.valid || (!large && io.index.ofAny.valid)
  private val ofIndex = Mux(io.index.ofOrder.valid, io.index.ofOrder.bits, io.index.ofAny.bits)

  // A rotating device's own place, or the CPU's, before any device was visited.
  private val resumed = Reg(Bool())
  private val resuming = RegInit(false.B)
  private val place = Reg(new CpuHint)
  io.work.resuming := resuming
  io.work.resumeBehind := place.last
  io.work.resumeWhole := place.whole
  io.readHint.valid := false.B
  io.mayReadHint := state === State.walk
  io.readHint.bits.ofDevice := true.B
  io.readHint.bits.index := device
  io.readHint.bits.order := io.work.order

  // It follows from the state alone, as it goes far; where nothing is read next, it does not matter.
  private val lateRead = Module(new LateChoice)
  lateRead.io.values := VecInit(io.hint.cluster, io.lists.newHead)
  lateRead.io.chosen := VecInit(state === State.recall, state === State.ends)
  lateRead.io.other := MuxLookup(state, readAt)(
    Seq(
      State.idle -> io.work.place.cluster,
      State.walk -> ofIndex,
      State.answered -> ofIndex,
      State.search -> Mux(last, head, io.lists.next),
      State.commit -> Mux(resuming, place.cluster, readAt)
    )
  )
  readAt := lateRead.io.value

  private val goesOn = whole && !resuming && current =/= stop

  io.requeue.valid := false.B
  io.requeue.bits := device
  io.query.peek := false.B
  io.query.peekDevice := device
  io.query.peekList := listWalk.io.list
  io.query.look.valid := false.B
  io.query.look.bits := io.lists.ends.head
  io.read.valid := false.B
  io.read.bits := readAt
  io.open.valid := false.B
  io.open.bits := current
  io.work.search := false.B
  private val failing = WireDefault(false.B)
  io.work.failed := RegNext(failing, false.B)
  io.work.device := device
  io.work.list := list
  io.work.next := next

  // Clusters whose scan failed leave NONFULL, but go after the others on FRAG.
  io.work.alone := Mux(list >= ListId.frag(0).U && list <= ListId.frag(p.orders - 1).U, head === tail, last)
  io.work.position := position

  switch(state) {
    is(State.idle) {
      visits := 0.U
      asked := false.B
      when(io.work.start) {
        state := Mux(io.work.again, State.recalled, State.pick)
        when(io.work.again) {
          device := io.work.place.device
          place := io.work.place
          place.whole := true.B
          position := 0.U
        }
      }
    }

    // Start at the head of the available list.
    is(State.pick) {
      when(choice.io.done && io.settled) {
        device := choice.io.device.bits
        when(choice.io.device.valid) {
          state := State.visit
        }.otherwise {
          fail()
        }
      }
    }

    // The successor is noted before the device goes after its equals.
    is(State.visit) {
      successor := choice.io.device
      position := 0.U
      asked := false.B
      resumed := false.B
      noted := false.B
      when(choice.io.done) {
        io.requeue.valid := true.B
        visits := visits + 1.U
        state := State.walk
      }
    }

    // The lists' contents are known one cycle after they have come to rest.
    is(State.walk) {
      when(large && !isBlkdev) {
        fail()
      }.elsewhen(!visited.has(MemMap.DeviceFlags.Flags.Solidstate) && !resumed) {
        io.readHint.valid := true.B
        resumed := true.B
        state := State.recall
      }.elsewhen(io.lists.idle && RegNext(io.lists.idle, false.B)) {
        // A search that was begun goes on, whatever the policy is now.
        when(asked) {
          leaveDevice()
        }.elsewhen(indexes && position === 0.U) {
          state := State.ask
        }.otherwise {
          state := Mux(before && !noted, State.note, State.choose)
        }
      }
    }

    // On a rotating device: the place where the last CPU left off.
    is(State.recall) {
      place := io.hint
      state := State.recalled
    }
    is(State.recalled) {
      current := place.cluster
      io.read.valid := place.valid
      resuming := place.valid
      state := Mux(place.valid, State.load, State.walk)
    }

    // A cluster of the order, FREE, a cluster of any order: the first there is; FREE before all on a discarding device.
    is(State.ask) {
      when(io.indexIdle) {
        io.index.query.valid := true.B
        asked := true.B
        state := State.answered
      }
    }
    is(State.answered) {
      io.query.peekList := ListId.free
      when(io.index.ready) {
        list := ListId.free
        whole := false.B
        place.cluster := ofIndex
        place.valid := true.B
        place.whole := true.B
        when(takesFree) {
          io.query.peek := true.B
          position := AllocWalk.Free.U
          state := State.ends
        }.elsewhen(named) {
          position := Mux(io.index.ofOrder.valid, AllocWalk.Nonfull.U, (AllocWalk.Frag + 1).U)
          state := State.recalled
        }.otherwise {
          leaveDevice()
        }
      }
    }

    is(State.note) {
      io.query.peek := true.B
      io.query.peekList := ownFrag
      noted := true.B
      fragThere := VecInit(holds.asBools)(ownFrag)
      state := State.noted
    }
    is(State.noted) {
      state := State.choose
    }

    is(State.choose) {
      when(RegNext(state === State.noted, false.B)) {
        fragTail := io.lists.ends.tail
      }
      position := listWalk.io.position
      list := listWalk.io.list
      whole := listWalk.io.whole
      io.query.peek := listWalk.io.valid
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
      current := io.lists.ends.head
      head := io.lists.ends.head
      tail := io.lists.ends.tail
      last := io.lists.ends.head === io.lists.ends.tail
      stop := Mux(before && position === AllocWalk.Frag.U, fragTail, io.lists.ends.tail)
      io.read.valid := true.B
      io.query.look.valid := true.B
      state := State.load
    }

    is(State.load) {
      io.open.valid := true.B
      io.work.search := true.B
      state := State.search
    }

    // The cluster after the one that is searched: its link is there now. A list that comes back to where it began
    // begins with its head again.
    is(State.search) {
      next := Mux(last, head, io.lists.next)
      io.query.look.valid := goesOn && io.lists.next =/= tail
      io.query.look.bits := io.lists.next
      state := State.commit
    }

    is(State.commit) {
      io.read.valid := goesOn
      when(io.work.searched) {
        resuming := false.B
        when(io.work.allocated) {
          state := State.idle
        }.elsewhen(resuming && indexes && !asked && !place.whole) {
          place.whole := true.B
          state := State.recalled
        }.elsewhen(resuming) {
          state := afterPlace
        }.elsewhen(goesOn) {
          state := State.turn
        }.otherwise {
          position := position + 1.U
          state := State.walk
        }
      }
    }

    is(State.turn) {
      current := next
      last := next === tail
      io.open.valid := true.B
      io.open.bits := next
      io.work.search := true.B
      state := State.search
    }
  }

  /** After a hint that led to nothing: the CPU's, which comes before all devices, or a device's. */
  private def afterPlace: State.Type = Mux(visits === 0.U, State.pick, State.walk)

  /** After a failure on a device: the end of the loop in `swap_alloc_slow()`. A large order has one attempt; the walk
    * starts over when the device to come has left the list. The number of visits is bounded, which the kernel's is not.
    */
  private def leaveDevice(): Unit =
    when(large || !successor.valid || visits === SlowPath.MaxVisits.U) {
      fail()
    }.otherwise {
      device := successor.bits
      state := Mux(At(VecInit(io.available.members.asBools), successor.bits), State.visit, State.pick)
    }

  private def fail(): Unit = {
    failing := true.B
    state := State.idle
  }

  assert(
    !(io.work.start && state =/= State.idle),
    "a slow path begins before the one before it ended"
  )
  assert(!(io.work.searched && state =/= State.commit), "a cluster was searched that was not asked for")
}

object SlowPath {

  /** Visits of devices an allocation makes at most: two for each of 32 devices. */
  val MaxVisits: Int = 64
}
