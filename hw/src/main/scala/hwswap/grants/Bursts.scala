// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._
import hwswap.bus.{Axi, Axi4, AxiAddress, AxiWriteBeat}

object Bursts {

  /** Width of a client's own identifiers. */
  val IdBits: Int = 2

  /** Words of the longest burst: 64 bytes. */
  val MaxWords: Int = 8
}

/** A burst: 1 to 8 words of 64 bits from `address` on (bytes, a multiple of 8), within 64 aligned bytes. */
class Burst extends Bundle {
  val id = UInt(Bursts.IdBits.W)
  val address = UInt(Axi.AddrBits.W)
  val words = UInt(log2Ceil(Bursts.MaxWords + 1).W)
}

/** A word to write; `strb`: which of its bytes. */
class BurstWord extends Bundle {
  val data = UInt(Axi.DataBits.W)
  val strb = UInt(Axi.DataBytes.W)
}

/** A word that was read for the request of this identifier. */
class BurstRead extends Bundle {
  val id = UInt(Bursts.IdBits.W)
  val data = UInt(Axi.DataBits.W)
  val last = Bool()
}

/** A client's view of the memory. Reads of different identifiers may be under way at once and answer in any order;
  * their words come when they come, and are to be taken at once. Behind a write's request its words go out; `written`
  * says that all of it is where CPUs see it. Requests that wait for nothing have no order among each other.
  */
class BurstPort extends Bundle {
  val read = Decoupled(new Burst)
  val rdata = Flipped(Valid(new BurstRead))
  val write = Decoupled(new Burst)
  val wdata = Decoupled(new BurstWord)
  val written = Flipped(Valid(UInt(Bursts.IdBits.W)))
}

/** Clients' bursts on an AXI4 master: the client's number and its identifier make that of the bus. After an error
  * answer nothing new is begun, nor while `flush` is high.
  *
  * @param clients
  *   number of client ports, at most 4
  */
class AxiBursts(clients: Int) extends Module {
  require(clients >= 1 && clients <= (1 << (Axi.IdBits - Bursts.IdBits)), s"$clients clients have no identifiers")
  val io = IO(new Bundle {
    val axi = new Axi4
    val clients = Vec(AxiBursts.this.clients, Flipped(new BurstPort))

    /** Nothing new is begun; what is under way comes to its end, which `idle` tells. */
    val flush = Input(Bool())
    val idle = Output(Bool())

    /** An answer was an error; stays. */
    val failed = Output(Bool())
  })
  private val clientBits = Axi.IdBits - Bursts.IdBits
  private val failed = RegInit(false.B)
  io.failed := failed
  private val begins = !failed && !io.flush

  /** Bursts that were taken from clients and not answered; each client has as many reads as it has identifiers, and one
    * write.
    */
  private val owedBits = Axi.IdBits + 1
  private val owedReads, owedWrites = RegInit(0.U(owedBits.W))
  io.idle := owedReads === 0.U && owedWrites === 0.U

  /** A request with whose it is. */
  private class Owned extends Bundle {
    val client = UInt(clientBits.W)
    val burst = new Burst
  }
  private def arbitrated(requests: Seq[DecoupledIO[Burst]], open: Bool): (DecoupledIO[Owned], DecoupledIO[Owned]) = {
    val turns = Module(new RRArbiter(new Burst, clients))
    for ((in, request) <- turns.io.in.zip(requests)) in <> request
    val owned = Wire(Decoupled(new Owned))
    owned.valid := turns.io.out.valid && open && begins
    owned.bits.client := turns.io.chosen
    owned.bits.burst := turns.io.out.bits
    turns.io.out.ready := owned.ready && open && begins
    (owned, Queue(owned, 2))
  }

  private val (asked, reads) = arbitrated(io.clients.map(_.read), true.B)
  owedReads := owedReads + asked.fire - (io.axi.r.fire && io.axi.r.bits.last)

  /** The request as it goes out: the client is the upper part of the identifier. */
  private def address(to: ReadyValidIO[AxiAddress], from: DecoupledIO[Owned]): Unit = {
    to.valid := from.valid
    to.bits.addr := from.bits.burst.address
    to.bits.len := from.bits.burst.words - 1.U
    to.bits.id := from.bits.client ## from.bits.burst.id
    from.ready := to.ready
  }
  address(io.axi.ar, reads)
  io.axi.r.ready := true.B
  private val got = RegNext(io.axi.r.valid, false.B)
  private val gotBeat = RegNext(io.axi.r.bits)
  when(io.axi.r.valid && io.axi.r.bits.isError)(failed := true.B)

  // One client's words at a time.
  private val writing = RegInit(false.B)
  private val owner = Reg(UInt(clientBits.W))
  private val left = Reg(UInt(log2Ceil(Bursts.MaxWords + 1).W))
  private val (begun, writes) = arbitrated(io.clients.map(_.write), !writing)
  owedWrites := owedWrites + begun.fire - io.axi.b.fire
  when(begun.fire) {
    writing := true.B
    owner := begun.bits.client
    left := begun.bits.burst.words
  }
  address(io.axi.aw, writes)

  private val beat = Wire(Decoupled(new AxiWriteBeat))
  private val giving = io.clients.indices.map(owner === _.U)
  beat.valid := writing && Mux1H(giving, io.clients.map(_.wdata.valid))
  beat.bits.data := Mux1H(giving, io.clients.map(_.wdata.bits.data))
  beat.bits.strb := Mux1H(giving, io.clients.map(_.wdata.bits.strb))
  beat.bits.last := left === 1.U
  when(beat.fire) {
    left := left - 1.U
    when(beat.bits.last)(writing := false.B)
  }
  private val beats = Queue(beat, 2)
  io.axi.w.valid := beats.valid
  io.axi.w.bits := beats.bits
  beats.ready := io.axi.w.ready
  io.axi.b.ready := true.B
  private val answered = RegNext(io.axi.b.valid, false.B)
  private val answeredId = RegNext(io.axi.b.bits.id)
  when(io.axi.b.valid && io.axi.b.bits.isError)(failed := true.B)

  for ((client, i) <- io.clients.zipWithIndex) {
    client.wdata.ready := writing && owner === i.U && beat.ready
    client.rdata.valid := got && gotBeat.id(Axi.IdBits - 1, Bursts.IdBits) === i.U
    client.rdata.bits.id := gotBeat.id(Bursts.IdBits - 1, 0)
    client.rdata.bits.data := gotBeat.data
    client.rdata.bits.last := gotBeat.last
    client.written.valid := answered && answeredId(Axi.IdBits - 1, Bursts.IdBits) === i.U
    client.written.bits := answeredId(Bursts.IdBits - 1, 0)
    for (request <- Seq(client.read, client.write)) {
      val words = request.bits.words
      val end = request.bits.address(5, 3) +& words
      assert(!request.valid || (words =/= 0.U && end <= Bursts.MaxWords.U), "a burst leaves its 64 bytes")
      assert(!request.valid || request.bits.address(2, 0) === 0.U, "a burst begins within a word")
    }
  }
}
