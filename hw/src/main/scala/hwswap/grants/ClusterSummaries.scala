// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._

/** A cluster as it was read. */
class Reading(implicit p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val summary = new Summary
}

/** Requests of the builder of grants.
  *
  *   - own: grant the lowest cluster of a device that nobody has, of a kind and with a run of `order`
  *   - drop: the entry that a cluster was granted by is done with
  *   - sweep: a device that is live has a new entry: what counts of its clusters is made anew, and nobody has them
  */
object SummaryOp extends ChiselEnum {
  val own, drop, sweep = Value
}

class SummaryRequest(implicit p: Params) extends Bundle {
  val op = SummaryOp()
  val cluster = UInt(p.clusterBits.W)
  val order = UInt(4.W)
  val kind = UInt(RunTree.KindBits.W)
  val device = UInt(p.deviceBits.W)
}

/** The answer to `own`: the cluster, if one was found. */
class SummaryAnswer(implicit p: Params) extends Bundle {
  val found = Bool()
  val cluster = UInt(p.clusterBits.W)
}

object ClusterSummaries {

  /** One of so many clusters of a device is not granted off FREE to orders 1 to 8, with placement INDEXED. */
  val Spared: Int = 8
}

/** The summaries of all clusters, which are granted, and the index over them (summaries and granted of the golden
  * model). One at a time: what was read, and requests, in turn where both wait.
  *
  * A cluster that is granted is not in the tree. Which clusters an order finds at all, granted or not, is counted for
  * each device: NO_RUN comes from there.
  */
class ClusterSummaries(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val reading = Flipped(Decoupled(new Reading))
    val request = Flipped(Decoupled(new SummaryRequest))

    /** Comes with each request's end. */
    val answer = Output(Valid(new SummaryAnswer))
    val devices = Input(Vec(p.devices, new GrantDevice))
    val open = Input(Bool())

    /** From the next cycle on this device has another entry; nothing is counted of it until it is swept. */
    val changed = Flipped(Valid(UInt(p.deviceBits.W)))

    /** Per device the orders for which it has a cluster, whatever ring has that now. */
    val orders = Output(Vec(p.devices, UInt(GrantLayout.Orders.W)))

    /** For each device: of its clusters at least one in `Spared` is FREE and nobody's. */
    val spare = Output(Vec(p.devices, Bool()))

    /** The last reading was new (pulse); all readings are in the index (level). */
    val news, settled = Output(Bool())
  })
  private val orders = GrantLayout.Orders

  /** Of a cluster: `granted`: an entry is of it, `counted`: it is in its device's counts, `spent`: so it was when the
    * tree got it, with the placement of then.
    */
  private class Record extends Bundle {
    val summary = new Summary
    val granted, counted, spent = Bool()
  }

  private object State extends ChiselEnum {
    val clear, idle, read, arrive, change, count, treeOld, treeNew, treeWait, find, finding, answer = Value
  }
  private val state = RegInit(State.clear)
  private val tree = Module(new RunTree)

  private val records = SyncReadMem(p.clusters, UInt((new Record).getWidth.W), SyncReadMem.Undefined)
  private val cluster = Reg(UInt(p.clusterBits.W))
  private val clearing = RegInit(0.U(p.clusterBits.W))

  /** The present or last job is a reading, not a request. */
  private val reads = RegInit(false.B)
  private val found = Reg(new Summary)
  private val request = Reg(new SummaryRequest)
  private val sweeping = !reads && request.op === SummaryOp.sweep

  private val ready = state === State.idle && tree.io.ready
  io.reading.ready := ready && !(reads && io.request.valid)
  io.request.ready := ready && !(!reads && io.reading.valid)
  io.answer.valid := state === State.answer && !reads
  io.answer.bits.found := tree.io.found.valid
  io.answer.bits.cluster := tree.io.found.bits
  io.settled := (state === State.idle || !reads) && !io.reading.valid

  // A record as it was read, and as it will be.
  private val before = Reg(new Record)
  private val after = WireDefault(before)
  private val data = records.read(cluster, state === State.read)
  io.news := state === State.change && reads && before.summary.asUInt =/= found.asUInt
  when(reads)(after.summary := found).otherwise(after.granted := request.op === SummaryOp.own)

  // Whose it is: looked up while the record is read.
  private val holds = RegNext(VecInit(io.devices.map(d => d.live && d.holds(cluster))))
  private val held = holds.asUInt.orR
  private val device = if (p.devices == 1) 0.U else OHToUInt(PriorityEncoderOH(holds))
  private val epoch = Mux1H(PriorityEncoderOH(holds), io.devices.map(_.epoch))
  private val valid = held && after.summary.word.epoch === epoch
  after.counted := valid
  private val usable = after.summary.orders(io.open) & Fill(orders, valid)
  private val gone = before.summary.orders(io.open) & Fill(orders, before.counted && !sweeping)

  private val takes = after.summary.word.free && valid && !after.granted
  private val gives = before.summary.word.free && before.counted && !sweeping && !before.granted

  after.spent := !io.open && after.summary.word.order =/= 0.U && after.summary.run <= after.summary.word.order
  private def kindOf(record: Record): UInt = {
    val word = record.summary.word
    Mux(word.free, RunTree.Free.U, Mux(record.spent, RunTree.Spent.U, word.order))
  }
  private def listed(word: ClusterWord): Bool = word.free || word.partly
  private val oldKind = Reg(UInt(RunTree.KindBits.W))
  private val moves = Reg(Bool())
  private val inTree = Reg(Bool())
  private val newKind = Reg(UInt(RunTree.KindBits.W))
  private val value = Reg(UInt(4.W))
  private val plus, minus = Reg(UInt((orders + 1).W))
  private val countsOf = Reg(UInt(p.deviceBits.W))
  private val counting = Reg(Bool())

  // How many clusters of each device each order finds, and whether there are any; after these the FREE ones.
  private val countBits = p.clusterCountBits
  private val counts = Mem(p.devices, Vec(orders + 1, UInt(countBits.W)))
  private val some = RegInit(VecInit.fill(p.devices)(0.U(orders.W)))
  private val spare = RegInit(VecInit.fill(p.devices)(false.B))
  io.orders := some
  io.spare := spare
  private val stored = counts(countsOf)
  private val fresh = Reg(Bool())
  private val swept = RegInit(VecInit.fill(p.devices)(false.B))

  /** Not from a device's new entry until it is swept: the entry may have come a cycle ago. */
  private val countsNow = counting && (sweeping || At(swept, countsOf))
  private val counted = VecInit.tabulate(orders + 1) { k =>
    val old = Mux(fresh, 0.U, stored(k))
    Mux(plus(k) && !minus(k), old + 1.U, Mux(minus(k) && !plus(k), old - 1.U, old))
  }

  tree.io.set.valid := false.B
  tree.io.set.bits.cluster := cluster
  tree.io.set.bits.kind := Mux(state === State.treeOld, oldKind, newKind)
  tree.io.set.bits.value := Mux(state === State.treeOld, 0.U, value)
  tree.io.find.valid := state === State.find
  tree.io.find.bits.kind := request.kind
  tree.io.find.bits.above := request.order
  tree.io.find.bits.first := At(io.devices, request.device).base
  tree.io.find.bits.last := At(io.devices, request.device).last

  when(state === State.change) {
    records.write(cluster, after.asUInt)
  }.elsewhen(state === State.clear)(records.write(clearing, 0.U))

  switch(state) {
    is(State.clear) {
      clearing := clearing + 1.U
      when(clearing.andR)(state := State.idle)
    }
    is(State.idle) {
      fresh := false.B
      when(io.reading.fire) {
        state := State.read
        reads := true.B
        cluster := io.reading.bits.cluster
        found := io.reading.bits.summary
      }.elsewhen(io.request.fire) {
        reads := false.B
        fresh := io.request.bits.op === SummaryOp.sweep
        request := io.request.bits
        cluster := Mux(
          io.request.bits.op === SummaryOp.sweep,
          At(io.devices, io.request.bits.device).base,
          io.request.bits.cluster
        )
        state := Mux(io.request.bits.op === SummaryOp.own, State.find, State.read)
      }
    }
    is(State.read)(state := State.arrive)
    is(State.arrive) {
      before := data.asTypeOf(before)
      state := State.change
    }
    is(State.change) {
      plus := takes ## usable
      minus := gives ## gone
      counting := held
      countsOf := device
      oldKind := kindOf(before)
      moves := listed(before.summary.word) && (kindOf(before) =/= kindOf(after) || !listed(after.summary.word))
      newKind := kindOf(after)
      inTree := listed(after.summary.word)
      value := Mux(valid && !after.granted, after.summary.run, 0.U)
      state := State.count
    }
    is(State.count) {
      when(countsNow) {
        counts.write(countsOf, counted)
        At(some, countsOf) := VecInit(counted.init.map(_.orR)).asUInt
        At(spare, countsOf) := counted.last >= (At(io.devices, countsOf).clusters >> log2Ceil(ClusterSummaries.Spared))
        At(swept, countsOf) := true.B
        fresh := false.B
      }
      state := Mux(moves, State.treeOld, Mux(inTree, State.treeNew, State.answer))
    }
    is(State.treeOld) {
      tree.io.set.valid := true.B
      state := Mux(inTree, State.treeWait, State.answer)
    }
    is(State.treeWait)(when(tree.io.ready)(state := State.treeNew))
    is(State.treeNew) {
      tree.io.set.valid := true.B
      state := State.answer
    }
    is(State.find)(state := State.finding)
    is(State.finding) {
      cluster := tree.io.found.bits
      when(tree.io.ready)(state := Mux(tree.io.found.valid, State.read, State.answer))
    }
    is(State.answer) {
      // The tree goes on by itself.
      when(!sweeping || cluster === At(io.devices, request.device).last) {
        state := State.idle
      }.elsewhen(tree.io.ready) {
        cluster := cluster + 1.U
        state := State.read
      }
      when(sweeping && cluster =/= At(io.devices, request.device).last)(io.answer.valid := false.B)
    }
  }

  // Behind the counting, so that it does not win.
  when(io.changed.valid) {
    At(some, io.changed.bits) := 0.U
    At(spare, io.changed.bits) := false.B
    At(swept, io.changed.bits) := false.B
  }

  when(state === State.change && !reads) {
    switch(request.op) {
      is(SummaryOp.own) {
        assert(!before.granted, "a cluster gets a second owner")
        assert((usable >> request.order)(0), "a cluster is granted to an order that it cannot serve")
      }
      is(SummaryOp.drop)(assert(before.granted, "a cluster is let go that nobody has"))
    }
  }
  when(state === State.count && countsNow && !fresh) {
    for (k <- 0 to orders)
      assert(!(minus(k) && !plus(k)) || stored(k) =/= 0.U, "fewer clusters than none are counted")
  }
  assert(
    !sweeping || state === State.idle || state === State.clear || At(io.devices, request.device).live,
    "a device is swept that is not live"
  )
}
