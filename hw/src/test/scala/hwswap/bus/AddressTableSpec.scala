// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** The address registers as the host and as the DMA see them. */
class AddressTableSpec extends AnyFunSpec with ChiselSim with Seeded {
  private val registers = Seq(
    DmaBase.commands -> RegMap.CmdBase.Offset,
    DmaBase.completions -> RegMap.CplBase.Offset
  )

  private class Bench(dut: AddressTable) {
    private val regs = new RegisterAccess(dut.io.regs, () => dut.clock.step())

    def reset(): Unit = {
      regs.idle()
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
    }
    def write(offset: Int, data: BigInt, strobes: Int): Unit = {
      regs.write(offset, data, strobes)
      dut.clock.step()
    }
    def read(offset: Int): BigInt = regs.read(offset)
    def lookup(base: DmaBase.Type): BigInt = {
      dut.io.lookup.base.poke(base)
      dut.io.lookup.address.peek().litValue
    }
  }

  it("keeps the bytes that are strobed, and forgets them at a reset") {
    val random = seeded()
    simulate(new AddressTable) { dut =>
      val bench = new Bench(dut)
      val target = BigInt(64, random)
      dut.io.target.poke(target.U)
      for (_ <- 0 until 4) {
        bench.reset()
        val expected = Array.fill(registers.length)(BigInt(0))
        for ((_, offset) <- registers) assert(bench.read(offset) == 0)
        for (_ <- 0 until 60) {
          val i = random.nextInt(registers.length)
          val data = BigInt(64, random)
          val strobes = random.nextInt(256)
          bench.write(registers(i)._2, data, strobes)
          val bytes = (0 until 8).filter(b => (strobes >> b & 1) == 1).map(b => BigInt(255) << (8 * b)).sum
          expected(i) = (expected(i) & ~bytes) | (data & bytes)
          for (((base, offset), value) <- registers.zip(expected)) {
            assert(bench.lookup(base) == value, s"lookup of $base")
            assert(bench.read(offset) == value, f"register $offset%x")
          }
        }
        assert(bench.lookup(DmaBase.target) == target)
        // A write beside the addresses changes none.
        bench.write(RegMap.CmdSize.Offset, BigInt(64, random), 255)
        assert(bench.read(RegMap.CmdSize.Offset) == 0)
        for (((base, _), value) <- registers.zip(expected)) assert(bench.lookup(base) == value)
      }
    }
  }
}
