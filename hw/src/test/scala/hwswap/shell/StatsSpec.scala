// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** The statistics registers against plain counting. */
class StatsSpec extends AnyFunSpec with ChiselSim with Seeded {
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
        dut.reset.poke(true)
        dut.clock.step()
        dut.reset.poke(false)
        val counts = scala.collection.mutable.Map.empty[Int, BigInt].withDefaultValue(0)

        def step(quiet: Boolean): Unit = {
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
        def read(offset: Int, quiet: Boolean): BigInt = {
          dut.io.regs.read.bits.poke(offset)
          dut.io.regs.read.valid.poke(true)
          step(quiet)
          dut.io.regs.read.valid.poke(false)
          for (_ <- 1 until RegPort.ReadCycles) step(quiet)
          dut.io.regs.readData.peek().litValue
        }

        var last = BigInt(0)
        for (_ <- 0 until 1500) {
          // The same register again and again, so that the others wait.
          val value = read(RegMap.StatCycles.Offset, quiet = false)
          assert(value >= last && value <= counts(RegMap.StatCycles.Offset))
          last = value
        }
        step(quiet = true)
        for (offset <- offsets) assert(read(offset, quiet = true) == counts(offset), f"register $offset%x")
        assert(read(RegMap.StatFrees.Offset, quiet = true) == 0)
        assert(read(RegMap.StatTableBusyCycles.Offset + 8, quiet = true) == 0)
        assert(read(RegMap.StatCycles.Offset - 8, quiet = true) == 0)
      }
    }
  }
}
