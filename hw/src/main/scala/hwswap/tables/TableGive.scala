// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Dma, DmaReadReq, DmaReadWord}

/** Changes of the directory: clusters get tables, lose them one by one and are counted, or all of a device do. */
class GiveJob(implicit p: Params) extends Bundle {

  /** give, take, off. */
  val op = TableOp()
  val cluster = UInt(p.clusterBits.W)
  val count = UInt(p.clusterCountBits.W)

  /** give: where the addresses of the tables are, as the number of the first word. */
  val source = UInt(Dma.AddrBits.W)
}

/** Its end. */
class GiveResult extends Bundle {

  /** The bus answered with an error; an address was none of a table. */
  val error, bad = Bool()

  /** take: how many had a table. */
  val tables = UInt(MemMap.Command.Head.Nr.width.W)
}

/** Carries out TABLE_GIVE, TABLE_TAKE and SWAPOFF's taking of tables. Addresses are read in batches that fit in the
  * read queue as a whole, so that nothing is written while a read is under way.
  */
class TableGive(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val job = Flipped(Decoupled(new GiveJob))
    val done = Valid(new GiveResult)
    val directoryReq = Decoupled(new DirectoryReq)
    val entries = Flipped(Decoupled(new DirectoryEntry))
    val values = Decoupled(new DirectoryValue)
    val directoryDone = Input(Bool())
    val readReq = Decoupled(new DmaReadReq(TableReader()))
    val readData = Flipped(Decoupled(new DmaReadWord(TableReader())))
    val settled = Input(Bool())
  })
  import MapAccess.low
  object State extends ChiselEnum {
    val idle, look, entries, next, read, settle, ask, set, finish = Value
  }
  val state = RegInit(State.idle)
  private val job = Reg(new GiveJob)

  /** Clusters that are left, and those of the present batch. */
  private val clustersLeft, batch = Reg(UInt(p.clusterCountBits.W))
  private val result = Reg(new GiveResult)
  private val isGive = job.op === TableOp.give
  private val stopped = result.error || result.bad

  io.job.ready := state === State.idle
  io.directoryReq.valid := state === State.look || state === State.ask
  io.directoryReq.bits.set := state === State.ask
  io.directoryReq.bits.cluster := job.cluster
  io.directoryReq.bits.count := Mux(state === State.ask, batch, clustersLeft)
  io.entries.ready := state === State.entries

  io.readReq.valid := state === State.read
  io.readReq.bits.reader := TableReader.addresses
  io.readReq.bits.address := job.source
  io.readReq.bits.words := low(batch, io.readReq.bits.words)

  // A word given is an address, unless one before it was wrong.
  private val word = io.readData.bits.word
  private val aligned = word(log2Ceil(Directory.TableBytes) - 1, 0) === 0.U
  private val wrong = io.readData.bits.error || !aligned
  io.values.valid := state === State.set && (!isGive || io.readData.valid)
  io.values.bits.page := Mux(isGive, word(Axi.AddrBits - 1, log2Ceil(Directory.TableBytes)), 0.U)
  io.values.bits.keep := !isGive || (!wrong && !stopped)
  io.readData.ready := state === State.set && isGive && io.values.ready
  when(io.readData.fire && wrong && !stopped) {
    result.error := io.readData.bits.error
    result.bad := !io.readData.bits.error
  }

  io.done.valid := state === State.finish
  io.done.bits := result
  private val most = Mux(isGive, TableGive.Batch.U, TableGive.Cleared.U)
  switch(state) {
    is(State.idle) {
      when(io.job.fire) {
        job := io.job.bits
        clustersLeft := io.job.bits.count
        result := 0.U.asTypeOf(result)
        state := Mux(io.job.bits.op === TableOp.take, State.look, State.next)
      }
    }
    is(State.look) {
      batch := clustersLeft
      when(io.directoryReq.fire)(state := State.entries)
    }
    is(State.entries) {
      when(io.entries.fire) {
        batch := batch - 1.U
        result.tables := result.tables + io.entries.bits.table
        when(batch === 1.U)(state := State.next)
      }
    }
    is(State.next) {
      batch := low(Mux(clustersLeft < most, clustersLeft, most), batch)
      state := Mux(clustersLeft === 0.U || stopped, State.finish, Mux(isGive, State.read, State.ask))
    }
    is(State.read)(when(io.readReq.fire)(state := State.settle))
    is(State.settle)(when(io.settled)(state := State.ask))
    is(State.ask)(when(io.directoryReq.fire)(state := State.set))
    is(State.set) {
      when(io.directoryDone) {
        clustersLeft := clustersLeft - batch
        job.cluster := low(job.cluster + batch, job.cluster)
        job.source := job.source + batch
        state := State.next
      }
    }
    is(State.finish)(state := State.idle)
  }
  assert(!io.readData.fire || io.readData.bits.reader === TableReader.addresses, "words of somebody else's read")
}

object TableGive {

  /** Addresses that are read at once. */
  val Batch: Int = 64

  /** Entries that are cleared at once. */
  private val Cleared = 512
}
