// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable

/** Clients of the writing half: each has its transfers made, word by word, and sees its own ends; none waits for ever.
  */
class DmaWriteArbiterSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private val clients = 3

  it("makes one client's transfer at a time, in turn") {
    val random = seeded()
    simulate(new DmaWriteArbiter(clients)) { dut =>
      // Of each client: the words it has still to give, and whether its request was taken.
      val left = Array.fill(clients)(0)
      val begun = Array.fill(clients)(false)
      val ends = Array.fill(clients)(0)
      // The transfer at the DMA: its client and its words; the words taken.
      var atDma = Option.empty[(Int, Int)]
      var taken = 0
      val order = mutable.ArrayBuffer.empty[Int]
      for (_ <- 0 until 6000) {
        for (i <- 0 until clients) {
          val port = dut.io.clients(i)
          if (left(i) == 0 && !begun(i) && random.nextInt(4) != 0) left(i) = 1 + random.nextInt(5)
          port.req.valid.poke(left(i) > 0 && !begun(i))
          port.req.bits.address.poke(i)
          port.req.bits.words.poke(left(i))
          port.data.valid.poke(begun(i) && left(i) > 0 && random.nextBoolean())
          port.data.bits.word.poke(100 * i + left(i))
        }
        dut.io.dma.req.ready.poke(atDma.isEmpty && random.nextBoolean())
        dut.io.dma.data.ready.poke(atDma.exists(taken < _._2) && random.nextBoolean())
        val ending = atDma.exists(taken == _._2) && random.nextInt(3) == 0
        dut.io.dma.done.valid.poke(ending)
        dut.io.dma.done.bits.error.poke(ending && taken % 2 == 0)

        val starts = bit(dut.io.dma.req.valid) && bit(dut.io.dma.req.ready)
        val moves = bit(dut.io.dma.data.valid) && bit(dut.io.dma.data.ready)
        val started = (0 until clients).filter { i =>
          bit(dut.io.clients(i).req.valid) && bit(dut.io.clients(i).req.ready)
        }
        val moved = (0 until clients).filter { i =>
          bit(dut.io.clients(i).data.valid) && bit(dut.io.clients(i).data.ready)
        }
        val ended = (0 until clients).filter(i => bit(dut.io.clients(i).done.valid))
        assert(started.length == (if (starts) 1 else 0) && moved.length == (if (moves) 1 else 0))
        for (i <- started) {
          assert(long(dut.io.dma.req.bits.address) == i && long(dut.io.dma.req.bits.words) == left(i))
          order += i
        }
        for (i <- moved) {
          assert(atDma.exists(_._1 == i))
          assert(long(dut.io.dma.data.bits.word) == 100 * i + left(i))
        }
        assert(ended == atDma.filter(_ => ending).map(_._1).toSeq)
        for (i <- ended) assert(bit(dut.io.clients(i).done.bits.error) == (taken % 2 == 0))
        dut.clock.step()
        for (i <- started) {
          atDma = Some((i, left(i)))
          taken = 0
          begun(i) = true
        }
        for (i <- moved) {
          left(i) -= 1
          taken += 1
        }
        for (i <- ended) {
          begun(i) = false
          ends(i) += 1
          atDma = None
        }
      }
      assert(ends.forall(_ > 100), s"ends by client: ${ends.mkString(", ")}")
      // A client that has waited goes before one that has just ended.
      assert(order.zip(order.tail).count { case (a, b) => a == b } < order.length / 4)
    }
  }
}
