// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import chisel3.util.ReadyValidIO
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** The gate between masters and bus: bursts that windows permit and refuse, and the end of bursts that the bus owes. */
class AxiGateSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded with Cases[AxiGate] {
  private val inside = 0x40000L
  private val outside = 0x80000L

  private class Bench(dut: AxiGate, random: Random, eager: Int = 60) {
    val memory = new AxiMemory(dut.io.axi, random, eager, latency = random.nextInt(12))
    private val inner = dut.io.inner
    private val ofInner = Seq(inner.aw.valid, inner.w.valid, inner.b.ready, inner.ar.valid, inner.r.ready)
    for (b <- ofInner ++ Seq(dut.io.stop, dut.io.abandon)) b.poke(false)
    for (window <- dut.io.windows; bits <- Seq(window.start, window.limit)) bits.poke(0)
    for (window <- dut.io.windows; bit <- Seq(window.read, window.write)) bit.poke(false)
    restart(dut)
    memory.after()

    /** Refused bursts, (write, address). */
    val refused = mutable.ArrayBuffer.empty[(Boolean, Long)]

    def permit(window: Int, start: Long, limit: Long, reads: Boolean, writes: Boolean): Unit = {
      dut.io.windows(window).start.poke(start >> 12)
      dut.io.windows(window).limit.poke(limit >> 12)
      dut.io.windows(window).read.poke(reads)
      dut.io.windows(window).write.poke(writes)
    }

    def step(): Unit = {
      if (bit(dut.io.refused.valid))
        refused += ((bit(dut.io.refused.bits.write), dut.io.refused.bits.address.peek().litValue.toLong))
      memory.step(dut.clock)
    }

    def until(what: String)(condition: => Boolean): Unit = waitFor(what, 2000)(condition)(step())

    /** Offers a channel's bits until they are taken. */
    private def offer(channel: ReadyValidIO[_ <: Data]): Unit = {
      channel.valid.poke(true)
      until("ready")(bit(channel.ready))
      step()
      channel.valid.poke(false)
    }

    private def ask(channel: ReadyValidIO[AxiAddress], address: Long, beats: Int, id: Int): Unit = {
      channel.bits.addr.poke(address)
      channel.bits.len.poke(beats - 1)
      channel.bits.id.poke(id)
      offer(channel)
    }
    def askRead(address: Long, beats: Int, id: Int): Unit = ask(inner.ar, address, beats, id)
    def askWrite(address: Long, beats: Int, id: Int): Unit = ask(inner.aw, address, beats, id)

    def give(data: Long, last: Boolean): Unit = {
      inner.w.bits.data.poke(AxiMemory.unsigned(data).U)
      inner.w.bits.strb.poke(255)
      inner.w.bits.last.poke(last)
      offer(inner.w)
    }

    /** Beats of a read as (data, response, identifier), up to the last. */
    def takeRead(): Seq[(Long, Int, Int)] = {
      val beats = mutable.ArrayBuffer.empty[(Long, Int, Int)]
      var last = false
      while (!last) {
        inner.r.ready.poke(random.nextBoolean())
        if (bit(inner.r.valid) && bit(inner.r.ready)) {
          last = bit(inner.r.bits.last)
          beats += ((long(inner.r.bits.data), int(inner.r.bits.resp), int(inner.r.bits.id)))
        }
        step()
      }
      inner.r.ready.poke(false)
      beats.toSeq
    }

    /** The answer to a write: response and identifier. */
    def takeWrite(): (Int, Int) = {
      inner.b.ready.poke(true)
      until("bvalid")(bit(inner.b.valid))
      val answer = (int(inner.b.bits.resp), int(inner.b.bits.id))
      step()
      inner.b.ready.poke(false)
      answer
    }
  }

  inTurn("makes what a window permits, and answers all else with an error") { dut =>
    val random = seeded()
    val bench = new Bench(dut, random)
    for (_ <- 0 until 120) {
      val window = random.nextInt(4)
      val (reads, writes) = (random.nextBoolean(), random.nextBoolean())
      for (other <- 0 until 4) bench.permit(other, 0, 0, reads = true, writes = true)
      bench.permit(window, inside, inside + 0x2000, reads, writes)
      val beats = 1 + random.nextInt(16)
      val page = inside + 4096L * (random.nextInt(4) - 1)
      val address = page + 8 * random.nextInt(512 - 15)
      val within = page >= inside && page < inside + 0x2000
      val id = random.nextInt(16)
      val made = bench.memory.bursts.length
      bench.refused.clear()
      val data = Seq.fill(beats)(random.nextLong())
      val write = random.nextBoolean()
      val permitted = within && (if (write) writes else reads)
      if (write) {
        bench.askWrite(address, beats, id)
        for (i <- data.indices) bench.give(data(i), i == beats - 1)
        assert(bench.takeWrite() == ((if (permitted) 0 else 2, id)))
        if (permitted) assert(data.indices.forall(i => bench.memory(address + 8 * i) == data(i)))
      } else {
        for (i <- data.indices) bench.memory(address + 8 * i) = data(i)
        bench.askRead(address, beats, id)
        val came = bench.takeRead()
        assert(came.length == beats && came.forall(_._3 == id))
        if (permitted) assert(came.map(_._1) == data && came.forall(_._2 == 0)) else assert(came.forall(_._2 == 2))
      }
      assert(bench.memory.bursts.drop(made).toSeq == (if (permitted) Seq((write, address, beats)) else Nil))
      assert(bench.refused.toSeq == (if (permitted) Nil else Seq((write, address))))
      dut.io.idle.expect(true)
    }
  }

  inTurn("makes no burst whose last beat is in another page than its first") { dut =>
    val random = seeded()
    val bench = new Bench(dut, random)
    // No other window follows the last page; one follows the page before it.
    bench.permit(0, inside, inside + 0x2000, reads = true, writes = true)
    for (page <- Seq(inside, inside + 0x1000); write <- Seq(false, true); left <- Seq(1, 4, 8))
      for (beats <- Seq(left, left + 1, 16)) {
        val address = page + 4096 - 8 * left
        val made = bench.memory.bursts.length
        bench.refused.clear()
        val response = if (write) {
          bench.askWrite(address, beats, id = 2)
          for (i <- 0 until beats) bench.give(i, i == beats - 1)
          bench.takeWrite()._1
        } else {
          bench.askRead(address, beats, id = 2)
          bench.takeRead().map(_._2).max
        }
        val fits = beats <= left
        assert(response == (if (fits) 0 else 2), s"$beats beats from $address on")
        assert(bench.memory.bursts.length == made + (if (fits) 1 else 0))
        assert(bench.refused.toSeq == (if (fits) Nil else Seq((write, address))))
      }
  }

  it("makes nothing behind a stop but what ends what was begun, and counts none of it as refused") {
    val random = seeded()
    simulate(new AxiGate(endsWrite = Seq(0, 3))) { dut =>
      val bench = new Bench(dut, random)
      bench.permit(0, inside, inside + 0x2000, reads = true, writes = true)
      for (stop <- Seq(false, true)) {
        dut.io.stop.poke(stop)
        for (id <- 0 until 16) {
          bench.askRead(inside, 2, id)
          assert(bench.takeRead().map(_._2) == Seq.fill(2)(if (stop) 2 else 0), s"read $id")
          bench.askWrite(inside, 1, id)
          bench.give(id, last = true)
          assert(bench.takeWrite()._1 == (if (stop && id != 0 && id != 3) 2 else 0), s"write $id")
        }
      }
      assert(bench.memory(inside) == 3 && bench.refused.isEmpty)
      dut.io.busy.expect(false)
      // A burst that no window permits is refused as ever.
      bench.askWrite(outside, 1, id = 0)
      bench.give(1, last = true)
      assert(bench.takeWrite()._1 == 2 && bench.refused.toSeq == Seq((true, outside)))
    }
  }

  inTurn("is busy from a burst's address to its last answer, but not with what the bus owes") { dut =>
    val random = seeded()
    val bench = new Bench(dut, random)
    bench.permit(0, inside, inside + 0x2000, reads = true, writes = true)
    dut.io.busy.expect(false)
    bench.memory.hold = true
    bench.askRead(inside, 4, id = 1)
    for (_ <- 0 until 30) {
      dut.io.busy.expect(true)
      bench.step()
    }
    dut.io.abandon.poke(true)
    bench.step()
    dut.io.abandon.poke(false)
    dut.io.busy.expect(false)
    dut.io.owed.expect(true)
  }

  inTurn("answers a refused burst after those of the same identifier") { dut =>
    val random = seeded()
    for (_ <- 0 until 20) {
      val bench = new Bench(dut, random)
      bench.permit(3, inside, inside + 4096, reads = true, writes = true)
      for (i <- 0 until 3) bench.askRead(inside + 256 * i, 3 + i, id = 5)
      bench.askRead(outside, 2, id = 5)
      assert((0 until 3).map(_ => bench.takeRead()).map(_.map(_._2)) == (0 until 3).map(i => Seq.fill(3 + i)(0)))
      assert(bench.takeRead().map(_._2) == Seq(2, 2))
      for (i <- 0 until 2) {
        bench.askWrite(inside + 256 * i, 2, id = 1)
        bench.give(7, last = false)
        bench.give(8, last = true)
      }
      bench.askWrite(outside, 1, id = 1)
      assert(bench.takeWrite()._1 == 0 && bench.takeWrite()._1 == 0)
      bench.give(9, last = true)
      assert(bench.takeWrite()._1 == 2)
      assert(bench.memory(outside) == 0)
    }
  }

  inTurn("ends what the bus owes when the masters are reset, and makes nothing else before") { dut =>
    val random = seeded()
    var cut = 0
    for (_ <- 0 until 60) {
      val bench = new Bench(dut, random, 20 + random.nextInt(70))
      val inner = dut.io.inner
      bench.permit(0, inside, inside + 4096, reads = true, writes = true)
      for (i <- 0 until 32) bench.memory(inside + 8 * i) = 1000 + i
      val beats = 2 + random.nextInt(15)
      val fed = random.nextInt(beats)
      bench.askWrite(if (random.nextInt(4) == 0) outside else inside, beats, id = 0)
      if (random.nextBoolean()) bench.askRead(if (random.nextInt(4) == 0) outside else inside, 9, id = 1)
      for (_ <- 0 until random.nextInt(12)) bench.step()
      bench.memory.hold = random.nextBoolean()
      if (!bench.memory.hold) for (i <- 0 until fed) bench.give(i, last = i == beats - 1)
      val written = if (bench.memory.hold) 0 else fed
      dut.io.abandon.poke(true)
      bench.step()
      dut.io.abandon.poke(false)
      // The masters begin anew at once, and with the same identifiers.
      inner.ar.bits.addr.poke(inside + 2048)
      inner.ar.bits.len.poke(3)
      inner.ar.bits.id.poke(1)
      inner.ar.valid.poke(true)
      inner.w.valid.poke(true)
      inner.r.ready.poke(true)
      inner.b.ready.poke(true)
      if (bit(dut.io.owed)) cut += 1
      val bursts = bench.memory.bursts.length
      for (_ <- 0 until 100 if bit(dut.io.owed)) {
        inner.r.valid.expect(false)
        inner.b.valid.expect(false)
        inner.w.ready.expect(false)
        bench.step()
      }
      bench.memory.hold = false
      while (bit(dut.io.owed)) {
        inner.r.valid.expect(false)
        inner.b.valid.expect(false)
        bench.step()
      }
      assert(bench.memory.quiet && bench.memory.bursts.drop(bursts).forall(_._2 != inside + 2048))
      for (i <- 0 until 32)
        assert(
          bench.memory(inside + 8 * i) == (if (i < written && bench.memory(inside + 8 * i) == i) i else 1000 + i)
        )
      inner.w.valid.poke(false)
      bench.until("arready")(bit(inner.ar.ready))
      bench.step()
      inner.ar.valid.poke(false)
      assert(bench.takeRead() == Seq.fill(4)((0L, 0, 1)))
      bench.askWrite(inside, 2, id = 0)
      bench.give(77, last = false)
      bench.give(78, last = true)
      assert(bench.takeWrite() == ((0, 0)))
      assert(bench.memory(inside) == 77 && bench.memory(inside + 8) == 78)
    }
    assert(cut > 10, "the bus owed nothing")
  }

  it("keeps masters and bus apart") {
    simulate(new AxiGate)(tryAll)
  }
}
