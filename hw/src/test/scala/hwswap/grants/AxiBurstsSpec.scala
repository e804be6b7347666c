// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec
import hwswap.bus.AxiMemory

import scala.collection.mutable
import scala.util.Random

/** Bursts of two clients at once, each with several reads under way, on a bus that answers in any order. */
class AxiBurstsSpec extends AnyFunSpec with ChiselSim with Seeded {

  /** A client that reads what nobody writes, and writes to a place of its own. */
  private class Client(port: BurstPort, number: Int, random: Random, eager: Int) extends Peeks {
    private val reading = mutable.Map.empty[Int, mutable.Queue[Long]]
    private var asked: Option[(Int, Long, Int)] = None
    private var writing: Option[(Long, mutable.Queue[(Long, Int)])] = None
    private var accepted = false
    private var waiting = false
    var reads, writes = 0
    val truth: mutable.LongMap[Long] = mutable.LongMap.empty
    private def base: Long = 0x10000L * (number + 1)
    private def luck(): Boolean = random.nextInt(100) < eager

    def drive(more: Boolean): Unit = {
      val free = (0 until 4).filterNot(reading.contains)
      if (asked.isEmpty && more && free.nonEmpty && luck()) {
        val words = 1 + random.nextInt(8)
        asked = Some(
          (free(random.nextInt(free.length)), 64L * random.nextInt(100) + 8 * random.nextInt(9 - words), words)
        )
      }
      port.read.valid.poke(asked.nonEmpty)
      for ((id, address, words) <- asked) {
        port.read.bits.id.poke(id)
        port.read.bits.address.poke(address)
        port.read.bits.words.poke(words)
      }
      if (writing.isEmpty && !waiting && more && luck()) {
        val words = 1 + random.nextInt(8)
        val address = base + 64L * random.nextInt(20) + 8 * random.nextInt(9 - words)
        writing = Some((address, mutable.Queue.fill(words)((random.nextLong(), random.nextInt(256)))))
        accepted = false
      }
      port.write.valid.poke(writing.nonEmpty && !accepted)
      port.wdata.valid.poke(false)
      for ((address, words) <- writing) {
        port.write.bits.id.poke(number)
        port.write.bits.address.poke(address)
        if (!accepted) port.write.bits.words.poke(words.length)
        if (accepted && luck()) {
          port.wdata.valid.poke(true)
          port.wdata.bits.data.poke(AxiMemory.unsigned(words.head._1).U)
          port.wdata.bits.strb.poke(words.head._2)
        }
      }
    }

    def look(memory: AxiMemory): Unit = {
      for ((id, address, words) <- asked if bit(port.read.ready)) {
        reading(id) = mutable.Queue.from((0 until words).map(i => memory(address + 8 * i)))
        asked = None
      }
      if (bit(port.rdata.valid)) {
        val words = reading(port.rdata.bits.id.peek().litValue.toInt)
        assert(port.rdata.bits.data.peek().litValue.toLong == words.dequeue())
        assert(bit(port.rdata.bits.last) == words.isEmpty)
        if (words.isEmpty) {
          reads += 1
          reading.remove(port.rdata.bits.id.peek().litValue.toInt)
        }
      }
      for ((address, words) <- writing)
        if (!accepted) accepted = bit(port.write.ready)
        else if (bit(port.wdata.valid) && bit(port.wdata.ready)) {
          val (data, strb) = words.dequeue()
          val mask = (0 until 8).filter(i => (strb >> i & 1) == 1).map(i => 255L << (8 * i)).sum
          truth(address) = truth.getOrElse(address, 0L) & ~mask | data & mask
          writing = Option.when(words.nonEmpty)((address + 8, words))
          waiting = words.isEmpty
        }
      if (bit(port.written.valid)) {
        assert(waiting && port.written.bits.peek().litValue == number)
        // It is where others see it.
        for ((address, word) <- truth) assert(memory(address) == word)
        waiting = false
        writes += 1
      }
    }
    def quiet: Boolean = reading.isEmpty && asked.isEmpty && writing.isEmpty && !waiting
  }

  it("moves every word of each client to its place") {
    val random = seeded()
    simulate(new AxiBursts(2)) { dut =>
      for (eager <- Seq(100, 40)) {
        val memory = new AxiMemory(dut.io.axi, random, eager, bytes = true)
        for (i <- 0 until 1000) memory(8L * i) = random.nextLong()
        val clients = dut.io.clients.zipWithIndex.map { case (port, i) => new Client(port, i, random, eager) }
        memory.after()
        var cycles = 0
        while (cycles < 1500 || !clients.forall(_.quiet)) {
          cycles += 1
          assert(cycles < 20000, "it does not end")
          for (client <- clients) client.drive(cycles < 1500)
          for (client <- clients) client.look(memory)
          memory.step(dut.clock)
        }
        assert(clients.forall(client => client.reads > 20 && client.writes > 20))
        assert(!dut.io.failed.peek().litToBoolean)
      }
    }
  }

  it("begins nothing behind an error") {
    simulate(new AxiBursts(1)) { dut =>
      val memory = new AxiMemory(dut.io.axi, seeded(), 100)
      memory.bad = _ == 0x40
      val port = dut.io.clients(0)
      port.write.valid.poke(false)
      port.wdata.valid.poke(false)
      port.read.bits.id.poke(1)
      port.read.bits.words.poke(1)
      port.read.bits.address.poke(0x40)
      port.read.valid.poke(true)
      memory.after()
      for (_ <- 0 until 20) memory.step(dut.clock)
      assert(dut.io.failed.peek().litToBoolean && !port.read.ready.peek().litToBoolean)
    }
  }
}
