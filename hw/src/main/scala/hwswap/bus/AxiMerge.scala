// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** Several AXI4 masters on one port, taking turns. Each has identifiers of its own on the bus, by which answers find
  * back: those from its place on, to which its own are added. Bursts are INCR bursts of full beats.
  *
  * @param idBits
  *   of each master: bits of the identifiers that it uses; the others it leaves 0
  */
class AxiMerge(idBits: Seq[Int]) extends Module {
  private val masters = idBits.length
  private val places = AxiMerge.places(idBits)
  val io = IO(new Bundle {
    val masters = Vec(idBits.length, Flipped(new Axi4))
    val axi = new Axi4
  })
  private val numberBits = log2Ceil(masters).max(1)

  /** The master's part of an identifier on the bus, and whether the identifier is that master's. */
  private def own(id: UInt, master: Int): UInt =
    if (idBits(master) == 0) 0.U else id(idBits(master) - 1, 0)
  private def isOf(id: UInt, master: Int): Bool =
    (id >> idBits(master)) === (places(master) >> idBits(master)).U

  // Addresses pass a queue, so that an address on the bus stays until it is taken.
  private val reads = Module(new RRArbiter(new AxiAddress, masters))
  private val writes = Module(new RRArbiter(new AxiAddress, masters))
  for ((m, i) <- io.masters.zipWithIndex; (arbiter, asked) <- Seq(reads -> m.ar, writes -> m.aw)) {
    arbiter.io.in(i) <> asked
    arbiter.io.in(i).bits.id := places(i).U | own(asked.bits.id, i)
  }
  private val read = Queue(reads.io.out, 2)
  io.axi.ar <> read

  // Write data come in the sequence of their addresses.
  private val owners = Module(new Queue(UInt(numberBits.W), AxiMerge.Bursts))
  private val writeAddresses = Module(new Queue(new AxiAddress, 2))
  private val bothRoom = owners.io.enq.ready && writeAddresses.io.enq.ready
  owners.io.enq.valid := writes.io.out.valid && bothRoom
  owners.io.enq.bits := writes.io.chosen
  writeAddresses.io.enq.valid := writes.io.out.valid && bothRoom
  writeAddresses.io.enq.bits := writes.io.out.bits
  writes.io.out.ready := bothRoom
  private val write = writeAddresses.io.deq
  io.axi.aw <> write
  private val owner = owners.io.deq
  private val giving = VecInit(io.masters.indices.map(i => owner.valid && owner.bits === i.U))
  io.axi.w.valid := Mux1H(giving, io.masters.map(_.w.valid))
  io.axi.w.bits := Mux1H(giving, io.masters.map(_.w.bits))
  owner.ready := io.axi.w.fire && io.axi.w.bits.last

  // Answers.
  private val readers = io.masters.indices.map(isOf(io.axi.r.bits.id, _))
  private val writers = io.masters.indices.map(isOf(io.axi.b.bits.id, _))
  io.axi.r.ready := Mux1H(readers, io.masters.map(_.r.ready))
  io.axi.b.ready := Mux1H(writers, io.masters.map(_.b.ready))
  for ((m, i) <- io.masters.zipWithIndex) {
    m.w.ready := giving(i) && io.axi.w.ready
    m.r.valid := io.axi.r.valid && readers(i)
    m.r.bits := io.axi.r.bits
    m.r.bits.id := own(io.axi.r.bits.id, i)
    m.b.valid := io.axi.b.valid && writers(i)
    m.b.bits := io.axi.b.bits
    m.b.bits.id := own(io.axi.b.bits.id, i)
  }
  assert(!io.axi.r.valid || readers.reduce(_ || _), "AXI4: the slave answers a read nobody asked for")
  assert(!io.axi.b.valid || writers.reduce(_ || _), "AXI4: the slave answers a write nobody asked for")
}

object AxiMerge {

  /** Write bursts whose data are still to come. */
  val Bursts: Int = 4

  /** Each master's first identifier: masters in sequence, each at a multiple of its number of identifiers. */
  def places(idBits: Seq[Int]): Seq[Int] = {
    val ends = idBits.scanLeft(0)((end, bits) => ((end + (1 << bits) - 1) >> bits << bits) + (1 << bits)).tail
    require(ends.last <= (1 << Axi.IdBits), s"identifiers of ${idBits.mkString(", ")} bits do not fit in ${Axi.IdBits}")
    ends.zip(idBits).map { case (end, bits) => end - (1 << bits) }
  }
}
