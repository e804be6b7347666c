// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** The registers of the DMA windows: strobes, reset values, and the first refusal. */
class DmaWindowsSpec extends AnyFunSpec with ChiselSim with Seeded {
  import RegisterAccess.{get, put}

  private class Bench(dut: DmaWindows) {
    private val regs = new RegisterAccess(dut.io.regs, () => dut.clock.step())
    regs.idle()
    dut.io.refused.valid.poke(false)
    dut.clock.step()

    def read(offset: Int): BigInt = regs.read(offset)
    def write(offset: Int, data: BigInt, strobes: Int = 255): Unit = {
      regs.write(offset, data, strobes)
      dut.io.refused.valid.poke(false)
    }
    def offer(write: Boolean, address: BigInt): Unit = {
      dut.io.refused.bits.write.poke(write)
      dut.io.refused.bits.address.poke(address.U)
      dut.io.refused.valid.poke(true)
    }
    def refuse(write: Boolean, address: BigInt): Unit = {
      offer(write, address)
      dut.clock.step()
      dut.io.refused.valid.poke(false)
    }
  }

  it("permits nothing after reset, and keeps what is written byte by byte") {
    val random = seeded()
    simulate(new DmaWindows) { dut =>
      val bench = new Bench(dut)
      val map = RegMap.DmaWindow
      val all = (BigInt(1) << 64) - 1
      val masks = (0 until map.Count).flatMap { i =>
        val base = map.Base + i * map.Stride
        Seq((base + map.Start.Offset) -> (all >> 12 << 12), (base + map.Limit.Offset) -> (all >> 12 << 12 | 3))
      }
      for (window <- dut.io.windows) {
        window.read.expect(false)
        window.write.expect(false)
      }
      val held = scala.collection.mutable.Map(masks.map { case (offset, _) => offset -> BigInt(0) }: _*)
      for (_ <- 0 until 200) {
        val (offset, mask) = masks(random.nextInt(masks.length))
        val (data, strobes) = (BigInt(64, random), random.nextInt(256))
        bench.write(offset, data, strobes)
        val bytes = (0 until 8).filter(i => (strobes >> i & 1) == 1).map(i => BigInt(255) << (8 * i)).sum
        held(offset) = (held(offset) & (all ^ bytes) | data & bytes) & mask
        for ((offset, value) <- held) assert(bench.read(offset) == value, f"register $offset%x")
      }
      for ((window, i) <- dut.io.windows.zipWithIndex) {
        val limit = held(map.Base + i * map.Stride + map.Limit.Offset)
        window.start.expect((held(map.Base + i * map.Stride + map.Start.Offset) >> 12).U)
        window.limit.expect((limit >> 12).U)
        window.read.expect(limit.testBit(0))
        window.write.expect(limit.testBit(1))
      }
    }
  }

  it("keeps the first burst that was refused until the host clears it") {
    simulate(new DmaWindows) { dut =>
      val bench = new Bench(dut)
      val map = RegMap.DmaRefused
      def said(write: Boolean, address: BigInt): BigInt =
        put(map.Valid, 1) | put(map.Write, if (write) 1 else 0) | put(map.Addr, address >> 3)
      val (one, two) = (BigInt("fedcba9876543210", 16), BigInt("0123456789abcde8", 16))
      assert(bench.read(map.Offset) == 0)
      bench.refuse(write = true, one)
      bench.refuse(write = false, two)
      assert(bench.read(map.Offset) == said(write = true, one))
      bench.write(map.Offset, 1)
      bench.write(map.Offset, put(map.Valid, 1), 0xfe)
      assert(bench.read(map.Offset) == said(write = true, one))
      // Refused in the cycle in which the host clears.
      bench.offer(write = false, two)
      bench.write(map.Offset, put(map.Valid, 1), 1)
      assert(bench.read(map.Offset) == said(write = false, two))
      bench.write(map.Offset, put(map.Valid, 1), 1)
      assert(get(bench.read(map.Offset), map.Valid) == 0)
    }
  }
}
