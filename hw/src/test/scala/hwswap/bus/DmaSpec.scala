// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** The AXI4 master against a memory with random waiting, random lengths and addresses, and error answers. */
class DmaSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {

  /** One transfer; for a write `data` goes out, for a read the words come back. Gives the words and whether there
    * was an error.
    */
  private class Bench(dut: Dma, random: Random, eager: Int) {
    val memory = new AxiMemory(AxiSignals(dut.io.axi), random, eager)
    dut.io.flush.poke(false)
    dut.io.port.req.valid.poke(false)
    dut.io.port.wdata.valid.poke(false)
    memory.after()

    def step(): Unit = {
      memory.before()
      dut.clock.step()
      memory.after()
    }

    def run(address: Long, words: Int, data: Option[Seq[Long]]): (Seq[Long], Boolean) = {
      val port = dut.io.port
      // A random part of the address is the structure's, the rest the offset.
      val offset = random.nextInt(1 << Dma.OffsetBits).toLong.min(address / 8)
      dut.io.lookup.address.poke(address - 8 * offset)
      port.req.bits.offset.poke(offset)
      port.req.bits.words.poke(words)
      port.req.bits.write.poke(data.nonEmpty)
      port.req.valid.poke(true)
      while (!bit(port.req.ready)) step()
      step()
      port.req.valid.poke(false)
      val read = mutable.ArrayBuffer.empty[Long]
      val out = mutable.Queue.from(data.getOrElse(Nil))
      var result: Option[Boolean] = None
      var cycles = 0
      while (result.isEmpty) {
        cycles += 1
        assert(cycles < 10000, "the transfer does not end")
        val offer = out.nonEmpty && random.nextInt(100) < eager
        port.wdata.valid.poke(offer)
        if (offer) port.wdata.bits.poke(AxiMemory.unsigned(out.head).U)
        if (bit(port.rdata.valid)) read += port.rdata.bits.peek().litValue.toLong
        if (offer && bit(port.wdata.ready)) out.dequeue()
        if (bit(port.done.valid)) result = Some(bit(port.done.bits))
        step()
      }
      port.wdata.valid.poke(false)
      (read.toSeq, result.get)
    }
  }

  it("moves every word, in bursts the bus allows") {
    val random = seeded()
    simulate(new Dma) { dut =>
      for (eager <- Seq(100, 60, 20)) {
        val bench = new Bench(dut, random, eager)
        for (_ <- 0 until 25) {
          val words = 1 + random.nextInt(80)
          // Near a 4 KiB line, below or above it
          val address = 0x10000L + 4096 * random.nextInt(4) - 8 * random.nextInt(90)
          val data = Seq.fill(words)(random.nextLong())
          if (random.nextBoolean()) {
            val (_, error) = bench.run(address, words, Some(data))
            assert(!error && data.indices.forall(i => bench.memory(address + 8 * i) == data(i)))
          } else {
            for (i <- data.indices) bench.memory(address + 8 * i) = data(i)
            assert(bench.run(address, words, None) == ((data, false)))
          }
        }
        assert(bench.memory.bursts.exists(_._3 == 16))
      }
    }
  }

  it("tells an error and goes on with the next transfer") {
    val random = seeded()
    simulate(new Dma) { dut =>
      val bench = new Bench(dut, random, 70)
      bench.memory.bad = address => address >= 0x2000
      for (write <- Seq(true, false)) {
        val data = Seq.fill(40)(random.nextLong())
        val (_, error) = bench.run(0x2000 - 8 * 8, 40, Option.when(write)(data))
        assert(error)
        // The burst below the line went through, the one above failed, no third followed.
        assert(bench.memory.bursts.takeRight(2).map(_._2) == Seq(0x2000 - 8 * 8, 0x2000))
        val (_, later) = bench.run(0x100, 3, Option.when(write)(data.take(3)))
        assert(!later)
      }
    }
  }

  it("ends a write on a flush, and harms no memory") {
    val random = seeded()
    simulate(new Dma) { dut =>
      val bench = new Bench(dut, random, 50)
      val port = dut.io.port
      dut.io.lookup.address.poke(0x3000)
      port.req.bits.offset.poke(0)
      port.req.bits.words.poke(30)
      port.req.bits.write.poke(true)
      port.req.valid.poke(true)
      bench.step()
      port.req.valid.poke(false)
      for (_ <- 0 until 10) bench.step()
      dut.io.idle.expect(false)
      dut.io.flush.poke(true)
      var cycles = 0
      while (!bit(dut.io.idle)) {
        bench.step()
        cycles += 1
        assert(cycles < 1000, "the flush does not end")
      }
      assert(bench.memory.quiet && bench.memory.words.isEmpty)
      dut.io.flush.poke(false)
      assert(bench.run(0x3000, 2, Some(Seq(5L, 6L)))._2 == false)
      assert(bench.memory(0x3008) == 6)
    }
  }
}
