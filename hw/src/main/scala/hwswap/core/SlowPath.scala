// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** Which cluster an allocation without a (good) hint looks at next: the kernel's `swap_alloc_slow()` over the available
  * devices, and `cluster_alloc_swap_entry()` over a device's lists.
  *
  * The available devices come in turn, each put behind its equals before it is tried; on a device the lists in the
  * order of AllocWalk. It opens clusters; the executor searches them and relocates them. While one is searched, the one
  * behind it in its list is read already, so a list is gone through at one cluster in 3 cycles.
  *
  * With policy INDEXED, the index names a cluster in the place of a walk along a device's lists; and where a hint leads
  * to a cluster that has no run from there on, all of that cluster is searched before anything else is tried.
  */
class SlowPath(p: Params) extends Module {
  val io = IO(new Bundle {

    /** Begin, for this order, for a hint or not; both steady until the end. */
    val start = Input(Bool())
    val order = Input(UInt(p.orderBits.W))
    val hinting = Input(Bool())

    /** Begin with all of this hint's cluster. */
    val again = Input(Bool())
    val place = Input(new CpuHint(p))

    /** The host wants to be asked what can be reclaimed, and more than half of swap is in use. */
    val reclaims = Input(Bool())

    /** Which lists, in which order; and the node of the CPU. */
    val policy = Input(new Policy)
    val node = Input(UInt(Policy.NodeBits.W))

    /** The device table and the available list show all changes. */
    val settled = Input(Bool())
    val devices = Input(Vec(p.devices, new SwapDevice(p)))
    val first = Flipped(Valid(UInt(p.deviceBits.W)))
    val successor = Flipped(Valid(UInt(p.deviceBits.W)))
    val members = Input(UInt(p.devices.W))
    val places = Input(Vec(p.devices, new AvailablePlace(p)))
    val eligible = Output(UInt(p.devices.W))
    val requeue = Valid(UInt(p.deviceBits.W))

    // The lists.
    val listsIdle = Input(Bool())
    val nonEmpty = Input(Vec(p.devices, UInt(p.lists.W)))
    val peek = Output(Bool())
    val peekList = Output(UInt(p.listBits.W))
    val ends = Input(new ListEnds(p))
    val newHead = Input(UInt(p.clusterBits.W))
    val look = Valid(UInt(p.clusterBits.W))
    val behind = Input(UInt(p.clusterBits.W))

    // A rotating device's hint.
    val readHint = Valid(new HintKey(p))

    /** It may be read in this cycle. */
    val mayReadHint = Output(Bool())
    val hint = Input(new CpuHint(p))

    // The index: see ClusterIndex.
    val query = Valid(new IndexQuery(p))
    val indexReady = Input(Bool())
    val indexIdle = Input(Bool())
    val ofOrder = Flipped(Valid(UInt(p.clusterBits.W)))
    val ofAny = Flipped(Valid(UInt(p.clusterBits.W)))

    // The store.
    val read = Valid(UInt(p.clusterBits.W))
    val open = Valid(UInt(p.clusterBits.W))

    /** Search the open cluster, from the next cycle on. */
    val search = Output(Bool())

    /** It was reached by a hint, or by the index: search it behind this slot, or all of it, if it is usable. */
    val resuming = Output(Bool())
    val resumeBehind = Output(UInt(p.slotBits.W))
    val resumeWhole = Output(Bool())

    /** The index was asked for it, or for whether FREE is looked at. */
    val indexed = Output(Bool())

    /** It was searched, and slots in it were given, or not. */
    val searched = Input(Bool())
    val gave = Input(Bool())

    /** Instead, the host is asked, and the cluster taken off its list: all stays as it is here until `start` comes
      * again, when it goes on behind that cluster, or until slots of the cluster were given after all.
      */
    val parks = Input(Bool())
    val dismissed = Input(Bool())

    /** A cluster that changes its list meanwhile. */
    val moved = Flipped(Valid(UInt(p.clusterBits.W)))

    /** Nothing is asked here. */
    val mute = Output(Bool())

    /** Nothing was found (one cycle). */
    val failed = Output(Bool())

    // Where the open cluster was found: it is the head of `list`, and what follows there.
    val device = Output(UInt(p.deviceBits.W))
    val list = Output(UInt(p.listBits.W))
    val next = Output(UInt(p.clusterBits.W))
    val alone = Output(Bool())
    val position = Output(UInt(AllocWalk.bits(p).W))
  })

  private object State extends ChiselEnum {
    val idle, pick, visit, walk, recall, recalled, note, noted, choose, ask, answered, ends, fetch, load, search,
        commit, turn, parked = Value
  }
  private val state = RegInit(State.idle)

  // The walk along the available list.
  private val device = Reg(UInt(p.deviceBits.W))
  private val successor = Reg(Valid(UInt(p.deviceBits.W)))
  private val visits = Reg(UInt(log2Ceil(SlowPath.MaxVisits + 1).W))
  private val visited = RegNext(At(io.devices, device))
  private val large = RegNext(io.order =/= 0.U)
  private val isBlkdev = visited.has(MemMap.DeviceFlags.Flags.Blkdev)
  private val holds = Reg(UInt(p.lists.W))
  holds := At(io.nonEmpty, device)

  // With policies SEQUENTIAL and NODE_FIRST, the available list is read in another sequence.
  private val picker = Module(new DevicePicker(p))
  private val picking = RegInit(false.B)
  private val ranked = io.policy.device =/= DevicePolicyCode.RoundRobin.U
  picker.io.start := false.B
  picker.io.behind := state === State.visit
  picker.io.cursor := device
  picker.io.places := io.places
  picker.io.eligible := io.eligible
  picker.io.numbers := VecInit(io.devices.map(_.number))
  private val byNode = io.policy.device === DevicePolicyCode.NodeFirst.U
  picker.io.far := RegNext(VecInit(io.devices.map(d => byNode && d.node =/= io.node)).asUInt)
  private val choice = Mux(ranked, picker.io.device, Mux(state === State.visit, io.successor, io.first))
  private val chosen = !ranked || picker.io.done
  when(picker.io.start) {
    picking := true.B
  }.elsewhen(picker.io.done) {
    picking := false.B
  }

  // The walk along a device's lists, and along one of them from its head to what was its tail at the start.
  private val position = Reg(UInt(AllocWalk.bits(p).W))
  private val list = Reg(UInt(p.listBits.W))
  private val whole = Reg(Bool())
  private val current, head, tail, stop, next = Reg(UInt(p.clusterBits.W))

  /** The cluster of this list is its last. */
  private val last = Reg(Bool())

  /** What is read if anything is: known one cycle before. */
  private val readAt = Reg(UInt(p.clusterBits.W))
  private val listWalk = Module(new AllocWalk(p))
  listWalk.io.order := io.order
  listWalk.io.nonEmpty := holds
  listWalk.io.from := position
  private val before = io.policy.scan === ScanPolicyCode.FreeFirst.U
  listWalk.io.freeFirst := visited.has(MemMap.DeviceFlags.Flags.Discard) || before

  // With policy FREE_FIRST, as many clusters of FRAG are looked at as were there before NONFULL was gone through.
  private val noted = Reg(Bool())
  private val fragThere = Reg(Bool())
  private val fragTail = Reg(UInt(p.clusterBits.W))
  private val ownFrag = ListId(ClusterFlag.frag, io.order, p)
  listWalk.io.allFrag := before
  listWalk.io.noFrag := before && !fragThere
  listWalk.io.full := io.reclaims

  // Where FRAG ends for FREE_FIRST cannot be told any more when that cluster left it while the host was asked.
  private val lost = Reg(Bool())
  io.mute := RegNext(before && position === AllocWalk.Frag.U)

  // The index names one place on a device.
  private val indexes = p.indexed.B && io.policy.placement === PlacementPolicyCode.Indexed.U
  private val asked = RegInit(false.B)
  io.indexed := asked
  io.query.valid := false.B
  io.query.bits.order := io.order
  io.query.bits.range.first := visited.info.base
  io.query.bits.range.last := (visited.info.base + visited.clusters - 1.U)(p.clusterBits - 1, 0)
  private val freeThere = VecInit(holds.asBools)(ListId.free(p))
  private val takesFree = freeThere && (visited.has(MemMap.DeviceFlags.Flags.Discard) || !io.ofOrder.valid)
  private val named = io.ofOrder.valid || (!large && io.ofAny.valid)
  private val ofIndex = Mux(io.ofOrder.valid, io.ofOrder.bits, io.ofAny.bits)

  /** FREE was looked at first, and what the index named is still to be had if that was in vain: without a table. */
  private val freeFirst = Reg(Bool())

  // A rotating device's own place, or the CPU's, before any device was visited.
  private val resumed = Reg(Bool())
  private val resuming = RegInit(false.B)
  private val place = Reg(new CpuHint(p))
  io.resuming := resuming
  io.resumeBehind := place.last
  io.resumeWhole := place.whole
  io.readHint.valid := false.B
  io.mayReadHint := state === State.walk
  io.readHint.bits.ofDevice := true.B
  io.readHint.bits.index := device
  io.readHint.bits.order := io.order

  // It follows from the state alone, as it goes far; where nothing is read next, it does not matter.
  private val lateRead = Module(new LateChoice(p))
  lateRead.io.values := VecInit(io.hint.cluster, io.newHead)
  lateRead.io.chosen := VecInit(state === State.recall, state === State.ends)
  lateRead.io.other := MuxLookup(state, readAt)(
    Seq(
      State.idle -> io.place.cluster,
      State.walk -> ofIndex,
      State.answered -> ofIndex,
      State.search -> Mux(last, head, io.behind),
      State.commit -> Mux(resuming, place.cluster, readAt)
    )
  )
  readAt := lateRead.io.value

  private val goesOn = whole && !resuming && current =/= stop

  io.eligible := RegNext(VecInit(io.devices.map(d => !io.hinting || d.hintable)).asUInt)
  io.requeue.valid := false.B
  io.requeue.bits := device
  io.peek := false.B
  io.peekList := listWalk.io.list
  io.look.valid := false.B
  io.look.bits := io.ends.head
  io.read.valid := false.B
  io.read.bits := readAt
  io.open.valid := false.B
  io.open.bits := current
  io.search := false.B
  private val failing = WireDefault(false.B)
  io.failed := RegNext(failing, false.B)
  io.device := device
  io.list := list
  io.next := next

  // Clusters that are scanned in vain leave NONFULL, but go behind the others on FRAG.
  io.alone := Mux(list >= ListId.frag(0, p).U && list <= ListId.frag(p.orders - 1, p).U, head === tail, last)
  io.position := position

  switch(state) {
    is(State.idle) {
      visits := 0.U
      asked := false.B
      when(io.start) {
        state := Mux(io.again, State.recalled, State.pick)
        when(io.again) {
          device := io.place.device
          place := io.place
          place.whole := true.B
          position := 0.U
        }
      }
    }

    // Start at the head of the available list.
    is(State.pick) {
      picker.io.start := ranked && !picking && io.settled
      when(chosen && io.settled) {
        device := choice.bits
        when(choice.valid) {
          state := State.visit
        }.otherwise {
          fail()
        }
      }
    }

    // The successor is noted before the device goes behind its equals.
    is(State.visit) {
      picker.io.start := ranked && !picking && io.settled
      successor := choice
      position := 0.U
      asked := false.B
      resumed := false.B
      noted := false.B
      lost := false.B
      when(chosen) {
        io.requeue.valid := true.B
        visits := visits + 1.U
        state := State.walk
      }
    }

    // What the lists hold is known one cycle after they have come to rest.
    is(State.walk) {
      when(large && !isBlkdev) {
        fail()
      }.elsewhen(!visited.has(MemMap.DeviceFlags.Flags.Solidstate) && !resumed) {
        io.readHint.valid := true.B
        resumed := true.B
        state := State.recall
      }.elsewhen(io.listsIdle && RegNext(io.listsIdle, false.B)) {
        // What was begun goes on, whatever the policy is now.
        when(asked && freeFirst && named) {
          freeFirst := false.B
          goToNamed()
        }.elsewhen(asked) {
          leaveDevice()
        }.elsewhen(indexes && position === 0.U) {
          state := State.ask
        }.otherwise {
          state := Mux(before && !noted, State.note, State.choose)
        }
      }
    }

    // Where any CPU left off on a rotating device.
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
        io.query.valid := true.B
        asked := true.B
        state := State.answered
      }
    }
    is(State.answered) {
      io.peekList := ListId.free(p)
      when(io.indexReady) {
        list := ListId.free(p)
        whole := false.B
        place.cluster := ofIndex
        place.valid := true.B
        place.whole := true.B
        freeFirst := takesFree
        when(takesFree) {
          io.peek := true.B
          position := AllocWalk.Free.U
          state := State.ends
        }.elsewhen(named) {
          goToNamed()
        }.otherwise {
          leaveDevice()
        }
      }
    }

    is(State.note) {
      io.peek := true.B
      io.peekList := ownFrag
      noted := true.B
      fragThere := VecInit(holds.asBools)(ownFrag)
      state := State.noted
    }
    is(State.noted) {
      state := State.choose
    }

    is(State.choose) {
      when(RegNext(state === State.noted, false.B)) {
        fragTail := io.ends.tail
      }
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
      last := io.ends.head === io.ends.tail
      stop := Mux(before && position === AllocWalk.Frag.U && !lost, fragTail, io.ends.tail)
      io.read.valid := true.B
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
      io.look.valid := goesOn && io.behind =/= tail
      io.look.bits := io.behind
      state := State.commit
    }

    is(State.commit) {
      io.read.valid := goesOn
      when(io.searched && io.parks) {
        state := State.parked
      }.elsewhen(io.searched) {
        resuming := false.B
        when(io.gave) {
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

    // The lists may have changed: one that is gone through is begun anew.
    is(State.parked) {
      when(io.start || io.dismissed) {
        resuming := false.B
        state := Mux(io.start, Mux(resuming, afterPlace, State.walk), State.idle)
      }
      when(io.moved.valid && io.moved.bits === fragTail) {
        lost := true.B
      }
      when(io.start && !resuming && !whole) {
        position := position + 1.U
      }
    }

    is(State.turn) {
      current := next
      last := next === tail
      io.open.valid := true.B
      io.open.bits := next
      io.search := true.B
      state := State.search
    }
  }

  /** To the cluster that the index named. */
  private def goToNamed(): Unit = {
    position := Mux(io.ofOrder.valid, AllocWalk.Nonfull.U, (AllocWalk.Frag + 1).U)
    state := State.recalled
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
      state := Mux(At(VecInit(io.members.asBools), successor.bits), State.visit, State.pick)
    }

  private def fail(): Unit = {
    failing := true.B
    state := State.idle
  }

  assert(!(io.start && !state.isOneOf(State.idle, State.parked)), "a slow path begins before the one before it ended")
  assert(!(io.searched && state =/= State.commit), "a cluster was searched that was not asked for")
}

object SlowPath {

  /** Visits of devices an allocation makes at most: two for each of 32 devices. */
  val MaxVisits: Int = 64
}
