// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.DmaReadReq

/** A range of slots. */
class TableRange(implicit p: Params) extends Bundle {

  /** Engine cluster of the first slot, and the slot in it. */
  val cluster = UInt(p.clusterBits.W)
  val first = UInt(p.slotBits.W)

  /** The number of slots, and of clusters that hold them: each at least 1. */
  val slots = UInt(p.usedBits.W)
  val clusters = UInt(p.clusterCountBits.W)

  /** No cluster of the device has a table: the directory need not be asked. */
  val bare = Bool()
}

/** Cuts a range of slots into its clusters, looks up their tables, and asks for the words. It runs ahead of the reader
  * of the words, by as many clusters as there are places.
  */
class TableWalk(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val start = Flipped(Decoupled(new TableRange))
    val directoryReq = Decoupled(new DirectoryReq)
    val entries = Flipped(Decoupled(new DirectoryEntry))
    val readReq = Decoupled(new DmaReadReq(TableReader()))
    val pieces = Decoupled(new TablePiece)

    /** The address of the last piece's table. */
    val page = Output(UInt(Directory.PageBits.W))

    /** Forgets the range. */
    val stop = Input(Bool())
  })
  object State extends ChiselEnum {
    val idle, ask, walk = Value
  }
  val state = RegInit(State.idle)
  private val range = Reg(new TableRange)
  private val number = Reg(UInt(p.clusterBits.W))
  private val page = Reg(UInt(Directory.PageBits.W))
  private val pieces = Module(new Queue(new TablePiece, TableWalk.Places, hasFlush = true))
  pieces.io.flush.get := io.stop
  io.pieces <> pieces.io.deq
  io.page := page

  io.start.ready := state === State.idle
  io.directoryReq.valid := state === State.ask
  io.directoryReq.bits.set := false.B
  io.directoryReq.bits.cluster := range.cluster
  io.directoryReq.bits.count := range.clusters

  // A piece goes on when there is a place for it, and its read, if it has one, is taken.
  private val last = Reg(Bool())
  private val count = Reg(UInt(p.countBits.W))

  /** The next piece: all slots that are left, as far as there is room. */
  private def cut(fits: Bool, slotsLeft: UInt, room: UInt): Unit = {
    last := fits
    count := Mux(fits, slotsLeft, room)(p.countBits - 1, 0)
  }
  private val entry = io.entries.bits
  private val walking = state === State.walk && !io.stop && (io.entries.valid || range.bare)
  private val reads = entry.table && !range.bare
  io.readReq.valid := walking && reads && pieces.io.enq.ready
  io.readReq.bits.reader := TableReader.words
  io.readReq.bits.address := entry.page ## range.first
  io.readReq.bits.words := count
  pieces.io.enq.valid := walking && (!reads || io.readReq.ready)
  pieces.io.enq.bits.cluster := number
  pieces.io.enq.bits.first := range.first
  pieces.io.enq.bits.count := count
  pieces.io.enq.bits.table := reads
  pieces.io.enq.bits.last := last
  private val moves = pieces.io.enq.fire
  io.entries.ready := moves && !range.bare

  switch(state) {
    is(State.idle) {
      when(io.start.fire) {
        range := io.start.bits
        val room = p.slots.U(p.countBits.W) - io.start.bits.first
        cut(io.start.bits.slots +& io.start.bits.first <= p.slots.U, io.start.bits.slots, room)
        number := 0.U
        state := Mux(io.start.bits.bare, State.walk, State.ask)
      }
    }
    is(State.ask)(when(io.directoryReq.fire)(state := State.walk))
    is(State.walk) {
      when(moves) {
        page := entry.page
        number := number + 1.U
        range.first := 0.U
        val slotsLeft = range.slots - count
        range.slots := slotsLeft
        cut(range.slots <= count +& p.slots.U, slotsLeft, p.slots.U)
        when(last)(state := State.idle)
      }
    }
  }
  when(io.stop)(state := State.idle)
  assert(!io.start.fire || io.start.bits.slots =/= 0.U, "a range of no slots")
  assert(!io.readReq.fire || pieces.io.enq.fire, "a read without a piece")
}

object TableWalk {

  /** Clusters whose words may be asked for before the present one is done with. */
  val Places: Int = 4
}
