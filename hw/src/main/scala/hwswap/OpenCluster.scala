// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** A change of the open cluster's slots, those of a range: `give` makes them used; `hint` used and hinted; `clear`
  * neither.
  */
object RowOp extends ChiselEnum {
  val none, give, hint, clear = Value
}

/** A walk over the open cluster's row, part by part.
  *
  *   - count: the slots used, and those hinted
  *   - load: the bitmap of a record is what the kernel uses; its slots are hinted no more. Counts the slots used
  *     afterwards, and the hinted ones that the bitmap does away with
  *   - release: the hinted slots of the range become free. Counts them
  *   - init: everything but the range is used, nothing is hinted
  */
object RowWalk extends ChiselEnum {
  val none, count, load, release, init = Value
}

/** The open cluster, like the kernel's `ci` between `swap_cluster_lock()` and `swap_cluster_unlock()`, and the one that
  * was open before it: two lines of the store in registers. All work on 512 slots is done here, so that those who
  * decide handle small numbers only.
  *
  * `open` makes a cluster the open one by the end of the cycle: it is that already, or it is the one before (the two
  * change places), or it comes from the store, where `read` has to have named it one cycle before. The line that has to
  * go is written back in that cycle if it was changed. Whether a cluster is here is looked up when it is read, so
  * `read` has to name it also if it is, or if the store's line of it does not matter; no other one is opened in
  * between.
  *
  * A change is asked for in one cycle and made in the next (to the line that was open when it was asked for, wherever
  * that is by then), and `find` and `check` see it as if it had been made: so a cluster may be searched in the cycle
  * after slots in it were given.
  */
class OpenCluster(p: Params) extends Module {
  val io = IO(new Bundle {

    /** Read this cluster's line of the store. */
    val read = Flipped(Valid(UInt(p.clusterBits.W)))

    /** Make this cluster the open one. `blank`: what the store holds of it does not matter. */
    val open = Flipped(Valid(UInt(p.clusterBits.W)))
    val blank = Input(Bool())

    // The open cluster.
    val cluster = Output(UInt(p.clusterBits.W))
    val meta = Output(new ClusterMeta(p))
    val kernel = Output(new KernelMeta)
    val used = Output(UInt(p.slots.W))
    val hinted = Output(UInt(p.slots.W))

    /** New records of the cluster that is open in this cycle. */
    val newMeta = Flipped(Valid(new ClusterMeta(p)))
    val newKernel = Flipped(Valid(new KernelMeta))

    /** A change of its slots. */
    val rowOp = Input(RowOp())
    val range = Input(new SlotRange(p))

    /** Look for 2^order free slots behind `behind`, or anywhere; the answer is there one cycle later. */
    val find = Input(Bool())
    val order = Input(UInt(p.orderBits.W))
    val behind = Input(UInt(p.slotBits.W))
    val anywhere = Input(Bool())
    val found = Output(Bool())
    val foundSlot = Output(UInt(p.slotBits.W))

    /** One cycle later: all slots of `checked` are used, or, if `wantFree`, free. */
    val checked = Input(new SlotRange(p))
    val wantFree = Input(Bool())
    val asWanted = Output(Bool())

    /** Start of a walk over parts of 128 slots, one a cycle: those that `walkRange` touches, all of them for load and
      * init. `bitmap` is steady during a load. A change is only made if `proceed` is high in the cycle behind the
      * start.
      */
    val walk = Input(RowWalk())
    val walkRange = Input(new SlotRange(p))
    val proceed = Input(Bool())
    val bitmap = Input(UInt(p.slots.W))

    /** The walk is over: high two cycles after the last part. From then on there are the counts; whether hinted slots
      * are left outside of the bitmap or range; whether a slot is hinted and not used.
      */
    val walked = Output(Bool())
    val usedCount = Output(UInt(p.countBits.W))
    val hintedCount = Output(UInt(p.countBits.W))
    val hintedLeft = Output(Bool())
    val stray = Output(Bool())

    /** A count is beyond 512 (one cycle). */
    val fault = Output(Bool())
  })

  /** A line, which cluster's it is, and whether the store has an older one. */
  private class Line extends Bundle {
    val valid = Bool()
    val dirty = Bool()
    val cluster = UInt(p.clusterBits.W)
    val data = new StoredCluster(p)
  }
  private val present, before = Reg(new Line)
  private val store = Module(new ClusterStore(p))

  // Which way a cluster comes.
  private def isIn(line: Line): Bool = line.valid && line.cluster === io.read.bits
  private val atHand = RegNext(isIn(present))
  private val wasBefore = RegNext(isIn(before))
  private val swap = io.open.valid && wasBefore
  private val fetch = io.open.valid && !wasBefore && !atHand
  store.io.read := io.read
  store.io.write.valid := fetch && before.valid && before.dirty
  store.io.write.bits := before.cluster
  store.io.newLine := before.data

  // The change that is under way, and the line it is about.
  private val op = RegNext(io.rowOp, RowOp.none)
  private val range = RegNext(io.range)
  private val moved = RegNext(swap || fetch, false.B)
  private val changing = op =/= RowOp.none
  private val mask = range.mask(p)
  private val gives = op.isOneOf(RowOp.give, RowOp.hint)
  private def after(line: StoredCluster, mine: Bool): (UInt, UInt) = {
    val setting = Fill(p.slots, gives && mine)
    val clearing = Fill(p.slots, op === RowOp.clear && mine)
    val hinting = Fill(p.slots, op === RowOp.hint && mine)
    ((line.used | (mask & setting)) & ~(mask & clearing), line.hinted | (mask & hinting))
  }
  private val (presentUsed, presentHinted) = after(present.data, !moved)
  private val (beforeUsed, beforeHinted) = after(before.data, moved)

  // A walk: its part in one cycle; one cycle later the sums of 16 slots each, and the new part.
  private val walk = RegEnable(io.walk, io.walk =/= RowWalk.none)
  private val walkRange = RegEnable(io.walkRange, io.walk =/= RowWalk.none)
  private val walking = RegInit(false.B)
  private val adding = RegNext(walking, false.B)
  private val part, lastPart = Reg(UInt(p.partBits.W))
  private val addedPart = RegNext(part)
  private val ending = RegNext(walking && part === lastPart, false.B)
  private val first = RegNext(io.walk =/= RowWalk.none, false.B)
  private val proceed = RegEnable(io.proceed, false.B, first)
  private val rewriting = adding && proceed
  when(io.walk =/= RowWalk.none) {
    val all = io.walk.isOneOf(RowWalk.load, RowWalk.init)
    walking := true.B
    part := Mux(all, 0.U, io.walkRange.firstPart(p))
    lastPart := Mux(all, (p.parts - 1).U, io.walkRange.lastPart(p))
  }.elsewhen(walking) {
    part := part + 1.U
    walking := part =/= lastPart
  }
  private def ofPart(row: UInt): UInt =
    VecInit.tabulate(p.parts)(i => row((i + 1) * p.partSlots - 1, i * p.partSlots))(part)
  private val usedPart = ofPart(present.data.used)
  private val hintedPart = ofPart(present.data.hinted)
  private val inside = Mux(walk === RowWalk.load, ofPart(io.bitmap), walkRange.partMask(p, part))
  private val hintedInside = hintedPart & inside
  private val loaded = inside | hintedPart
  private val newUsed = RegNext(
    MuxLookup(walk, usedPart & ~hintedInside)(Seq(RowWalk.load -> loaded, RowWalk.init -> ~inside))
  )
  private val newHinted = RegNext(Mux(walk === RowWalk.init, 0.U, hintedPart & ~inside))
  private def count(slots: UInt): UInt = {
    val sums = slots.asBools.grouped(16).toSeq.map(word => RegNext(PopCount(word)))
    val total = Reg(UInt(p.countBits.W))
    when(walking && !adding) {
      total := 0.U
    }.elsewhen(adding) {
      total := total + VecInit(sums).reduceTree(_ +& _)
    }
    total
  }
  io.usedCount := count(Mux(walk === RowWalk.load, loaded, usedPart))
  io.hintedCount := count(Mux(walk === RowWalk.count, hintedPart, hintedInside))
  io.walked := RegNext(ending, false.B)
  private val left, stray = Reg(Bool())
  when(walking) {
    left := (left && adding) || (hintedPart & ~inside).orR
    stray := (stray && adding) || (hintedPart & ~usedPart).orR
  }
  io.hintedLeft := left
  io.stray := stray

  // Both lines go on.
  private val nextPresent, nextBefore = Wire(new Line)
  nextPresent := present
  nextPresent.dirty := present.dirty || io.newMeta.valid || io.newKernel.valid || (changing && !moved) || rewriting
  nextPresent.data.used := presentUsed
  nextPresent.data.hinted := presentHinted
  when(rewriting) {
    nextPresent.data.used := replaced(present.data.used, newUsed)
    nextPresent.data.hinted := replaced(present.data.hinted, newHinted)
  }
  when(io.newMeta.valid)(nextPresent.data.meta := io.newMeta.bits)
  when(io.newKernel.valid)(nextPresent.data.kernel := io.newKernel.bits)
  nextBefore := before
  nextBefore.dirty := before.dirty || (changing && moved)
  nextBefore.data.used := beforeUsed
  nextBefore.data.hinted := beforeHinted
  present := nextPresent
  before := nextBefore
  when(swap || fetch) {
    before := nextPresent
    present := nextBefore
  }
  when(fetch) {
    present.valid := true.B
    present.dirty := false.B
    present.cluster := io.open.bits
    present.data := store.io.line
  }
  when(reset.asBool) {
    Seq(present, before).foreach { line =>
      line.valid := false.B
      line.dirty := false.B
    }
  }
  io.cluster := present.cluster
  io.meta := present.data.meta
  io.kernel := present.data.kernel
  io.used := present.data.used
  io.hinted := present.data.hinted

  // Find.
  private val finder = Module(new FreeRunFinder(p))
  finder.io.find := io.find
  finder.io.used := presentUsed
  finder.io.order := io.order
  finder.io.behind := io.behind
  finder.io.anywhere := io.anywhere
  io.found := finder.io.found
  io.foundSlot := finder.io.slot

  // Check: a bit a word, then all together.
  private def anyLater(row: UInt): Bool =
    VecInit(row.asBools.grouped(p.wordSlots).toSeq.map(word => RegNext(VecInit(word).asUInt.orR))).asUInt.orR
  io.asWanted := !anyLater(io.checked.mask(p) & (presentUsed ^ Fill(p.slots, !io.wantFree)))

  /** `row` with the part that is being added replaced. */
  private def replaced(row: UInt, by: UInt): UInt =
    VecInit
      .tabulate(p.parts) { i =>
        Mux(addedPart === i.U, by, row((i + 1) * p.partSlots - 1, i * p.partSlots))
      }
      .asUInt

  // Self-checks.
  private val overfull = io.newMeta.valid && io.newMeta.bits.count > p.slots.U
  io.fault := overfull
  assert(
    !(gives && (mask & Mux(moved, before.data.used, present.data.used)).orR),
    "a slot is given that is in use"
  )
  assert(!overfull, "a cluster counts more than 512 slots in use")
  assert(!(changing && moved && (swap || fetch)), "a cluster is opened while slots of the one before it are changed")
  assert(!(present.valid && before.valid && present.cluster === before.cluster), "a cluster is open twice")
  private val named = RegNext(io.read.bits)
  assert(!io.open.valid || named === io.open.bits, "a cluster is opened that was not named before")
  assert(!fetch || io.blank || RegNext(io.read.valid, false.B), "a cluster is opened that was not read")
  assert(!(io.open.valid && RegNext(io.open.valid, false.B)), "two clusters are opened in consecutive cycles")
  assert(!walking || !(changing || swap || fetch), "a row is walked over while it is changed")
  when(io.newMeta.valid) {
    val meta = io.newMeta.bits
    assert(
      meta.flag =/= ClusterFlag.free || (meta.count === 0.U && meta.order === 0.U),
      "a FREE cluster has slots in use or an order"
    )
    assert(meta.flag =/= ClusterFlag.full || meta.count === p.slots.U, "a FULL cluster has a free slot")
  }
}
