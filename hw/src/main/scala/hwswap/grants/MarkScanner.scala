// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._
import hwswap.bus.Axi
import hwswap.core.FirstSet

/** The scan (Scanner of the golden model): goes round over all groups; clears a group that it saw marked, then the
  * clusters' bytes that were 1, each before it reads what that stands for, and waits until it is cleared. What comes
  * behind a read is marked again, so nothing is lost.
  *
  * Word and bitmap of a cluster are asked for at once: they have no order among each other.
  */
class MarkScanner(implicit p: Params) extends Module {
  import GrantLayout._
  val io = IO(new Bundle {
    val settings = Input(new GrantSettings)
    val memory = new BurstPort

    /** From the next cycle on a cluster may be read. */
    val begins = Output(Valid(UInt(p.clusterBits.W)))
    val scanned = Decoupled(new Scanned)

    /** All that was scanned is in the index. */
    val settled = Input(Bool())

    /** Pulses when a round over all groups begins, and when it is finished. */
    val roundBegins, round = Output(Bool())

    /** The last round that was finished found no mark, nor has the one under way. */
    val quiet = Output(Bool())
    val idle = Output(Bool())

    /** A round is under way. */
    val working = Output(Bool())
  })
  private val groups = p.clusters / GroupClusters
  private val groupBits = log2Ceil(groups).max(1)

  /** Groups of a read. */
  private val blockGroups = groups.min(GroupClusters)
  private val blocks = groups / blockGroups
  private val blockBits = log2Ceil(blocks).max(1)
  private val groupWords = (blockGroups + Axi.DataBytes - 1) / Axi.DataBytes

  private object State extends ChiselEnum {
    val idle, askGroups, groups, group, clearGroup, groupByte, groupCleared, askDirty, dirty, clearDirty, dirtyBytes,
        dirtyCleared, cluster, askWord, askBitmap, reading, give, round, pause = Value
  }
  private val state = RegInit(State.idle)
  private object Id {
    val word = 0.U
    val bitmap = 1.U
  }

  private val block = Reg(UInt(blockBits.W))

  /** What is left of the groups that were marked, and of the clusters of one of them. */
  private val marked = Reg(Vec(Words, UInt(Axi.DataBytes.W)))
  private val dirty = Reg(Vec(Words, UInt(Axi.DataBytes.W)))
  private val nextGroup = FirstSet(marked.asUInt)
  private val nextCluster = FirstSet(dirty.asUInt)
  private val group = Reg(UInt(groupBits.W))
  private val cluster = Reg(UInt(p.clusterBits.W))
  private val count = Reg(UInt(3.W))
  private val busy = Reg(Bool())
  private val rest = Reg(UInt(io.settings.pause.getWidth.W))

  /** Which bytes of a word are not 0. */
  private val bytes =
    VecInit.tabulate(Axi.DataBytes)(i => io.memory.rdata.bits.data(8 * i + 7, 8 * i).orR).asUInt

  private val runs = Module(new BitmapRuns)
  runs.io.start := state === State.askWord
  runs.io.word.valid := state === State.reading && io.memory.rdata.valid && io.memory.rdata.bits.id === Id.bitmap
  runs.io.word.bits := io.memory.rdata.bits.data
  runs.io.order := 0.U
  runs.io.from := 0.U
  private val word = Reg(new ClusterWord)
  private val hasWord, hasRuns = Reg(Bool())

  private val out = Module(new Queue(new Scanned, 2))
  io.scanned <> out.io.deq
  out.io.enq.valid := state === State.give
  out.io.enq.bits.cluster := cluster
  out.io.enq.bits.summary.word := word
  out.io.enq.bits.summary.run := runs.io.run

  private val read = io.memory.read
  read.valid := Seq(State.askGroups, State.askDirty, State.askWord, State.askBitmap).map(_ === state).reduce(_ || _)
  read.bits.id := Mux(state === State.askBitmap, Id.bitmap, Id.word)
  private val blockAddress = io.settings.groups + (if (blocks == 1) 0.U else block ## 0.U(log2Ceil(GroupClusters).W))
  private val dirtyAddress = io.settings.dirty + (group ## 0.U(log2Ceil(GroupClusters).W))
  private val wordAddress = io.settings.words + (cluster ## 0.U(WordLog2.W))
  read.bits.address := MuxLookup(state.asUInt, io.settings.bitmap(cluster))(
    Seq(
      State.askGroups.asUInt -> blockAddress,
      State.askDirty.asUInt -> dirtyAddress,
      State.askWord.asUInt -> wordAddress(Axi.AddrBits - 1, 3) ## 0.U(3.W)
    )
  )
  read.bits.words := Mux(state === State.askGroups, groupWords.U, Mux(state === State.askWord, 1.U, Words.U))

  private val write = io.memory.write
  private val groupAddress = io.settings.groups + group
  write.valid := state === State.clearGroup || state === State.clearDirty
  write.bits.id := 0.U
  write.bits.address := Mux(
    state === State.clearGroup,
    groupAddress(Axi.AddrBits - 1, 3) ## 0.U(3.W),
    dirtyAddress
  )
  write.bits.words := Mux(state === State.clearGroup, 1.U, Words.U)
  io.memory.wdata.valid := state === State.groupByte || state === State.dirtyBytes
  io.memory.wdata.bits.data := 0.U
  io.memory.wdata.bits.strb := Mux(state === State.groupByte, UIntToOH(group.pad(3)(2, 0), 8), dirty(count))

  io.begins.valid := state === State.cluster && nextCluster.valid
  private val clusterFound =
    if (groups == 1) nextCluster.bits else (group ## nextCluster.bits)(p.clusterBits - 1, 0)
  io.begins.bits := clusterFound
  io.round := state === State.round && io.settled && !out.io.deq.valid
  io.idle := state === State.idle
  io.working := state =/= State.idle && state =/= State.pause
  io.roundBegins := state === State.idle && io.settings.scan
  private val found = RegInit(false.B)
  when(io.round)(found := busy)
  io.quiet := !found && (state === State.idle || !busy)

  private def clearLowest(bits: Vec[UInt], index: UInt): Unit =
    bits := (bits.asUInt & ~UIntToOH(index, GroupClusters)).asTypeOf(bits)

  switch(state) {
    is(State.idle) {
      block := 0.U
      busy := false.B
      when(io.settings.scan)(state := State.askGroups)
    }
    is(State.askGroups) {
      marked := 0.U.asTypeOf(marked)
      count := 0.U
      when(read.fire)(state := State.groups)
    }
    is(State.groups) {
      when(io.memory.rdata.valid) {
        marked(count) := (if (groups < Axi.DataBytes) bytes & ((1 << groups) - 1).U else bytes)
        count := count + 1.U
        when(io.memory.rdata.bits.last)(state := State.group)
      }
    }
    is(State.group) {
      group := (if (blocks == 1) nextGroup.bits else block ## nextGroup.bits)
      when(nextGroup.valid) {
        clearLowest(marked, nextGroup.bits)
        busy := true.B
        state := State.clearGroup
      }.elsewhen(block === (blocks - 1).U) {
        state := State.round
      }.otherwise {
        block := block + 1.U
        state := State.askGroups
      }
    }
    is(State.clearGroup)(when(write.fire)(state := State.groupByte))
    is(State.groupByte)(when(io.memory.wdata.fire)(state := State.groupCleared))
    is(State.groupCleared)(when(io.memory.written.valid)(state := State.askDirty))
    is(State.askDirty) {
      count := 0.U
      when(read.fire)(state := State.dirty)
    }
    is(State.dirty) {
      when(io.memory.rdata.valid) {
        dirty(count) := bytes
        count := count + 1.U
        when(io.memory.rdata.bits.last) {
          state := Mux(dirty.init.map(_.orR).reduce(_ || _) || bytes.orR, State.clearDirty, State.group)
        }
      }
    }
    is(State.clearDirty) {
      count := 0.U
      when(write.fire)(state := State.dirtyBytes)
    }
    is(State.dirtyBytes) {
      when(io.memory.wdata.fire) {
        count := count + 1.U
        when(count === (Words - 1).U)(state := State.dirtyCleared)
      }
    }
    is(State.dirtyCleared)(when(io.memory.written.valid)(state := State.cluster))
    is(State.cluster) {
      cluster := clusterFound
      hasWord := false.B
      hasRuns := false.B
      when(nextCluster.valid)(clearLowest(dirty, nextCluster.bits))
      state := Mux(nextCluster.valid, State.askWord, State.group)
    }
    is(State.askWord)(when(read.fire)(state := State.askBitmap))
    is(State.askBitmap)(when(read.fire)(state := State.reading))
    is(State.reading)(when(hasWord && (hasRuns || runs.io.done))(state := State.give))
    is(State.give)(when(out.io.enq.ready)(state := State.cluster))
    is(State.round) {
      rest := io.settings.pause
      when(io.round)(state := Mux(busy, State.idle, State.pause))
    }
    is(State.pause) {
      rest := rest - 1.U
      when(rest === 0.U)(state := State.idle)
    }
  }
  // The word may come while the bitmap is still being asked for.
  when(io.memory.rdata.valid && io.memory.rdata.bits.id === Id.word && !hasWord) {
    word := ClusterWord.unpack(Mux(cluster(0), io.memory.rdata.bits.data(63, 32), io.memory.rdata.bits.data(31, 0)))
    hasWord := state === State.askBitmap || state === State.reading
  }
  when(runs.io.done)(hasRuns := true.B)

  private val clearing = RegInit(false.B)
  when(write.fire)(clearing := true.B).elsewhen(io.memory.written.valid)(clearing := false.B)
  assert(!(read.valid && clearing), "something is read before its mark is cleared")
  private val clean = RegInit(VecInit.fill(2)(false.B))
  when(io.memory.written.valid)(clean(state === State.dirtyCleared) := true.B)
  when(state === State.group)(clean := VecInit.fill(2)(false.B))
  assert(!(read.fire && state === State.askDirty) || clean(0), "DIRTY is read and its group was not cleared")
  assert(!(read.fire && state === State.askWord) || clean(1), "a cluster is read and its byte was not cleared")
}
