// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.util._

/** A queue in a block RAM. The latency is at least two cycles; the rate is one word per cycle.
  *
  * The word at the front is read again in every cycle, so that the RAM's output alone holds it; a word is not read in
  * the cycle in which it is written.
  *
  * @param places
  *   words it holds, a power of two
  */
class BlockFifo[T <: Data](gen: T, places: Int) extends Module {
  require(isPow2(places) && places >= 2, s"a queue of $places places: choose a power of two from 2 on")
  val io = IO(new Bundle {
    val enq = Flipped(Decoupled(gen))
    val deq = Decoupled(gen)

    /** Forgets everything. */
    val clear = Input(Bool())
    val empty = Output(Bool())
  })
  private val ram = SyncReadMem(places, gen, SyncReadMem.Undefined)
  private val count = RegInit(0.U(log2Ceil(places + 1).W))
  private val head, tail = RegInit(0.U(log2Ceil(places).W))
  private val valid = RegInit(false.B)

  private val front = Mux(io.deq.fire, head + 1.U, head)
  io.enq.ready := count =/= places.U
  io.deq.valid := valid
  io.deq.bits := ram.read(front, true.B)
  when(io.enq.fire) {
    ram.write(tail, io.enq.bits)
    tail := tail + 1.U
  }
  head := front
  count := count + io.enq.fire - io.deq.fire
  valid := count =/= io.deq.fire
  when(io.clear) {
    count := 0.U
    head := 0.U
    tail := 0.U
    valid := false.B
  }
  io.empty := count === 0.U

  assert(!valid || count =/= 0.U, "a queue shows a word that it does not hold")
}
