// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.Axi
import hwswap.core.PoolPort

/** The pool of swap tables: a cluster that comes into use gets one of those the host has left in
  * an array, and gives it back when it gets empty (`swap_cluster_alloc_table()`, `swap_cluster_free_table()`).
  *
  * The core says that a cluster changes; the address is read or written, and the directory changed, later, one cluster
  * after the other and in order, before any other job on swap tables. How many can still be had is counted at once for
  * clusters that come into use. For one that gets empty it is known when the directory was looked at, as a cluster that
  * has no table has none to give back: where an allocation depends on that, and while too many changes wait, the core
  * does.
  */
class TablePool(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort
    val core = Flipped(new PoolPort)

    /** What is to be done, and its end. */
    val job = Decoupled(new TableJob)
    val done = Flipped(Valid(new TableResult))

    /** In the next cycle there is a job, if there is none in this. */
    val coming = Output(Bool())

    /** There is a pool. */
    val on = Output(Bool())
    val busy = Output(Bool())
  })
  import MapAccess.{get, merge, word}
  private val size = RegMap.PoolSize
  private val countBits = size.Nr.width

  /** Something that waits to be done. */
  class Change extends Bundle {
    val cluster = UInt(p.clusterBits.W)
    val empties = Bool()
  }

  private val file = new RegisterFile(io.regs)
  private val base = file.address(RegMap.PoolBase.Offset, RegMap.PoolBase.Addr, BaseAlignment.LineLog2)
  private val sizeWord = RegInit(0.U(Axi.DataBits.W))

  /** Tables in the array, without the changes that wait, and the fewest there ever were. */
  private val left, least = RegInit(0.U(countBits.W))

  /** Those of them that no change that waits will take; changes that wait and may bring one back. */
  private val spare = RegInit(0.U(countBits.W))
  private val returning = RegInit(0.U(log2Ceil(TablePool.Places + 1).W))
  private val write = io.regs.write
  private val nr = get(sizeWord, size.Nr)
  private val on = RegNext(nr =/= 0.U, false.B)
  io.on := on

  private val changes = Module(new Queue(new Change, TablePool.Places))
  private val event = io.core.event
  private val counts = event.valid && on
  private val empties = event.bits.empties

  // The core's events come late in their cycle, and from far away: all but what it asks sees them a cycle later.
  private val arrived = RegNext(counts, false.B)
  private val arriving = RegNext(event.bits)
  private val hasTaken = arrived && !arriving.empties
  private val hasReturned = arrived && arriving.empties
  changes.io.enq.valid := arrived
  changes.io.enq.bits.cluster := arriving.cluster
  changes.io.enq.bits.empties := arriving.empties

  /** Changes that wait, with the one that arrives. */
  private val waiting = RegInit(0.U(log2Ceil(TablePool.Places + 1).W))
  when(counts =/= io.done.valid)(waiting := Mux(counts, waiting + 1.U, waiting - 1.U))

  // A change is done when its job is; until then it is at the front.
  private val working = RegInit(false.B)
  private val change = changes.io.deq
  private val fewer = left - 1.U
  private val took = io.done.valid && !change.bits.empties
  private val returned = io.done.valid && change.bits.empties
  private val gaveBack = returned && io.done.bits.value(0)
  when(took) {
    left := fewer
    when(fewer < least)(least := fewer)
  }
  when(gaveBack)(left := left + 1.U)

  // What the core asks is there when the cycle begins: no table is spare; it depends on a change that waits. The events
  // of this cycle only choose; those of the last one are not counted yet.
  private val none, unsure = RegInit(false.B)
  private val oneSpare = Mux(hasTaken, spare === 2.U, spare === 1.U)
  private val someReturn = hasReturned || returning =/= 0.U
  private val severalReturn = Mux(hasReturned, returning =/= 0.U, returning =/= 1.U)
  private def noneWith(takes: Bool): Bool = Mux(takes === gaveBack, none, takes && oneSpare)
  private def unsureWith(takes: Bool, returns: Bool): Bool =
    noneWith(takes) && Mux(returns === returned, someReturn, returns || severalReturn)
  none := Mux(counts, noneWith(!empties), noneWith(false.B))
  unsure := Mux(counts, unsureWith(!empties, empties), unsureWith(false.B, false.B))
  when(hasTaken =/= gaveBack)(spare := Mux(hasTaken, spare - 1.U, spare + 1.U))
  when(hasReturned =/= returned)(returning := Mux(hasReturned, returning + 1.U, returning - 1.U))
  when(write.valid && write.bits.at(size.Offset)) {
    val merged = merge(sizeWord, write.bits.data, write.bits.strb)
    sizeWord := word(size.Nr -> get(merged, size.Nr))
    when(write.bits.strb(size.Nr.width / 8 - 1, 0).orR) {
      for (count <- Seq(left, least, spare)) count := get(merged, size.Nr)
      none := get(merged, size.Nr) === 0.U
      unsure := false.B
    }
  }
  io.core.none := on && none
  io.core.full := (on && unsure) || waiting >= (TablePool.Places - TablePool.Room).U

  io.job.valid := change.valid && !working
  io.job.bits := 0.U.asTypeOf(new TableJob)
  io.job.bits.op := Mux(change.bits.empties, TableOp.release, TableOp.populate)
  io.job.bits.slot := change.bits.cluster
  io.job.bits.nr := 1.U
  io.job.bits.arg2 := base + Mux(change.bits.empties, left, fewer) ## 0.U(log2Ceil(Axi.DataBytes).W)
  change.ready := io.done.valid
  when(io.job.fire)(working := true.B).elsewhen(io.done.valid)(working := false.B)
  io.coming := arrived
  io.busy := change.valid || arrived

  file.readOnly(size.Offset, sizeWord)
  file.readOnly(RegMap.PoolState.Offset, word(RegMap.PoolState.Left -> left, RegMap.PoolState.Least -> least))
  file.finish()
  assert(!io.done.valid || working, "the end of a change that was not begun")
  assert(!on || none === (spare === hasTaken.asUInt), "the core sees another state of the pool than there is")
  assert(waiting === changes.io.count +& arrived, "the pool's changes are miscounted")
  assert(!arrived || changes.io.enq.ready, "the pool misses a cluster")
  assert(!counts || empties || !none, "a cluster comes into use without a table")
}

object TablePool {

  /** Changes that wait, and how many may still come when the core is stalled. */
  private val Places = 8
  private val Room = 4
}
