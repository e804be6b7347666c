// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** CONTROL.RESET: how long it lasts, and that whoever reads it sees all of it. */
class ResetControlSpec extends AnyFunSpec with ChiselSim with Peeks {
  private val timeoutLog2 = 5

  private class Bench(dut: ResetControl) {

    /** Cycles since the write. */
    var cycle = 0
    var pulses = 0
    val registers = new RegisterAccess(dut.io.regs, () => step())
    var idleFrom, clearedFrom = 0

    def step(): Unit = {
      dut.io.dmaIdle.poke(cycle >= idleFrom)
      dut.io.cleared.poke(cycle >= clearedFrom)
      if (bit(dut.io.pulse)) {
        pulses += 1
        assert(bit(dut.io.flush), "the masters are reset while they may begin a burst")
      }
      dut.clock.step()
      cycle += 1
    }

    /** Resets while the bus is busy up to a cycle, and the memories are being cleared up to another. */
    def reset(idleFrom: Int, clearedFrom: Int): Unit = {
      registers.idle()
      cycle = 0
      pulses = 0
      this.idleFrom = idleFrom
      this.clearedFrom = clearedFrom
      registers.write(RegMap.Control.Offset, BigInt(1) << RegMap.Control.Reset.lsb)
    }
    def control(): BigInt = registers.read(RegMap.Control.Offset)
  }

  private val limit = 100

  it("reads 1 until all is cleared, whenever the bus ends, and whenever the read begins") {
    simulate(new ResetControl(timeoutLog2)) { dut =>
      val bench = new Bench(dut)
      for (idle <- 0 to 9; later <- 0 to RegPort.ReadCycles) {
        bench.reset(idle, clearedFrom = idle + 12)
        for (_ <- 0 until later) bench.step()
        while (bench.control() != 0) assert(bench.cycle < limit, "RESET does not end")
        assert(bench.cycle >= idle + 12, s"RESET reads 0 in cycle ${bench.cycle}; the bus ended in $idle")
        assert(bench.pulses == 1)
        assert(!bit(dut.io.resetting))
      }
    }
  }

  it("waits no longer than the time-out for a bus that hangs") {
    simulate(new ResetControl(timeoutLog2)) { dut =>
      val bench = new Bench(dut)
      bench.reset(idleFrom = limit, clearedFrom = 0)
      while (bench.pulses == 0) {
        assert(bench.control() == BigInt(1) << RegMap.Control.Reset.lsb)
        assert(bench.cycle < limit, "RESET waits for ever")
      }
      assert(bench.cycle >= (1 << timeoutLog2))
    }
  }

  it("answers no other register, and takes no other write for a reset") {
    simulate(new ResetControl(timeoutLog2)) { dut =>
      val bench = new Bench(dut)
      bench.reset(idleFrom = limit, clearedFrom = 0)
      assert(bench.registers.read(RegMap.Status.Offset) == 0)
      while (bench.control() != 0) assert(bench.cycle < limit)
      bench.registers.write(RegMap.Status.Offset, -1 & 0xffffffffL)
      bench.registers.write(RegMap.Control.Offset, 1)
      assert(bench.control() == 0)
      assert(!bit(dut.io.resetting))
    }
  }
}
