// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable

/** The queue in a block RAM against one in Scala, at all paces of both ends. */
class BlockFifoSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  it("gives back what was put in, in order, and forgets it when cleared") {
    val random = seeded()
    val places = 16
    simulate(new BlockFifo(UInt(20.W), places)) { dut =>
      val held = mutable.Queue.empty[Int]
      dut.io.clear.poke(false)
      restart(dut)
      for ((in, out) <- Seq((100, 100), (90, 20), (20, 90), (50, 50), (100, 0), (0, 100), (100, 100))) {
        var moved = 0
        for (cycle <- 0 until 400) {
          val clear = random.nextInt(150) == 0
          val word = random.nextInt(1 << 20)
          dut.io.clear.poke(clear)
          dut.io.enq.valid.poke(random.nextInt(100) < in)
          dut.io.enq.bits.poke(word)
          dut.io.deq.ready.poke(random.nextInt(100) < out)
          dut.io.empty.expect(held.isEmpty)
          dut.io.enq.ready.expect(held.length < places)
          val offers = bit(dut.io.deq.valid)
          if (offers) dut.io.deq.bits.expect(held.head, s"in cycle $cycle")
          val takes = offers && bit(dut.io.deq.ready)
          val puts = bit(dut.io.enq.valid) && bit(dut.io.enq.ready)
          dut.clock.step()
          if (takes) {
            held.dequeue()
            moved += 1
          }
          if (puts) held.enqueue(word)
          if (clear) held.clear()
        }
        if (in == 100 && out == 100) assert(moved > 360, s"$moved words in 400 cycles")
      }
    }
  }
}
