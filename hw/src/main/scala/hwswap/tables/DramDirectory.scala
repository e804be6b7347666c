// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma}

/** The directory in host memory: a word of 8 bytes a cluster, from DIRECTORY_BASE on; the address of its table, or 0.
  *
  * It is read a burst at a time, into a queue of its own, so that entries that nobody has taken yet are never in the
  * way of words behind them.
  */
class DramDirectory(implicit p: Params) extends Directory {
  object State extends ChiselEnum {
    val idle, place, ask, fill, setPlace, setAsk, set = Value
  }
  import MapAccess.low
  private val port = io.port
  io.ready := true.B
  val state = RegInit(State.idle)
  val at = Reg(UInt(p.clusterBits.W))
  val left = Reg(UInt(p.clusterCountBits.W))
  private val address = Reg(UInt(Dma.AddrBits.W))
  private val batch = Reg(UInt(Dma.WordBits.W))
  private val entries = Module(new Queue(new DirectoryEntry, Axi.MaxBeats, hasFlush = true))
  entries.io.flush.get := port.drop
  port.entries <> entries.io.deq

  io.readReq.valid := state === State.ask
  io.readReq.bits.reader := TableReader.directory
  io.readReq.bits.address := address
  io.readReq.bits.words := batch
  io.readData.ready := state === State.fill
  entries.io.enq.valid := io.readData.valid && state === State.fill
  entries.io.enq.bits.table := io.readData.bits.word =/= 0.U && !io.readData.bits.error
  entries.io.enq.bits.page := io.readData.bits.word(Axi.AddrBits - 1, log2Ceil(Directory.TableBytes))
  entries.io.enq.bits.error := io.readData.bits.error

  io.write.req.valid := state === State.setAsk
  io.write.req.bits.address := address
  io.write.req.bits.words := left.pad(Dma.WordBits)(Dma.WordBits - 1, 0)
  io.write.data.valid := port.values.valid && state === State.set
  io.write.data.bits.word := port.values.bits.page ## 0.U(log2Ceil(Directory.TableBytes).W)
  io.write.data.bits.keep := port.values.bits.keep
  port.values.ready := io.write.data.ready && state === State.set
  port.done.valid := state === State.set && io.write.done.valid
  port.done.bits := io.write.done.bits.error

  port.idle := state === State.idle && !entries.io.deq.valid
  port.req.ready := port.idle
  when(state.isOneOf(State.place, State.setPlace)) {
    address := io.base(Axi.AddrBits - 1, Axi.AddrBits - Dma.AddrBits) + at
    batch := Dma.beats(at.pad(log2Ceil(Axi.MaxBeats)), left)
  }
  switch(state) {
    is(State.idle) {
      when(port.req.fire) {
        at := port.req.bits.cluster
        left := port.req.bits.count
        state := Mux(port.req.bits.set, State.setPlace, State.place)
      }
    }
    is(State.place)(when(!entries.io.deq.valid)(state := State.ask))
    is(State.ask) {
      when(io.readReq.fire) {
        at := low(at + batch, at)
        left := low(left - batch, left)
        state := State.fill
      }
    }
    is(State.fill) {
      when(io.readData.fire && io.readData.bits.last)(state := Mux(left === 0.U, State.idle, State.place))
    }
    is(State.setPlace)(state := State.setAsk)
    is(State.setAsk)(when(io.write.req.fire)(state := State.set))
    is(State.set)(when(io.write.done.valid)(state := State.idle))
  }
  when(port.drop && state.isOneOf(State.place, State.ask, State.fill))(state := State.idle)

  assert(!port.req.fire || port.req.bits.count =/= 0.U, "the directory is asked for no entries")
  assert(!io.readData.fire || entries.io.enq.ready, "an entry of the directory finds no place")
}
