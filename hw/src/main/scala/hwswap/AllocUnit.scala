// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** ALLOC and hintAlloc: the kernel's `swap_alloc_fast()`, then `swap_alloc_slow()`.
  *
  * The CPU's hint is tried first. Then the available devices in turn, each put behind its equals before it is tried; on
  * a device the lists in the order of AllocWalk. Every scan ends with the cluster in its new place and the CPU's hint
  * written. hintAlloc does the same, but gives slots to H instead of K and passes over devices that take no hints.
  *
  * A hit of the hint takes 6 cycles, and 5 more when the cluster changes its list. The slow path takes 14 for each
  * cluster that is scanned, 3 before the first one on the first device, and 3 for each further device. A scan takes one
  * cycle more for each further part of the row it looks at.
  */
class AllocUnit(p: Params) extends CoreUnit(p) {
  private object State extends ChiselEnum {
    val idle, row, commit, moving, pick, visit, walk, peek, peeked, head = Value
  }
  private val state = RegInit(State.idle)

  // The attempt under way.
  private val fast = Reg(Bool())
  private val deviceNumber = Reg(UInt(p.deviceBits.W))
  private val from = Reg(UInt(p.slotBits.W))
  private val granted = Reg(Bool())
  private val at = Reg(UInt(p.slotBits.W))

  // The slow path: the walk along the available list, and the walk along a device's lists.
  private val next = Reg(Valid(UInt(p.deviceBits.W)))
  private val visits = Reg(UInt(log2Ceil(AllocUnit.maxVisits(p) + 1).W))
  private val position = Reg(UInt(AllocWalk.bits(p).W))
  private val list = Reg(UInt(p.listBits.W))
  private val scans = Reg(UInt(p.clusterCountBits.W))

  private val hinting = req.op === CoreOp.hintAlloc
  private val tried = At(view.devices, deviceNumber)
  private val slots = RegNext((1.U << req.order)(p.countBits - 1, 0))
  private val validRequest = req.cpu < p.cpus.U && req.order < p.orders.U

  private val listWalk = Module(new AllocWalk(p))
  listWalk.io.order := req.order
  listWalk.io.nonEmpty := At(view.nonEmpty, deviceNumber)
  listWalk.io.from := position

  // What the cluster's count would be after a success: steady when the row has been searched.
  private val larger = RegNext(view.meta.count + slots)
  private val filled = RegNext(larger === p.slots.U)
  private val empty = RegNext(view.meta.count === 0.U)
  private val full = RegNext(view.meta.count === p.slots.U)

  access.eligible := VecInit(view.devices.map(d => !hinting || d.hintable)).asUInt
  access.cursor := deviceNumber
  access.findOrder := req.order
  access.range.start := from
  access.range.end := p.slots.U
  access.peekDevice := deviceNumber
  access.peekList := listWalk.io.list

  switch(state) {
    // The CPU's hint has just been read.
    is(State.idle) {
      when(io.start) {
        fast := true.B
        visits := 0.U
        deviceNumber := view.hint.device
        from := view.hint.slot
        access.open.valid := true.B // which does no harm if there is no hint
        access.open.bits := view.hint.cluster
        access.rowOp := RowOp.find
        access.range.start := view.hint.slot
        when(!validRequest) {
          finish(StatusCode.BadCpu)
        }.elsewhen(view.hint.valid) {
          state := State.row
        }.otherwise {
          state := State.pick
        }
      }
    }

    // A cluster reached by the hint may have become unusable for the order; the hint stays as it is then. One from a
    // list is usable because of the list it was on. Without write permission nothing is given, as if nothing had been
    // found.
    is(State.row) {
      granted := view.found && tried.info.writeok
      at := view.foundSlot
      when(view.opened) {
        when(fast && !usable) {
          access.cancel := true.B
          state := State.pick
        }
        assert(
          fast || ListId(view.meta.flag, view.meta.order, p) === list,
          "a cluster's flag and order differ from the list it was found on"
        )
      }
      when(view.found || view.rowsDone) {
        state := State.commit
      }
    }

    is(State.commit) {
      commit()
    }

    is(State.moving) {
      when(settled) {
        scanned()
      }
    }

    // Start at the head of the available list.
    is(State.pick) {
      fast := false.B
      deviceNumber := view.first.bits
      when(view.first.valid) {
        state := State.visit
      }.otherwise {
        fail()
      }
    }

    // The cursor's successor is noted before the cursor's device goes behind its equals.
    is(State.visit) {
      next := view.successor
      access.requeue.valid := true.B
      access.requeue.bits := deviceNumber
      visits := visits + 1.U
      position := 0.U
      scans := 0.U
      when(req.order =/= 0.U && !tried.has(MemMap.DeviceFlags.Flags.Blkdev)) {
        fail()
      }.otherwise {
        state := State.walk
      }
    }

    is(State.walk) {
      from := 0.U
      state := State.peek
    }

    is(State.peek) {
      access.peek := listWalk.io.valid
      position := listWalk.io.position
      list := listWalk.io.list
      when(listWalk.io.position =/= position) {
        scans := 0.U
      }
      when(listWalk.io.valid) {
        state := State.peeked
      }.otherwise {
        leaveDevice()
      }
    }

    is(State.peeked) {
      state := State.head
    }

    is(State.head) {
      access.open.valid := true.B
      access.open.bits := view.ends.head
      access.rowOp := RowOp.find
      state := State.row
    }
  }

  /** `cluster_is_usable()`; a FREE cluster has no table, an off-list one is in the kernel's hands. */
  private def usable: Bool = view.meta.flag.isOneOf(ClusterFlag.nonfull, ClusterFlag.frag) &&
    (req.order === 0.U || req.order === view.meta.order)

  /** The end of `alloc_swap_scan_cluster()`: give the slots, relocate the cluster, write the CPU's hint. A cluster that
    * was taken from a list goes to the tail of its new one in any case, one reached by the hint only if its flag
    * changes.
    */
  private def commit(): Unit = {
    val behind = at +& slots
    access.range.start := at
    access.range.end := behind(p.countBits - 1, 0)
    val count = Mux(granted, larger, view.meta.count)
    val becomesFull = Mux(granted, filled, full)
    val flag = MuxCase(
      ClusterFlag.frag,
      Seq((!granted && empty) -> ClusterFlag.free, becomesFull -> ClusterFlag.full)
    )
    val order = Mux(granted && empty, req.order, view.meta.order)
    val relist = !fast || flag =/= view.meta.flag
    store(deviceNumber, count, flag, order, relist)
    io.events.scan := true.B
    when(granted) {
      access.rowOp := Mux(hinting, RowOp.setH, RowOp.setK)
      access.change.op := DeviceOp.adjust
    }
    access.change.device := deviceNumber
    access.change.usedDelta := slots.zext
    access.change.hintedDelta := Mux(hinting, slots.zext, 0.S)

    access.newHint.valid := true.B
    access.newHint.bits.valid := granted && !filled && behind +& slots <= p.slots.U
    access.newHint.bits.device := deviceNumber
    access.newHint.bits.cluster := view.cluster
    access.newHint.bits.slot := behind(p.slotBits - 1, 0)
    when(relist || (granted && req.order > p.partSlotBits.U)) {
      state := State.moving
    }.otherwise {
      scanned()
    }
  }

  /** After a scan: the answer, or on to the next cluster. A whole list is gone through until it is empty; were its
    * clusters to come back to it, as many scans as the device has clusters are enough.
    */
  private def scanned(): Unit = {
    val lapped = scans === tried.clusters
    when(granted) {
      succeed()
    }.elsewhen(fast) {
      state := State.pick
    }.otherwise {
      val stay = AllocWalk.whole(position) && !lapped
      assert(!lapped, "a list walk takes more scans than the device has clusters")
      position := Mux(stay, position, position + 1.U)
      scans := Mux(stay, scans + 1.U, 0.U)
      state := State.walk
    }
  }

  /** After a failure on a device: the end of the loop in `swap_alloc_slow()`. A large order has one attempt; the walk
    * starts over when the device to come has left the list. The number of visits is bounded, which the kernel's is not.
    */
  private def leaveDevice(): Unit =
    when(req.order =/= 0.U || !next.valid || visits === AllocUnit.maxVisits(p).U) {
      fail()
    }.otherwise {
      deviceNumber := next.bits
      state := Mux(At(VecInit(view.members.asBools), next.bits), State.visit, State.pick)
    }

  private def succeed(): Unit = {
    finish(StatusCode.Ok)
    io.resp.device := deviceNumber
    io.resp.offset := (view.cluster - tried.info.base)(p.clusterBits - 1, 0) ## at
    io.resp.epoch := tried.info.epoch
    io.events.allocFast := fast
    io.events.allocNonfull := !fast && position === AllocWalk.Nonfull.U
    io.events.allocFree := !fast && position === AllocWalk.Free.U
    io.events.allocFrag := !fast && position === AllocWalk.Frag.U
    io.events.allocSteal := !fast && position > AllocWalk.Frag.U
    state := State.idle
  }

  private def fail(): Unit = {
    finish(StatusCode.NoSpace)
    io.events.allocFail := true.B
    state := State.idle
  }
}

object AllocUnit {

  /** Visits of devices an allocation makes at most. */
  def maxVisits(p: Params): Int = 2 * p.devices
}
