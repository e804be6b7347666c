// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** The engine's own registers: reset values, strobes, writes in each state, interrupt bits. */
class RegistersSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded with Cases[Registers] {
  import RegisterAccess.{get, put}

  private implicit val p: Params = Params(buildHash = 77)

  private class Bench(dut: Registers) {
    for (
      b <- Seq(
        dut.io.ofCore.busy,
        dut.io.dmaError,
        dut.io.ofCore.fault,
        dut.io.refused,
        dut.io.owed,
        dut.io.ofCore.completionIrq,
        dut.io.mastersBusy
      )
    )
      b.poke(false)
    private val regs = new RegisterAccess(dut.io.regs, () => dut.clock.step())
    regs.idle()
    restart(dut)

    def read(offset: Int): BigInt = regs.read(offset)
    def write(offset: Int, data: BigInt, strobes: Int = 255): Unit = {
      regs.write(offset, data, strobes)
      dut.clock.step()
    }
  }

  private def registers(name: String)(body: (Registers, Bench) => Unit): Unit =
    inTurn(name)(dut => body(dut, new Bench(dut)))

  registers("has the map's reset values") { (_, bench) =>
    assert(get(bench.read(RegMap.Id.Offset), RegMap.Id.Magic) == RegMap.Id.Magic.reset)
    assert(get(bench.read(RegMap.Version.Offset), RegMap.Version.Major) == RegMap.Version.Major.reset)
    bench.write(RegMap.Build.Offset, 0)
    assert(bench.read(RegMap.Build.Offset) == 77)
    assert(get(bench.read(RegMap.Caps.Offset), RegMap.Caps.Cpus) == p.cpus)
    assert(bench.read(RegMap.Control.Offset) == 0)
    assert(bench.read(RegMap.Usage.Offset + 8) == 0)
  }

  registers("takes over the policies that are built, and no others") { (dut, bench) =>
    val policy = RegMap.Policy
    bench.write(policy.Offset, (BigInt(1) << 64) - 1)
    assert(bench.read(policy.Offset) == put(policy.Seed, BigInt("ffffffff", 16)))
    val built = put(policy.Scan, ScanPolicyCode.FreeFirst) | put(policy.Device, DevicePolicyCode.NodeFirst) |
      put(policy.Hint, HintPolicyCode.RandomTrunk) | put(policy.Placement, PlacementPolicyCode.Indexed)
    bench.write(policy.Offset, built)
    assert(bench.read(policy.Offset) == built)
    dut.io.settings.policy.scan.expect(ScanPolicyCode.FreeFirst)
    dut.io.settings.policy.device.expect(DevicePolicyCode.NodeFirst)
    dut.io.settings.policy.hint.expect(HintPolicyCode.RandomTrunk)
    dut.io.settings.policy.placement.expect(PlacementPolicyCode.Indexed)
    // A byte alone: the others stay.
    bench.write(policy.Offset, 0, 2)
    assert(get(bench.read(policy.Offset), policy.Hint) == 0)
    assert(get(bench.read(policy.Offset), policy.Scan) == ScanPolicyCode.FreeFirst)
  }

  registers("writes the bytes that are strobed and the bits that exist") { (_, bench) =>
    val random = seeded()
    val whole = (BigInt(1) << 64) - 1
    val masks = Seq(
      RegMap.IrqEnable.Offset -> BigInt(3),
      RegMap.CmdTail.Offset -> BigInt("ffffffff", 16),
      RegMap.CmdBase.Offset -> (whole - 63),
      RegMap.CplBase.Offset -> (whole - 63),
      RegMap.CpuNode.Base -> BigInt("ffff", 16)
    )
    for ((offset, mask) <- masks) {
      var expected = bench.read(offset)
      for (_ <- 0 until 30) {
        val data = BigInt(64, random)
        val strobes = random.nextInt(256)
        bench.write(offset, data, strobes)
        val bytes = (0 until 8).filter(i => (strobes >> i & 1) == 1).map(i => BigInt(255) << (8 * i)).sum
        expected = ((expected & ~bytes) | (data & bytes)) & mask
        assert(bench.read(offset) == expected, f"register $offset%x, strobes $strobes%x")
      }
    }
  }

  registers("takes the rings' addresses as those of whole lines") { (dut, bench) =>
    bench.write(RegMap.CmdBase.Offset, BigInt("fedcba9876543217", 16))
    bench.write(RegMap.CplBase.Offset, 0x7f)
    dut.io.settings.cmdBase.expect(BigInt("fedcba9876543200", 16) >> 3)
    dut.io.settings.cplBase.expect(8)
  }

  registers("takes over the sizes of the ring that are built, and no others") { (dut, bench) =>
    val offset = RegMap.CmdSize.Offset
    for (log2 <- 0 to 15) {
      bench.write(offset, log2 | 0xfff0)
      val expected = if ((1 to 12).contains(log2)) log2 else 0
      assert(bench.read(offset) == expected)
      dut.io.settings.cmdLog2.expect(expected)
      bench.write(offset, 7)
      bench.write(offset, 3, 0xfe)
      assert(bench.read(offset) == 7)
    }
  }

  registers("says that a burst was refused, and that the bus owes answers") { (dut, bench) =>
    val (c, s) = (RegMap.Control, RegMap.Status)
    bench.write(c.Offset, put(c.Enable, 1) | put(c.TableWrites, 1))
    dut.io.settings.tableWrites.expect(true)
    dut.io.settings.stopped.expect(false)
    dut.io.dmaError.poke(true)
    pulse(dut.io.refused, dut.clock)
    dut.io.dmaError.poke(false)
    dut.clock.step()
    dut.io.settings.stopped.expect(true)
    assert(bench.read(s.Offset) == (put(s.DmaError, 1) | put(s.DmaRefused, 1)))
    assert(bench.read(c.Offset) == put(c.TableWrites, 1))
    dut.io.owed.poke(true)
    assert(get(bench.read(s.Offset), s.BusOwed) == 1)
    dut.io.owed.poke(false)
    assert(get(bench.read(s.Offset), s.BusOwed) == 0)
    bench.write(c.Offset, 0)
    dut.io.settings.tableWrites.expect(false)
  }

  registers("rings the doorbell with the lowest byte") { (dut, bench) =>
    bench.write(RegMap.CmdTail.Offset, 0x1200, 0xfe)
    dut.clock.step()
    dut.io.settings.cmdTail.expect(0)
    bench.write(RegMap.CmdTail.Offset, 0x34, 1)
    dut.clock.step()
    dut.io.settings.cmdTail.expect(0x1234)
  }

  registers("has the bits of CONTROL that are there, and starts nothing by the upper bytes") { (dut, bench) =>
    val c = RegMap.Control
    val enable = put(c.Enable, 1)
    bench.write(c.Offset, enable | put(MapField(1, 2, 0), 3))
    assert(bench.read(c.Offset) == enable)
    bench.write(c.Offset, 0, 0xfe)
    dut.io.settings.enable.expect(true)
    bench.write(c.Offset, 0)
    dut.io.settings.enable.expect(false)
  }

  registers("keeps interrupt bits until a 1 is written, and stops at faults") { (dut, bench) =>
    val s = RegMap.IrqStatus
    pulse(dut.io.ofCore.completionIrq, dut.clock)
    dut.clock.step()
    dut.io.irq.expect(false)
    bench.write(RegMap.IrqEnable.Offset, put(RegMap.IrqEnable.Completion, 1))
    dut.clock.step()
    dut.io.irq.expect(true)
    bench.write(s.Offset, put(s.Error, 1))
    assert(bench.read(s.Offset) == put(s.Completion, 1))
    bench.write(s.Offset, put(s.Completion, 1), 0xfe)
    assert(bench.read(s.Offset) == put(s.Completion, 1))
    bench.write(s.Offset, put(s.Completion, 1))
    assert(bench.read(s.Offset) == 0)
    dut.clock.step()
    dut.io.irq.expect(false)

    bench.write(RegMap.Control.Offset, 1)
    dut.io.settings.enable.expect(true)
    pulse(dut.io.ofCore.fault, dut.clock)
    dut.clock.step()
    dut.io.settings.enable.expect(false)
    assert(get(bench.read(RegMap.Status.Offset), RegMap.Status.Fault) == 1)
    assert(bench.read(s.Offset) == put(s.Error, 1))
    bench.write(RegMap.Control.Offset, 1)
    dut.io.settings.enable.expect(false)
    dut.io.settings.fault.expect(true)
    // A burst that the stopped engine refuses is no error of the bus.
    dut.io.dmaError.poke(true)
    pulse(dut.io.refused, dut.clock)
    dut.io.dmaError.poke(false)
    assert(bench.read(RegMap.Status.Offset) == put(RegMap.Status.Fault, 1))
    dut.io.mastersBusy.poke(true)
    assert(get(bench.read(RegMap.Status.Offset), RegMap.Status.Busy) == 1)
  }

  it("keeps registers") {
    simulate(new Registers)(tryAll)
  }
}
