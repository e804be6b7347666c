// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** What is done with the rows of the cluster at hand, part by part.
  *
  *   - find: look for free slots, from the range's start upwards
  *   - look: answer questions about the range, and count
  *   - setK, setH, clearK, clearH: the slots of the range go into or out of K or H
  *   - load: the request's bitmap becomes K, and its slots leave H; the counts are those of `look`
  *   - init: K becomes everything but the range, H empty
  */
object RowOp extends ChiselEnum {
  val none, find, look, setK, setH, clearK, clearH, load, init = Value
}

/** The cluster at hand, like the kernel's `ci` between `swap_cluster_lock()` and `swap_cluster_unlock()`: its records
  * in registers, and all work on its rows, so that the units which decide handle small numbers only.
  *
  * `open` reads the records; `opened` is high three cycles later, when they are there. They stay until the next `open`.
  *
  * Work on the rows is a walk over the parts of 128 slots that it concerns, one a cycle: two cycles to read, then
  * stage 0; one cycle later (stage 1) the answers about a part, and another one later (stage 2) the part at hand, or
  * its change on the way to the store. A walk may start with `open` or later; a new one ends the one before. `done`
  * is high four cycles after the start of a walk over one part, and one later for each further part; a find ends with
  * `found`, too.
  *
  * A change of slots that are all in the part at hand does not read it again: it reaches the store three cycles after
  * its start, and nobody has to wait for it. `busy` is high while any other change is under way.
  */
class OpenCluster(p: Params) extends Module {
  val io = IO(new Bundle {
    val open = Flipped(Valid(UInt(p.clusterBits.W)))
    val opened = Output(Bool())
    val cluster = Output(UInt(p.clusterBits.W))
    val meta = Output(new ClusterMeta(p))
    val kernel = Output(new KernelMeta)
    val newMeta = Flipped(Valid(new ClusterMeta(p)))
    val newKernel = Flipped(Valid(new KernelMeta))

    /** Start of a walk over the rows of the cluster that is open, or is opened in this cycle. `init` does not read the
      * records of the cluster it opens.
      */
    val rowOp = Input(RowOp())
    val range = Input(new SlotRange(p))

    /** find: 2^findOrder slots. */
    val findOrder = Input(UInt(p.orderBits.W))

    /** The bitmap of `load` (512 bits), steady during the walk. */
    val loaded = Input(UInt(p.slots.W))

    /** End the walk before it changes anything: at the latest in the third cycle after its start. */
    val cancel = Input(Bool())

    /** The last part has been walked over; meaningless after a find has found something. */
    val done = Output(Bool())
    val busy = Output(Bool())

    /** A find has found something (one cycle), and where. */
    val found = Output(Bool())
    val foundSlot = Output(UInt(p.slotBits.W))

    /** Every slot of the range is in K; none is in K or H; K and H have a slot in common in a part that was looked at.
      * Valid from `done` of a look on.
      */
    val allInUse = Output(Bool())
    val allFree = Output(Bool())
    val overlap = Output(Bool())

    /** One cycle after `done`, the counts of a look or load are there: slots in K or H, slots in H, and slots in H that
      * are not in the range or the bitmap loaded. All are of the parts that were walked over; K and H are those after
      * the load for the first, and those before it for the second.
      */
    val counted = Output(Bool())
    val used = Output(UInt(p.countBits.W))
    val hinted = Output(UInt(p.countBits.W))
    val hintedElsewhere = Output(UInt(p.countBits.W))

    /** K as the walks since `blank` have read it (512 bits). */
    val blank = Input(Bool())
    val bitmap = Output(UInt(p.slots.W))

    /** A slot was to be given that is in use, or a count is beyond 512 (one cycle). */
    val fault = Output(Bool())
  })

  private val store = Module(new ClusterStore(p))
  private val finder = Module(new FreeRunFinder(p))

  // The records: cycle 1 asks the store, cycle 2 captures its answer, `opened` in cycle 3.
  private val cluster = RegEnable(io.open.bits, io.open.valid)
  store.io.readRecords.valid := RegNext(io.open.valid && io.rowOp =/= RowOp.init, false.B)
  store.io.readRecords.bits := cluster
  private val captured = RegNext(store.io.readRecords.valid, false.B)
  private val records = Reg(new ClusterRecords(p))
  when(captured) {
    records := store.io.records
  }
  when(io.newMeta.valid) {
    records.meta := io.newMeta.bits
  }
  when(io.newKernel.valid) {
    records.kernel := io.newKernel.bits
  }
  io.opened := RegNext(captured, false.B)
  io.cluster := cluster
  io.meta := records.meta
  io.kernel := records.kernel
  store.io.cluster := cluster
  store.io.meta := io.newMeta
  store.io.kernel := io.newKernel

  // Reading: the first part in the cycle of the start, the others in those after it.
  private val start = io.rowOp =/= RowOp.none
  private val op = RegEnable(io.rowOp, RowOp.none, start)
  private val range = RegEnable(io.range, start)
  private val order = RegEnable(io.findOrder, start)
  private val starting =
    io.rowOp.isOneOf(RowOp.setK, RowOp.setH, RowOp.clearK, RowOp.clearH, RowOp.load, RowOp.init)
  private val changing = RegEnable(starting, false.B, start)
  private val loading = RegEnable(io.rowOp === RowOp.load, start)
  private val whole = io.rowOp.isOneOf(RowOp.load, RowOp.init)
  private val lastOfRow = (p.parts - 1).U(p.partBits.W)
  private val firstPart = Mux(whole, 0.U, io.range.firstPart(p))
  private val lastPart = Mux(whole || io.rowOp === RowOp.find, lastOfRow, io.range.lastPart(p))
  private val reading = RegInit(false.B)
  private val nextPart, endPart = Reg(UInt(p.partBits.W))

  /** A part on its way: which one, and whether it is the walk's last. */
  private class Step extends Bundle {
    val valid = Bool()
    val part = UInt(p.partBits.W)
    val last = Bool()
  }
  private val asked, read, fresh, current = RegInit(0.U.asTypeOf(new Step))

  // A change in the part at hand, or in the one that is about to be, takes a short way: its mask alone is made, and
  // meets the part in stage 2.
  private val valid1 = Wire(Bool())
  private val atHand = RegInit(false.B)
  private val partAtHand = RegEnable(current.part, valid1)
  private val hand = Mux(valid1, current.part, partAtHand)
  private val short = io.rowOp.isOneOf(RowOp.setK, RowOp.setH, RowOp.clearK, RowOp.clearH) && (valid1 || atHand) &&
    !io.open.valid && firstPart === hand && lastPart === hand
  private val shortMask = RegNext(RegNext(short, false.B), false.B)
  private val shortChange = RegNext(shortMask, false.B)

  // What a find, or its being called off, leaves in the pipeline one cycle later comes to nothing.
  private val stopping = Wire(Bool())
  private val stopped = RegNext(stopping && !start, false.B)
  private val ended = start || stopped
  when(start) {
    reading := firstPart =/= lastPart && !short
    nextPart := firstPart + 1.U
    endPart := lastPart
  }.elsewhen(ended) {
    reading := false.B
  }.elsewhen(reading) {
    reading := nextPart =/= endPart
    nextPart := nextPart + 1.U
  }
  asked.valid := Mux(start, !short, reading && !ended)
  asked.part := Mux(start, firstPart, nextPart)
  asked.last := Mux(start, firstPart === lastPart, nextPart === endPart)
  store.io.readRows.valid := asked.valid
  store.io.readRows.bits.cluster := cluster
  store.io.readRows.bits.part := asked.part
  read := asked
  read.valid := asked.valid && !ended

  // Stage 0: the part, and the slots of it that the walk is about.
  private val loadedPart = VecInit.tabulate(p.parts)(i => io.loaded((i + 1) * p.partSlots - 1, i * p.partSlots))
  private val mask = Mux(loading, loadedPart(read.part), range.mask(read.part, p))
  private val rows0 = RegEnable(store.io.rows, read.valid)
  private val mask0 = RegEnable(mask, read.valid)
  fresh := read
  fresh.valid := read.valid && !ended

  // Stage 1: on its way to stage 2.
  private val advance = fresh.valid
  private val rows1 = RegEnable(rows0, advance)
  private val mask1 = RegEnable(mask0, advance)
  current := fresh
  current.valid := advance && !ended
  valid1 := current.valid && !stopped

  // Stage 2: the part at hand stays there until another one comes.
  private val rows2 = RegEnable(rows1, valid1)
  private val mask2 = RegEnable(Mux(shortMask, mask, mask1), valid1 || shortMask)
  private val last2 = RegEnable(current.last, valid1)
  private val changed = RegNext(valid1 && changing, false.B)
  when(io.open.valid || shortChange || changed) {
    atHand := false.B
  }.elsewhen(valid1) {
    atHand := true.B
  }

  // Find: runs up to a part by the finder, longer ones as parts in a row that are free. `span` has a bit for each bit
  // of the part's number that differs within a run.
  private val used0 = rows0.k | rows0.h
  private val span = VecInit.tabulate(p.partBits)(i => order > (p.partSlotBits + i).U).asUInt
  private val free0 = !used0.orR && mask0.andR
  private val freeRun = RegInit(false.B)
  when(start) {
    freeRun := false.B
  }.elsewhen(advance) {
    freeRun := free0 && ((fresh.part & span) === 0.U || freeRun)
  }
  finder.io.find := advance
  finder.io.used := used0
  finder.io.allowed := mask0
  finder.io.order := order
  private val longFound = span.orR && freeRun && (current.part & span) === span && order < p.orders.U
  io.found := valid1 && op === RowOp.find && (finder.io.found || longFound)
  stopping := io.found || io.cancel
  io.foundSlot := (current.part & ~span) ## Mux(finder.io.found, finder.io.slot, 0.U)
  io.done := current.valid && current.last
  private val busy = RegInit(false.B)
  when(start) {
    busy := starting && !short
  }.elsewhen((changed && last2) || ended) {
    busy := false.B
  }
  io.busy := busy

  // Look: answers of this part and those before it.
  private val inUse, free, disjoint = Reg(Bool())
  when(start) {
    inUse := true.B
    free := true.B
    disjoint := true.B
  }.elsewhen(advance) {
    inUse := inUse && (~rows0.k & mask0) === 0.U
    free := free && (used0 & mask0) === 0.U
    disjoint := disjoint && (rows0.k & rows0.h) === 0.U
  }
  io.allInUse := inUse
  io.allFree := free
  io.overlap := !disjoint

  // Counts: sums of 16 slots each in stage 1, all together in stage 2.
  private def count(slots: UInt): UInt = {
    val sums = slots.asBools.grouped(16).toSeq.map(word => RegNext(PopCount(word)))
    val total = Reg(UInt(p.countBits.W))
    when(start) {
      total := 0.U
    }.elsewhen(valid1) {
      total := total + VecInit(sums).reduceTree(_ +& _)
    }
    total
  }
  io.used := count(Mux(loading, mask0, rows0.k) | rows0.h)
  io.hinted := count(rows0.h)
  io.hintedElsewhere := count(rows0.h & ~mask0)
  io.counted := RegNext(io.done, false.B)

  private val bitmap = Reg(Vec(p.parts, UInt(p.partSlots.W)))
  when(io.blank) {
    bitmap := 0.U.asTypeOf(bitmap)
  }.elsewhen(valid1) {
    bitmap(current.part) := rows1.k
  }
  io.bitmap := bitmap.asUInt

  // Change: the new part, to the store.
  private val writing = shortChange || changed
  store.io.rowAddress.cluster := cluster
  store.io.rowAddress.part := partAtHand
  store.io.k.valid := writing && op.isOneOf(RowOp.setK, RowOp.clearK, RowOp.load, RowOp.init)
  store.io.k.bits := MuxLookup(op, rows2.k | mask2)(
    Seq(RowOp.clearK -> (rows2.k & ~mask2), RowOp.load -> mask2, RowOp.init -> ~mask2)
  )
  store.io.h.valid := writing && op.isOneOf(RowOp.setH, RowOp.clearH, RowOp.load, RowOp.init)
  store.io.h.bits := MuxLookup(op, rows2.h & ~mask2)(
    Seq(RowOp.setH -> (rows2.h | mask2), RowOp.init -> 0.U)
  )

  private val givenTwice = writing && op.isOneOf(RowOp.setK, RowOp.setH) && ((rows2.k | rows2.h) & mask2).orR
  private val overfull = io.newMeta.valid && io.newMeta.bits.count > p.slots.U
  io.fault := givenTwice || overfull
  assert(!givenTwice, "a slot is given that is in use")
  assert(!overfull, "a cluster counts more than 512 slots in use")
  private val changingPart = RegNext(short, false.B) || shortMask || shortChange
  assert(!(start && io.busy), "a walk over the rows starts while they are changed")
  assert(!(start && changingPart), "a walk over the rows starts while a part is changed")
  assert(!(io.open.valid && (io.busy || changingPart)), "a cluster is opened while rows are changed")
  when(io.newMeta.valid) {
    val meta = io.newMeta.bits
    assert(
      meta.flag =/= ClusterFlag.free || (meta.count === 0.U && meta.order === 0.U),
      "a FREE cluster has slots in use or an order"
    )
    assert(meta.flag =/= ClusterFlag.full || meta.count === p.slots.U, "a FULL cluster has a free slot")
  }
}
