// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** CHECK: goes through every cluster and every list of a device and counts contradictions.
  *
  *   - each cluster: its count against its row, its flag and order against its count
  *   - each list: every member's flag and order against the list, its back link against the member before it, its place
  *     inside the device
  *   - together: the members of all lists against the clusters that have a list's flag, the counts against the device's
  *     numbers, its being available against both
  *
  * It takes 27 cycles per cluster, and 5 per member of a list.
  */
class CheckUnit(implicit p: Params) extends CoreUnit {
  private object State extends ChiselEnum {
    val idle, open, row, counted, nextList, peeked, ends, known, member, link, totals, report = Value
  }
  private val state = RegInit(State.idle)

  // Faults found, but for those of the last cycle.
  private val faults = Reg(UInt(32.W))
  private val wrong = RegInit(VecInit.fill(CheckUnit.AtOnce)(false.B))
  wrong.foreach(_ := false.B)
  private val withLast = faults + PopCount(wrong)
  faults := withLast
  private val index = Reg(UInt(p.clusterCountBits.W))
  private val used = Reg(UInt(p.usedBits.W))
  private val onLists, members = Reg(UInt(p.clusterCountBits.W))

  // The list walk.
  private val list = Reg(UInt(p.listBits.W))
  private val current, before, tail = Reg(UInt(p.clusterBits.W))
  private val atHead = Reg(Bool())

  private val number = deviceIndex(req.device)
  wholeRange()
  access.query.peekDevice := number
  access.query.peekList := list
  access.query.look.bits := current
  access.open.bits := current

  switch(state) {
    is(State.idle) {
      when(io.start) {
        Seq(faults, index, used, onLists, members, list).foreach(_ := 0.U)
        when(claimed) {
          state := State.open
        }.otherwise {
          finish(StatusCode.BadDevice)
        }
      }
    }

    // The clusters, by number.
    is(State.open) {
      access.open.valid := index < device.clusters
      access.open.bits := (device.info.base + index)(p.clusterBits - 1, 0)
      state := Mux(index < device.clusters, State.row, State.nextList)
    }
    is(State.row) {
      when(view.opened) {
        add(Seq(!flagFits))
        access.walk := RowWalk.count
        onLists := onLists + view.meta.listed
        state := State.counted
      }
    }
    is(State.counted) {
      when(view.walked) {
        add(Seq(view.used =/= view.meta.count))
        used := used + view.used
        index := index + 1.U
        state := State.open
      }
    }

    // The lists, from head to tail. A walk that leaves the device, or is longer than the device, is given up.
    is(State.nextList) {
      val present = At(view.lists.nonEmpty, number)
      access.query.peek := true.B
      atHead := true.B
      when(list === p.lists.U) {
        state := State.totals
      }.elsewhen(VecInit(present.asBools)(list)) {
        state := State.peeked
      }.otherwise {
        list := list + 1.U
      }
    }
    is(State.peeked) {
      state := State.ends
    }
    is(State.ends) {
      current := view.lists.ends.head
      tail := view.lists.ends.tail
      state := State.known
    }
    is(State.known)(state := State.member) // whose it is
    is(State.member) {
      when(!RegNext(device.owns(current)) || members === device.clusters) {
        add(Seq(true.B))
        list := list + 1.U
        state := State.nextList
      }.otherwise {
        access.open.valid := true.B
        access.query.look.valid := true.B
        state := State.link
      }
    }
    is(State.link) {
      when(view.opened) {
        add(
          Seq(
            !view.meta.listed || ListId(view.meta.flag, view.meta.order) =/= list,
            !atHead && view.lists.prev =/= before
          )
        )
        members := members + 1.U
        atHead := false.B
        before := current
        current := view.lists.next
        list := Mux(current === tail, list + 1.U, list)
        state := Mux(current === tail, State.nextList, State.known)
      }
    }

    is(State.totals) {
      val room = device.info.used =/= device.slots
      val sums = Seq(
        members =/= onLists,
        used =/= device.info.used,
        // A device that is full may be either.
        Mux(device.info.available, !device.info.writeok, device.info.writeok && room),
        At(VecInit(view.available.members.asBools), number) =/= device.info.available
      )
      add(sums)
      state := State.report
    }
    is(State.report) {
      finish(StatusCode.Ok)
      io.resp.offset := withLast
      state := State.idle
    }
  }

  private def add(faults: Seq[Bool]): Unit =
    for ((place, fault) <- wrong.zip(faults)) place := fault

  /** Flag and order may go with the count. All slots of a cluster on NONFULL may be bad ones. Off the lists are those
    * of a device that is not listed yet.
    */
  private def flagFits: Bool = {
    val empty = view.meta.count === 0.U
    val full = view.meta.count === p.slots.U
    MuxLookup(view.meta.flag, false.B)(
      Seq(
        ClusterFlag.none -> !device.listed,
        ClusterFlag.free -> (empty && view.meta.order === 0.U),
        ClusterFlag.nonfull -> !empty,
        ClusterFlag.frag -> (!empty && !full),
        ClusterFlag.full -> full,
        ClusterFlag.discard -> empty
      )
    ) && view.meta.order < p.orders.U
  }
}

object CheckUnit {

  /** Faults that one cycle may find. */
  private val AtOnce: Int = 4
}
