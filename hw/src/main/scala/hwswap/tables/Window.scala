// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** The readahead window: `swap_cluster_readahead()` with `swapin_nr_pages()` and `__swapin_nr_pages()`, and the fixed
  * one. `done` comes some cycles after `start`; what is asked stays until then.
  */
class Window extends Module {
  private val map = MemMap.TableWindow.Window
  val io = IO(new Bundle {
    val start = Input(Bool())

    /** The slot that is wanted, in a device of `pages` slots, and MemMap.TableWindow. */
    val slot, pages = Input(UInt(32.W))
    val setting = Input(UInt(Axi.DataBits.W))
    val done = Output(Bool())

    /** The window: offset of the first slot, and how many. */
    val first = Output(UInt(32.W))
    val count = Output(UInt(Window.PagesBits.W))

    /** `prev_offset` and `last_readahead_pages`. */
    val previous = Output(UInt(RegMap.Readahead.Previous.width.W))
    val last = Output(UInt(Window.PagesBits.W))
  })
  private val previous = RegInit(0.U(32.W))
  private val lastPages = RegInit(0.U(Window.PagesBits.W))
  private val most = Window.MostLog2
  private val pageCluster = MapAccess.get(io.setting, map.PageCluster)
  private val hits = MapAccess.get(io.setting, map.Hits)
  private val fixed = MapAccess.get(io.setting, map.Policy) === ReadaheadCode.Fixed.U
  private val step = ShiftRegisters(io.start, 4, false.B, true.B)

  // First: what the hits ask for. None: two for the neighbour of the slot before, else one.
  private val limit = RegNext((1.U << pageCluster)(most, 0))
  private val isNext = io.slot === previous + 1.U && io.slot =/= 0.U
  private val isBefore = io.slot +& 1.U === previous
  private val alone = RegNext(Mux(isNext || isBefore, 2.U, 1.U))
  private val noHits = RegNext(hits === 0.U)
  private val rounded = RegNext(
    MuxCase(
      (1 << most).U,
      (2 until most).map(k => (hits <= ((1 << k) - 2).U) -> (1 << k).U)
    )
  )

  // Second: not more than the limit. Third: not less than half the last.
  private val wanted = Mux(noHits, alone, rounded)
  private val limited = RegNext(Mux(fixed || wanted > limit, limit, wanted))
  private val half = lastPages >> 1
  private val one = limit === 1.U
  private val pages = RegNext(Mux(!fixed && !one && limited < half, half, limited)(most, 0))
  when(step(2) && !fixed && !one) {
    lastPages := pages
    when(noHits)(previous := io.slot)
  }

  // Fourth: an aligned block around the slot, without slot 0, cut at the device's end.
  private val mask = (pages - 1.U)(most - 1, 0)
  private val low = io.slot & ~mask.pad(32)
  private val high = io.slot | mask
  private val single = mask === 0.U
  private val from = RegNext(Mux(!single && low === 0.U, 1.U, low))
  private val to = RegNext(Mux(high >= io.pages, io.pages, high + 1.U))
  io.done := step(3)
  io.first := from
  io.count := (to - from)(Window.PagesBits - 1, 0)
  io.previous := previous
  io.last := lastPages

  assert(!io.done || (to >= from && to - from <= (1 << most).U), "a window of more slots than a cluster has")
}

object Window {

  /** The highest page_cluster. */
  val MostLog2: Int = 9

  /** Width of a number of slots in a window. */
  val PagesBits: Int = RegMap.Readahead.Pages.width
}
