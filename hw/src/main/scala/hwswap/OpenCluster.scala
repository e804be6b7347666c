// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** A change of the open cluster's slots. `give` and `hint` and `clear` are about a range.
  *
  *   - give: the range becomes used; hint: used and hinted; clear: neither
  *   - release: the hinted slots of the range become free
  *   - load: the bitmap of a record is what the kernel uses; its slots are hinted no more
  *   - init: everything but the range is used, nothing is hinted
  */
object RowOp extends ChiselEnum {
  val none, give, hint, clear, release, load, init = Value
}

/** The open cluster, like the kernel's `ci` between `swap_cluster_lock()` and `swap_cluster_unlock()`, and the one that
  * was open before it: two lines of the store in registers. All work on 512 slots is done here, so that those who decide
  * handle small numbers only.
  *
  * `open` makes a cluster the open one by the end of the cycle: it is that already, or it is the one before (the two
  * change places), or it comes from the store, where `read` has to have named it one cycle before. The line that has to
  * go is written back in that cycle if it was changed. The store is never asked for a cluster that is here.
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

    /** The bitmap of `load`, steady. */
    val bitmap = Input(UInt(p.slots.W))

    /** Look for 2^order free slots behind `behind`, or anywhere; the answer is there one cycle later. */
    val find = Input(Bool())
    val order = Input(UInt(p.orderBits.W))
    val behind = Input(UInt(p.slotBits.W))
    val anywhere = Input(Bool())
    val found = Output(Bool())
    val foundSlot = Output(UInt(p.slotBits.W))

    /** One cycle later: are all slots of `checked` used, and are all of them free. */
    val checked = Input(new SlotRange(p))
    val allUsed = Output(Bool())
    val allFree = Output(Bool())

    /** Count slots, those of the parts of 128 that `checked`, which is steady meanwhile, touches: one a cycle. `done` is
      * high two cycles after the last part; from then on the sums are there: slots used, hinted, and hinted inside
      * `checked`; when `loading` (then the bitmap takes the place of the range) slots that will be used, and hinted ones
      * that the bitmap does away with. `stray`: a slot is hinted and not used.
      */
    val count = Input(Bool())
    val loading = Input(Bool())
    val done = Output(Bool())
    val usedCount = Output(UInt(p.countBits.W))
    val hintedCount = Output(UInt(p.countBits.W))
    val insideCount = Output(UInt(p.countBits.W))
    val stray = Output(Bool())

    /** A slot was to be given that is in use, or a count is beyond 512 (one cycle). */
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
  private val atHand = present.valid && io.open.bits === present.cluster
  private val swap = io.open.valid && !atHand && before.valid && io.open.bits === before.cluster
  private val fetch = io.open.valid && !atHand && !swap
  private def here(cluster: UInt): Bool =
    (present.valid && present.cluster === cluster) || (before.valid && before.cluster === cluster)
  private val readHere = here(io.read.bits)
  store.io.read.valid := io.read.valid && !readHere
  store.io.read.bits := io.read.bits
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

  // The short way: changes that may be followed by a search at once.
  private def after(line: StoredCluster, mine: Bool): (UInt, UInt) = {
    val setting = Fill(p.slots, gives && mine)
    val clearing = Fill(p.slots, op === RowOp.clear && mine)
    val hinting = Fill(p.slots, op === RowOp.hint && mine)
    ((line.used | (mask & setting)) & ~(mask & clearing), line.hinted | (mask & hinting))
  }
  private val (presentUsed, presentHinted) = after(present.data, !moved)
  private val (beforeUsed, beforeHinted) = after(before.data, moved)

  // Both lines go on.
  private val nextPresent, nextBefore = Wire(new Line)
  nextPresent := present
  nextPresent.dirty := present.dirty || io.newMeta.valid || io.newKernel.valid || (changing && !moved)
  nextPresent.data.used := MuxLookup(op, presentUsed)(
    Seq(
      RowOp.release -> (present.data.used & ~(mask & present.data.hinted)),
      RowOp.load -> (io.bitmap | present.data.hinted),
      RowOp.init -> ~mask
    )
  )
  nextPresent.data.hinted := MuxLookup(op, presentHinted)(
    Seq(
      RowOp.release -> (present.data.hinted & ~mask),
      RowOp.load -> (present.data.hinted & ~io.bitmap),
      RowOp.init -> 0.U
    )
  )
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
  private def words(row: UInt): Seq[UInt] =
    (0 until p.slots by SlotRange.WordSlots).map(low => row(low + SlotRange.WordSlots - 1, low))
  private def anyLater(row: UInt): Bool = VecInit(words(row).map(word => RegNext(word.orR))).asUInt.orR
  private val checked = io.checked.mask(p)
  io.allUsed := !anyLater(checked & ~presentUsed)
  io.allFree := !anyLater(checked & presentUsed)

  // Count: sums of 16 slots each first, all together one cycle later.
  private val counting = RegInit(false.B)
  private val part, lastPart = Reg(UInt(p.partBits.W))
  private val adding = RegNext(counting, false.B)
  private val ending = RegNext(counting && part === lastPart, false.B)
  when(io.count) {
    counting := true.B
    part := Mux(io.loading, 0.U, io.checked.firstPart(p))
    lastPart := Mux(io.loading, (p.parts - 1).U, io.checked.lastPart(p))
  }.elsewhen(counting) {
    part := part + 1.U
    counting := part =/= lastPart
  }
  io.done := RegNext(ending, false.B)
  private def ofPart(row: UInt): UInt =
    VecInit.tabulate(p.parts)(i => row((i + 1) * p.partSlots - 1, i * p.partSlots))(part)
  private def count(slots: UInt): UInt = {
    val sums = slots.asBools.grouped(16).toSeq.map(word => RegNext(PopCount(word)))
    val total = Reg(UInt(p.countBits.W))
    when(io.count) {
      total := 0.U
    }.elsewhen(adding) {
      total := total + VecInit(sums).reduceTree(_ +& _)
    }
    total
  }
  private val usedPart = ofPart(present.data.used)
  private val hintedPart = ofPart(present.data.hinted)
  private val insidePart = ofPart(Mux(io.loading, io.bitmap, checked))
  io.usedCount := count(Mux(io.loading, insidePart | hintedPart, usedPart))
  io.hintedCount := count(hintedPart)
  io.insideCount := count(hintedPart & insidePart)
  private val stray = Reg(Bool())
  when(io.count) {
    stray := false.B
  }.elsewhen(counting) {
    stray := stray || (hintedPart & ~usedPart).orR
  }
  io.stray := stray

  // Self-checks.
  private val taken = anyLater(mask & Mux(moved, before.data.used, present.data.used))
  private val givenTwice = taken && RegNext(gives, false.B)
  private val overfull = io.newMeta.valid && io.newMeta.bits.count > p.slots.U
  io.fault := givenTwice || overfull
  assert(!givenTwice, "a slot is given that is in use")
  assert(!overfull, "a cluster counts more than 512 slots in use")
  assert(!(changing && moved && (swap || fetch)), "a cluster is opened while slots of the one before it are changed")
  assert(!(moved && changing && !(gives || op === RowOp.clear)), "another cluster was opened before its row was changed")
  assert(!(present.valid && before.valid && present.cluster === before.cluster), "a cluster is open twice")
  private val wasRead = RegNext(io.read.valid && !readHere, false.B) && RegNext(io.read.bits) === io.open.bits
  assert(!fetch || io.blank || wasRead, "a cluster is opened that was not read")
  assert(!counting || !changing, "slots are counted while they are changed")
  when(io.newMeta.valid) {
    val meta = io.newMeta.bits
    assert(
      meta.flag =/= ClusterFlag.free || (meta.count === 0.U && meta.order === 0.U),
      "a FREE cluster has slots in use or an order"
    )
    assert(meta.flag =/= ClusterFlag.full || meta.count === p.slots.U, "a FULL cluster has a free slot")
  }
}
