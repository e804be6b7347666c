// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec
import hwswap.bus.{AxiMemory, AxiSignals}

/** The engine of marks and grants on its bus: from marks to entries, taking back, NO_RUN, and an error of the bus.
  * Random work is in tests/cocotb/cases/grants.py.
  */
class GrantEngineSpec extends AnyFunSpec with ChiselSim with Seeded {
  private val p = Params(devices = 4, cpus = 2, clusters = 128)
  import MarksMemory._

  private class Bench(dut: GrantEngine, eager: Int) {
    val memory = new AxiMemory(AxiSignals(dut.axi), seeded(), eager, bytes = true)

    /** Entries' words, in the order in which they were written: CPU, order, place, and which word. */
    val written = scala.collection.mutable.ArrayBuffer.empty[(Long, Long)]
    memory.onWrite = (address, value) =>
      if (address >= Rings && address < Rings + 0x10000) written += ((address, value))
    var rounds, passes = 0
    dut.device.valid.poke(false)
    dut.flush.poke(false)
    val marks = new MarksMemory(memory)
    private val settings = dut.settings
    for (switch <- Seq(settings.scan, settings.grant, settings.open)) switch.poke(false)
    settings.pause.poke(0)
    settings.groups.poke(Groups)
    settings.dirty.poke(Dirty)
    settings.words.poke(Words)
    settings.chunks(0).poke(Chunk)
    settings.cpuLines.poke(CpuLines)
    settings.engineLine.poke(NoRun)
    settings.rings.poke(Rings)
    memory.after()

    def step(): Unit = {
      if (dut.round.peek().litToBoolean) rounds += 1
      if (dut.passed.peek().litToBoolean) passes += 1
      memory.before()
      dut.clock.step()
      memory.after()
    }
    def until(what: => Boolean): Unit = {
      var cycles = 0
      while (!what) {
        cycles += 1
        assert(cycles < 50000, "it does not come")
        step()
      }
    }
    def device(number: Int, base: Int, clusters: Int, epoch: Int, live: Boolean = true): Unit = {
      val entry = dut.device.bits.entry
      dut.device.bits.device.poke(number)
      entry.live.poke(live)
      entry.file.poke(false)
      entry.rotating.poke(false)
      entry.base.poke(base)
      entry.clusters.poke(clusters)
      entry.priority.poke(-1)
      entry.epoch.poke(epoch)
      dut.device.valid.poke(true)
      until(dut.device.ready.peek().litToBoolean)
      step()
      dut.device.valid.poke(false)
    }
    def switch(on: Boolean): Unit = {
      settings.scan.poke(on)
      settings.grant.poke(on)
      if (!on) until(dut.scanIdle.peek().litToBoolean && dut.grantIdle.peek().litToBoolean)
    }
    def passesMore(n: Int): Unit = {
      val target = passes + n
      until(passes >= target)
    }
  }

  it("makes grants of what was marked, takes them back, and says when there is no run") {
    simulate(new GrantEngine()(p)) { dut =>
      for (_ <- 0 until 3) dut.clock.step()
      val bench = new Bench(dut, 70)
      import bench._
      import bench.marks._
      device(2, base = 60, clusters = 6, epoch = 9)
      // Slot 5 and slots 64 to 127 of one cluster, and a free cluster.
      change(61, Bitmaps.All ^ (BigInt(1) << 5) ^ (((BigInt(1) << 64) - 1) << 64), FlagCode.Frag, 0, 9)
      change(64, 0, FlagCode.Free, 0, 9)
      want(1, 1 << 0 | 1 << 4)
      switch(on = true)
      until(rounds >= 3)
      passesMore(3)
      assert(memory(place(1, 0, 0)) == 1L << 5)
      assert(memory(place(1, 0, 0) + 8) == word1(512, 2, 0, 9, 1))
      assert(memory(place(1, 0, 1)) == -1L)
      assert(memory(place(1, 0, 1) + 8) == word1(512 + 64, 2, 0, 9, 1))
      // Whichever ring came first has the free cluster.
      val whole = Seq(place(1, 4, 0), place(1, 0, 2)).filter(at => memory(at + 8) != 0)
      assert(whole.length == 1)
      assert((memory(whole.head + 8) & 0xffffffffL) == 4 * 512)
      assert(memory(NoRun) == 0, "a granted cluster is a run")
      // Word 0 of each entry comes before word 1.
      assert(written.grouped(2).forall(pair => pair(1)._1 == pair(0)._1 + 8))
      // A device that goes takes its grants along.
      written.clear()
      device(2, base = 60, clusters = 6, epoch = 9, live = false)
      val offered = Seq(place(1, 0, 0), place(1, 0, 1), whole.head)
      assert(offered.forall(at => (memory(at + 8) >> 62 & 1) == 0 && memory(at) == 0))
      assert(written.length >= 2 * offered.length)
      until(memory(NoRun) == 0x3ff)
      switch(on = false)
    }
  }

  it("asks for nothing more behind an error of the bus") {
    simulate(new GrantEngine()(p)) { dut =>
      for (_ <- 0 until 3) dut.clock.step()
      val bench = new Bench(dut, 100)
      import bench._
      import bench.marks._
      memory.bad = address => address >= Chunk
      device(0, base = 0, clusters = 4, epoch = 1)
      change(3, 0, FlagCode.Free, 0, 1)
      want(0, 1)
      switch(on = true)
      until(dut.failed.peek().litToBoolean)
      for (_ <- 0 until 40) step()
      val bursts = memory.bursts.length
      for (_ <- 0 until 400) step()
      assert(memory.bursts.length == bursts && memory.quiet && written.isEmpty)
    }
  }
}
