// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** How a row changes: slots of the range go into or out of K or H; `load` makes the request's bitmap K and takes its
  * slots out of H; `init` makes K everything but the range, and H empty.
  */
object RowOp extends ChiselEnum {
  val keep, setK, setH, clearK, clearH, load, init = Value
}

/** The slots that are counted: those in use for the engine (K or H), for the kernel (K), hinted (H), or hinted and in
  * the range.
  */
object SlotsOf extends ChiselEnum {
  val used, kernel, hinted, rangeHinted = Value
}

/** The cluster at hand, like the kernel's `ci` between `swap_cluster_lock()` and `swap_cluster_unlock()`: its rows and
  * records in registers, the finder over its rows, and all arithmetic on 512 bits, so that the units which decide
  * handle small numbers only.
  *
  * `open` reads a line of the store; `opened` is high two cycles later, when the line is there. It stays until the next
  * `open`. Every change goes to the store and to the registers in one cycle.
  */
class OpenCluster(p: Params) extends Module {
  val io = IO(new Bundle {
    val open = Flipped(Valid(UInt(p.clusterBits.W)))
    val opened = Output(Bool())
    val cluster = Output(UInt(p.clusterBits.W))
    val meta = Output(new ClusterMeta(p))
    val kernel = Output(new KernelMeta)

    /** K as it is (512 bits). */
    val bitmap = Output(UInt(p.slots.W))

    /** Find 2^findOrder slots at or above findFrom; the answer is there from the next cycle. */
    val find = Input(Bool())
    val findOrder = Input(UInt(p.orderBits.W))
    val findFrom = Input(UInt(p.slotBits.W))
    val found = Output(Bool())
    val foundSlot = Output(UInt(p.slotBits.W))

    /** The range that changes and questions are about. */
    val range = Input(new SlotRange(p))

    /** Every slot of the range is in K. */
    val allInUse = Output(Bool())

    /** No slot of the range is in K or H. */
    val allFree = Output(Bool())

    /** K and H have a slot in common. */
    val overlap = Output(Bool())

    /** Count these slots as they are in this cycle; the number is there in the next one. */
    val countSlotsOf = Input(SlotsOf())
    val population = Output(UInt(p.countBits.W))

    val rowOp = Input(RowOp())

    /** The cluster `init` writes; the other changes are made to the open one. */
    val initCluster = Input(UInt(p.clusterBits.W))

    /** The bitmap of `load` (512 bits). */
    val loaded = Input(UInt(p.slots.W))
    val newMeta = Flipped(Valid(new ClusterMeta(p)))
    val newKernel = Flipped(Valid(new KernelMeta))

    /** A slot was to be given that is in use, or a count is beyond 512 (one cycle). */
    val fault = Output(Bool())
  })

  private val store = Module(new ClusterStore(p))
  private val finder = Module(new FreeRunFinder(p))

  // Open: cycle 0 asks the store, cycle 1 captures its answer, `opened` in cycle 2.
  private val captured = RegNext(io.open.valid, false.B)
  private val line = Reg(new ClusterState(p))
  store.io.read := io.open
  when(captured) {
    line := store.io.data
  }
  io.opened := RegNext(captured, false.B)
  io.cluster := RegEnable(io.open.bits, io.open.valid)
  io.meta := line.meta
  io.kernel := line.kernel
  io.bitmap := line.k

  private val used = line.k | line.h
  finder.io.find := io.find
  finder.io.used := used
  finder.io.order := io.findOrder
  finder.io.from := io.findFrom
  io.found := finder.io.found
  io.foundSlot := finder.io.slot

  private val mask = io.range.mask(p)
  io.allInUse := (~line.k & mask) === 0.U
  io.allFree := (used & mask) === 0.U
  io.overlap := (line.k & line.h).orR

  // Count: one register stage with the sums of 32 slots each.
  private val counted = MuxLookup(io.countSlotsOf, used)(
    Seq(SlotsOf.kernel -> line.k, SlotsOf.hinted -> line.h, SlotsOf.rangeHinted -> (line.h & mask))
  )
  private val sums = (0 until p.slots by FreeRunFinder.WordBits).map(low =>
    RegNext(PopCount(counted(low + FreeRunFinder.WordBits - 1, low)))
  )
  io.population := VecInit(sums).reduceTree(_ +& _)(p.countBits - 1, 0)

  // Change: new rows and records, to the registers and to the store.
  private val k, h = Wire(Valid(UInt(p.slots.W)))
  k.bits := MuxLookup(io.rowOp, line.k | mask)(
    Seq(RowOp.clearK -> (line.k & ~mask), RowOp.load -> io.loaded, RowOp.init -> ~mask)
  )
  k.valid := io.rowOp.isOneOf(RowOp.setK, RowOp.clearK, RowOp.load, RowOp.init)
  h.bits := MuxLookup(io.rowOp, line.h | mask)(
    Seq(RowOp.clearH -> (line.h & ~mask), RowOp.load -> (line.h & ~io.loaded), RowOp.init -> 0.U)
  )
  h.valid := io.rowOp.isOneOf(RowOp.setH, RowOp.clearH, RowOp.load, RowOp.init)
  store.io.cluster := Mux(io.rowOp === RowOp.init, io.initCluster, io.cluster)
  store.io.k := k
  store.io.h := h
  store.io.meta := io.newMeta
  store.io.kernel := io.newKernel
  when(k.valid) {
    line.k := k.bits
  }
  when(h.valid) {
    line.h := h.bits
  }
  when(io.newMeta.valid) {
    line.meta := io.newMeta.bits
  }
  when(io.newKernel.valid) {
    line.kernel := io.newKernel.bits
  }

  private val giving = io.rowOp.isOneOf(RowOp.setK, RowOp.setH)
  private val givenTwice = giving && !io.allFree
  private val overfull = io.newMeta.valid && io.newMeta.bits.count > p.slots.U
  io.fault := givenTwice || overfull
  assert(!givenTwice, "a slot is given that is in use")
  assert(!overfull, "a cluster counts more than 512 slots in use")
  when(io.opened) {
    assert(PopCount(used) === line.meta.count, "a cluster's count differs from its rows")
    assert(!io.overlap, "a slot is in use and hinted")
    assert(
      line.meta.flag =/= ClusterFlag.free || (line.meta.count === 0.U && line.meta.order === 0.U),
      "a FREE cluster has slots in use or an order"
    )
    assert(
      line.meta.flag =/= ClusterFlag.full || line.meta.count === p.slots.U,
      "a FULL cluster has a free slot"
    )
  }
}
