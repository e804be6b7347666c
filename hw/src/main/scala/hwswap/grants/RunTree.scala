// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._
import hwswap.core.FirstSet

/** Sets a cluster's value in the tree of a kind. */
class TreeSet(implicit p: Params) extends Bundle {
  val kind = UInt(RunTree.KindBits.W)
  val cluster = UInt(p.clusterBits.W)
  val value = UInt(4.W)
}

/** Asks for the lowest cluster from `first` to `last` whose value in the tree of a kind is above `above`. */
class TreeFind(implicit p: Params) extends Bundle {
  val kind = UInt(RunTree.KindBits.W)
  val above = UInt(4.W)
  val first = UInt(p.clusterBits.W)
  val last = UInt(p.clusterBits.W)
}

object RunTree {

  /** A kind an order, of clusters in use with room; FREE; and, with placement INDEXED, clusters in use whose own order
    * finds no run any more, so that order 0 is the only one to go there.
    */
  val KindBits: Int = 4
  val Free: Int = GrantLayout.Orders
  val Spent: Int = Free + 1

  /** Values of a row. */
  private val LaneBits = 4
  private val Lanes = 1 << LaneBits
}

/** A value of 4 bits a cluster and kind, and above them rows of 16 with the greatest of the 16 below each: so the
  * lowest cluster with more than so much is found by going up from where the search begins, then down. Reset makes all
  * 0, one row a cycle; `ready` is low until then.
  *
  * To set a value takes 5 cycles a level, and ends where nothing changes; a search 3 cycles a row, at most
  * 2 * levels - 1 rows. 2,048 clusters have 3 levels, 65,536 have 4.
  */
class RunTree(implicit p: Params) extends Module {
  import RunTree._
  val io = IO(new Bundle {

    /** One of the two at a time, while `ready`, which is low from the next cycle until it is done. */
    val set = Flipped(Valid(new TreeSet))
    val find = Flipped(Valid(new TreeFind))
    val ready = Output(Bool())

    /** The result; stays. */
    val found = Output(Valid(UInt(p.clusterBits.W)))
  })
  private val levels = (p.clusterBits + LaneBits - 1) / LaneBits
  private val prefixBits = levels * LaneBits
  private val levelBits = log2Ceil(levels).max(1)
  private def rowBits(level: Int): Int = (p.clusterBits - LaneBits * (level + 1)).max(0)

  private object State extends ChiselEnum {
    val clear, idle, read, arrive, look, change, greatest, up = Value
  }
  private val state = RegInit(State.clear)
  io.ready := state === State.idle

  private val setting = Reg(Bool())
  private val kind = Reg(UInt(KindBits.W))

  /** Of the cluster, at `level`: the row it is in, and the place in it. */
  private val prefix = Reg(UInt(prefixBits.W))
  private val level = Reg(UInt(levelBits.W))
  private val value = Reg(UInt(4.W))
  private val last = Reg(UInt(p.clusterBits.W))

  /** Places of the row from here on are looked at. */
  private val low = Reg(UInt((LaneBits + 1).W))
  private val row = Reg(Vec(Lanes, UInt(4.W)))
  private val found = Reg(Valid(UInt(p.clusterBits.W)))
  io.found := found

  private val lane = prefix(LaneBits - 1, 0)
  private val top = level === (levels - 1).U

  // The rows of each level; one row is read or written in a cycle.
  private val clearing = RegInit(0.U((KindBits + rowBits(0)).W))
  private val write = WireDefault(false.B)
  private val rows = Seq.tabulate(levels) { l =>
    val bits = rowBits(l)
    val ram = SyncReadMem(1 << (KindBits + bits), UInt((4 * Lanes).W), SyncReadMem.Undefined)
    val place = if (bits == 0) kind else kind ## prefix(LaneBits + bits - 1, LaneBits)
    val clear = state === State.clear
    when(clear || (write && level === l.U)) {
      ram.write(
        Mux(clear, clearing(KindBits + bits - 1, 0), place),
        Mux(clear, 0.U, row.asUInt)
      )
    }
    ram.read(place, state === State.read && level === l.U)
  }
  private val data = if (levels == 1) rows.head else VecInit(rows)(level)

  private val atLeast = VecInit(row.zipWithIndex.map { case (v, i) => v > value && i.U >= low }).asUInt
  private val hit = FirstSet(atLeast)

  // The greatest of a row, in two cycles.
  private def max(values: Seq[UInt]): UInt = VecInit(values).reduceTree((a, b) => Mux(a > b, a, b))
  private val partly = Reg(Vec(4, UInt(4.W)))

  switch(state) {
    is(State.clear) {
      clearing := clearing + 1.U
      when(clearing.andR)(state := State.idle)
    }
    is(State.idle) {
      when(io.set.valid || io.find.valid) {
        state := State.read
        setting := io.set.valid
        level := 0.U
      }
      when(io.set.valid) {
        kind := io.set.bits.kind
        prefix := io.set.bits.cluster
        value := io.set.bits.value
      }.elsewhen(io.find.valid) {
        kind := io.find.bits.kind
        prefix := io.find.bits.first
        low := io.find.bits.first(LaneBits.min(p.clusterBits) - 1, 0)
        value := io.find.bits.above
        last := io.find.bits.last
        found.valid := false.B
      }
    }
    is(State.read)(state := State.arrive)
    is(State.arrive) {
      row := data.asTypeOf(row)
      state := Mux(setting, State.change, State.look)
    }
    is(State.look) {
      when(hit.valid) {
        val here = (prefix >> LaneBits) ## hit.bits
        state := Mux(level === 0.U, State.idle, State.read)
        when(level === 0.U) {
          found.valid := here <= last
          found.bits := here(p.clusterBits - 1, 0)
        }.otherwise {
          level := level - 1.U
        }
        prefix := (here ## 0.U(LaneBits.W))(prefixBits - 1, 0)
        low := 0.U
      }.otherwise {
        // Upwards, what is left of this row was looked at.
        state := Mux(top, State.idle, State.read)
        level := level + 1.U
        low := (prefix >> LaneBits).pad(LaneBits)(LaneBits - 1, 0) +& 1.U
        prefix := prefix >> LaneBits
      }
    }
    is(State.change) {
      state := Mux(row(lane) === value, State.idle, State.greatest)
      row(lane) := value
    }
    is(State.greatest) {
      write := true.B
      partly := VecInit(row.grouped(4).map(max).toSeq)
      state := Mux(top, State.idle, State.up)
    }
    is(State.up) {
      value := max(partly)
      level := level + 1.U
      prefix := prefix >> LaneBits
      state := State.read
    }
  }

  private val down = RegInit(false.B)
  when(state === State.look)(down := hit.valid && level =/= 0.U)
  assert(!(state === State.look && down) || hit.valid, "a row says more than the row below it holds")
  assert(!(io.set.valid && io.find.valid), "the tree is set and searched at once")
  assert(!((io.set.valid || io.find.valid) && !io.ready), "the tree is asked while it is at work")
}
