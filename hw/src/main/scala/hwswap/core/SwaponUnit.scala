// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** A device comes: SWAPON_PREPARE, MARK_BAD and SWAPON, the kernel's `setup_swap_clusters_info()` and
  * `enable_swap_info()`.
  *
  * Preparing takes 27 cycles per cluster, listing 4. A second SWAPON, after SWAPOFF_BEGIN, only gives the write
  * permission back (`reinsert_swap_info()`).
  */
class SwaponUnit(implicit p: Params) extends CoreUnit {
  private object State extends ChiselEnum {
    val idle, checking, clearing, init, cleared, filling, probe, mark, openNext, list = Value
  }
  private val state = RegInit(State.idle)

  // Clusters of the new device (there from the start on) and their errors (there one cycle later).
  private val pageBits = req.pages.getWidth
  private val clusters = RegNext((req.pages +& (p.slots - 1).U)(pageBits, p.slotBits))
  private val fits = RegNext(req.pages =/= 0.U && req.base +& clusters <= p.clusters.U)
  private val overlaps = RegNext(
    view.devices
      .map(d => d.info.claimed && req.base < d.info.base +& d.clusters && d.info.base < req.base +& clusters)
      .reduce(_ || _)
  )

  // The cluster that is being prepared or listed.
  private val index = Reg(UInt(p.clusterCountBits.W))
  private val used = Reg(UInt(p.usedBits.W))
  private val number = deviceIndex(req.device)

  // The good slots of the cluster that is being prepared: without the header, and without the slots past the last page.
  private val lastIndex = clusters - 1.U
  private val inLast = req.pages(p.slotBits - 1, 0)
  private val good = Reg(new SlotRange)
  good.start := Mux(index === 0.U, 1.U, 0.U)
  good.last := Mux(index === lastIndex && inLast =/= 0.U, inLast - 1.U, (p.slots - 1).U)
  private val bad = RegNext((p.slots - 1).U - good.last + good.start)

  requestRange()
  access.change.device := number
  access.change.clusters := clusters(p.clusterCountBits - 1, 0)
  access.change.used := used

  switch(state) {
    is(State.idle) {
      when(io.start) {
        index := 0.U
        used := 0.U
        switch(req.op) {
          is(CoreOp.swaponPrepare) {
            when(req.device >= p.devices.U || device.info.claimed) {
              finish(StatusCode.BadDevice)
            }.otherwise {
              state := State.checking
            }
          }
          is(CoreOp.markBad) {
            when(!claimed || device.listed) {
              finish(StatusCode.BadDevice)
            }.elsewhen(!rangeValid) {
              finish(StatusCode.BadRange)
            }.otherwise {
              access.walk := RowWalk.probe
              state := State.probe
            }
          }
          is(CoreOp.swapon) {
            when(!claimed || device.info.writeok) {
              finish(StatusCode.BadDevice)
            }.elsewhen(device.listed) {
              enable()
            }.otherwise {
              state := State.openNext
            }
          }
        }
      }
    }

    // SWAPON_PREPARE: the clusters, one by one.
    is(State.checking) {
      when(!fits || overlaps) {
        finish(StatusCode.BadRange)
        state := State.idle
      }.otherwise {
        state := State.clearing
      }
    }
    is(State.clearing) {
      when(index < clusters) {
        state := State.init
      }.otherwise {
        access.forgetLists.valid := true.B
        access.forgetLists.bits := number
        access.change.op := DeviceOp.claim
        finish(StatusCode.Ok)
        state := State.idle
      }
    }
    is(State.init) {
      access.open.valid := true.B
      access.open.bits := (req.base + index)(p.clusterBits - 1, 0)
      state := State.cleared
    }
    is(State.cleared) {
      access.range := good
      when(view.opened) {
        access.walk := RowWalk.init
        state := State.filling
      }
    }
    is(State.filling) {
      when(view.walked) {
        access.newMeta.valid := true.B
        access.newMeta.bits.count := bad
        access.newMeta.bits.flag := ClusterFlag.none
        access.newMeta.bits.order := 0.U
        access.newMeta.bits.taken := false.B
        used := used + bad
        index := index + 1.U
        state := State.clearing
      }
    }

    // MARK_BAD: `swap_cluster_setup_bad_slot()`. A slot is marked once.
    is(State.probe) {
      when(view.walked) {
        when(view.used === 0.U) {
          access.walk := RowWalk.mark
          state := State.mark
        }.otherwise {
          finish(StatusCode.BadRange)
          state := State.idle
        }
      }
    }
    is(State.mark) {
      when(view.walked) {
        store(number, view.meta.count + req.nr, view.meta.flag, view.meta.order, false.B)
        access.change.op := DeviceOp.adjust
        access.change.usedDelta := req.nr.zext
        finish(StatusCode.Ok)
        state := State.idle
      }
    }

    // SWAPON: the clusters in rising order.
    is(State.openNext) {
      access.open.valid := index < device.clusters
      access.open.bits := (device.info.base + index)(p.clusterBits - 1, 0)
      when(index < device.clusters) {
        index := index + 1.U
        state := State.list
      }.elsewhen(view.lists.idle) {
        enable()
        state := State.idle
      }
    }
    is(State.list) {
      when(view.opened) {
        val flag = Mux(view.meta.count === 0.U, ClusterFlag.free, ClusterFlag.nonfull)
        store(number, view.meta.count, flag, 0.U, true.B)
        io.events.listMove := false.B // a first place is no move
        assert(view.listRoom, "a new device's clusters are listed faster than lists take them")
        state := State.openNext
      }
    }
  }

  private def enable(): Unit = {
    access.change.op := DeviceOp.enable
    finish(StatusCode.Ok)
  }
}
