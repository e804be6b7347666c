// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.Axi
import hwswap.store.ClusterStore

/** Entries of the directory. */
object Directory {

  /** Bytes of a swap table; its address is a multiple of this. */
  val TableBytes: Int = 4096

  /** Bits of the address of a table, without those that are 0. */
  val PageBits: Int = Axi.AddrBits - log2Ceil(TableBytes)
}

/** The address of a cluster's table. */
class DirectoryEntry extends Bundle {

  /** The cluster has one. */
  val table = Bool()
  val page = UInt(Directory.PageBits.W)
}

/** A new value of an entry: the address of a table, or 0 for none; without `keep` it stays as it is. */
class DirectoryValue extends Bundle {
  val page = UInt(Directory.PageBits.W)
  val keep = Bool()
}

/** Looks at, or sets, `count` entries from `cluster` on: as many as there are, or up to 512 to be set. */
class DirectoryReq(implicit p: Params) extends Bundle {
  val set = Bool()
  val cluster = UInt(p.clusterBits.W)
  val count = UInt(p.clusterCountBits.W)
}

/** A client's port to the directory: one request at a time. */
class DirectoryPort(implicit p: Params) extends Bundle {
  val req = Decoupled(new DirectoryReq)

  /** The entries looked at, in order. */
  val entries = Flipped(Decoupled(new DirectoryEntry))

  /** The values to be set, in order, and their end (one cycle). */
  val values = Decoupled(new DirectoryValue)
  val done = Input(Bool())

  /** No more entries are wanted; held until `idle`. */
  val drop = Output(Bool())
  val idle = Input(Bool())
}

/** The directory: from each engine cluster to the address of its swap table. It has a memory of its own, cleared at
  * reset.
  */
class Directory(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val port = Flipped(new DirectoryPort)

    /** It is cleared. */
    val ready = Output(Bool())
  })

  /** An entry as it is stored: the lowest bit says whether there is a table. */
  private val bits = Directory.PageBits + 1

  /** Width of its block RAMs. */
  private val width = ClusterStore.width(p.clusters)

  object State extends ChiselEnum {
    val clear, idle, read, get, offer, set, done = Value
  }
  val state = RegInit(State.clear)
  val at = RegInit(0.U(p.clusterBits.W))
  val entriesLeft = Reg(UInt(p.clusterCountBits.W))
  private val entry = Reg(UInt(bits.W))
  private val port = io.port

  private val clearing = state === State.clear
  private val value = Mux(clearing, 0.U, port.values.bits.page ## port.values.bits.page.orR)
  private val write = clearing || (port.values.fire && port.values.bits.keep)
  private val read = Cat(
    Seq
      .tabulate((bits + width - 1) / width) { i =>
        val low = i * width
        val slice = value((low + width).min(bits) - 1, low)
        val ram = SyncReadMem(p.clusters, chiselTypeOf(slice), SyncReadMem.Undefined)
        when(write)(ram.write(at, slice))
        ram.read(at, state === State.read)
      }
      .reverse
  )

  io.ready := !clearing
  port.idle := state === State.idle
  port.req.ready := state === State.idle
  port.entries.valid := state === State.offer
  port.entries.bits.table := entry(0)
  port.entries.bits.page := entry >> 1
  port.values.ready := state === State.set
  port.done := state === State.done

  private val last = entriesLeft === 1.U
  when(clearing || port.entries.fire || port.values.fire) {
    at := at + 1.U
    entriesLeft := entriesLeft - 1.U
  }
  switch(state) {
    is(State.clear)(when(at.andR)(state := State.idle))
    is(State.idle) {
      when(port.req.fire) {
        at := port.req.bits.cluster
        entriesLeft := port.req.bits.count
        state := Mux(port.req.bits.set, State.set, State.read)
      }
    }
    is(State.read)(state := State.get)
    is(State.get) {
      entry := read
      state := State.offer
    }
    is(State.offer)(when(port.entries.fire)(state := Mux(last, State.idle, State.read)))
    is(State.set)(when(port.values.fire && last)(state := State.done))
    is(State.done)(state := State.idle)
  }
  when(port.drop && state.isOneOf(State.read, State.get, State.offer))(state := State.idle)
  assert(!port.req.fire || port.req.bits.count =/= 0.U, "the directory is asked for no entries")
}
