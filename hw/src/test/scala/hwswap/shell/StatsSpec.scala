// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** The statistics registers against plain counting. */
class StatsSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  it("counts every event, while registers are read as fast as the bus allows") {
    val random = seeded()
    simulate(new Stats()(Params())) { dut =>
      val e = dut.io.events
      val c = e.ofCore
      val bits = Seq(
        RegMap.StatCycles.Offset -> e.cycles,
        RegMap.StatBusyCycles.Offset -> c.busyCycles,
        RegMap.StatAllocFast.Offset -> c.core.allocFast,
        RegMap.StatListMoves.Offset -> c.core.listMove,
        RegMap.StatScans.Offset -> c.core.scan,
        RegMap.StatDmaWriteBeats.Offset -> e.dmaWriteBeats,
        RegMap.StatTableEntriesRead.Offset -> c.tables.wordsRead,
        RegMap.StatTableBusyCycles.Offset -> c.tables.busy
      )
      val numbers =
        Seq(RegMap.StatCommands.Offset -> c.commands, RegMap.StatCommandErrors.Offset -> c.commandErrors)
      val unused = Seq(
        c.core.allocNonfull,
        c.core.allocFree,
        c.core.allocFrag,
        c.core.allocSteal,
        c.core.allocFail,
        c.core.freed,
        e.dmaReadBeats,
        c.tables.wordsWritten
      )
      unused.foreach(_.poke(false))
      bits.foreach(_._2.poke(false))
      numbers.foreach(_._2.poke(0))
      val offsets = bits.map(_._1) ++ numbers.map(_._1)
      for (density <- Seq(100, 50, 3)) {
        dut.io.regs.read.valid.poke(false)
        restart(dut)
        val counts = scala.collection.mutable.Map.empty[Int, BigInt].withDefaultValue(0)

        var quiet = false
        def step(): Unit = {
          for ((offset, bit) <- bits) {
            val set = !quiet && random.nextInt(100) < density
            bit.poke(set)
            if (set) counts(offset) += 1
          }
          for ((offset, number) <- numbers) {
            val n = if (quiet || random.nextInt(100) >= density) 0 else random.nextInt(4)
            number.poke(n)
            counts(offset) += n
          }
          dut.clock.step()
        }
        val regs = new RegisterAccess(dut.io.regs, () => step())

        var last = BigInt(0)
        for (_ <- 0 until 1500) {
          // The same register again and again, so that the others wait.
          val value = regs.read(RegMap.StatCycles.Offset)
          assert(value >= last && value <= counts(RegMap.StatCycles.Offset))
          last = value
        }
        quiet = true
        step()
        for (offset <- offsets) assert(regs.read(offset) == counts(offset), f"register $offset%x")
        assert(regs.read(RegMap.StatFrees.Offset) == 0)
        assert(regs.read(RegMap.StatTableBusyCycles.Offset + 8) == 0)
        assert(regs.read(RegMap.StatCycles.Offset - 8) == 0)
      }
    }
  }
}
