// SPDX-License-Identifier: Apache-2.0
package hwswap

import _root_.circt.stage.ChiselStage
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec
import hwswap.shell.{EngineHost, HostCommand}

/** Engines without parts that not everybody needs: each can be left out, the rest works, and CAPS says so. */
class PartsSpec extends AnyFunSpec with ChiselSim with Seeded {
  import EngineHost._

  private val full = Params(devices = 3, cpus = 2, clusters = 64)
  private val lean = full.copy(index = false, check = false)
  private val flags = MemMap.DeviceFlags.Flags
  private val ssd = put(flags.Blkdev, 1) | put(flags.Solidstate, 1)
  private val pages = 4 * 512

  /** What CAPS says of a part, the modules that are only there with it, and an engine without it. */
  private val parts = Seq(
    (RegMap.Caps.Index, Seq("ClusterIndex", "IndexFeed"), full.copy(index = false)),
    (RegMap.Caps.Check, Seq("CheckUnit", "DumpUnit", "Dump"), full.copy(check = false))
  )

  private def on(host: EngineHost, device: Int, base: Int): Unit = {
    val sizes = BigInt(pages) | BigInt(base) << 32
    val prepare = HostCommand(OpcodeCode.SwaponPrepare, device, arg0 = sizes, arg1 = ssd)
    host.ok(prepare)
    host.ok(HostCommand(OpcodeCode.Swapon, device))
  }

  private def refuses(host: EngineHost, opcodes: Seq[Int]): Unit =
    for (opcode <- opcodes)
      assert(host.run(HostCommand(opcode, nr = 1)).status == StatusCode.BadOpcode, s"opcode $opcode")

  private def says(host: EngineHost, p: Params): Unit = {
    val caps = host.read(RegMap.Caps.Offset)
    val expected = Seq(p.index, p.check)
    for (((field, _, _), there) <- parts.zip(expected)) assert(get(caps, field) == (if (there) 1 else 0))
  }

  it("has no module of a part that is left out") {
    def modules(p: Params): Set[String] = {
      val text = ChiselStage.emitCHIRRTL(new HwSwap()(p))
      """(?m)^ *(?:public )?module (\w+)""".r.findAllMatchIn(text).map(_.group(1)).toSet
    }
    val all = modules(full)
    for ((_, gone, p) <- parts) {
      assert(gone.toSet.subsetOf(all))
      assert(modules(p).intersect(gone.toSet).isEmpty)
    }
  }

  it("allocates without all that can be left out, and refuses that") {
    simulate(new HwSwap()(lean)) { dut =>
      val host = new EngineHost(dut, seeded())
      host.start()
      host.setUp()
      says(host, lean)
      refuses(host, Seq(OpcodeCode.Check, OpcodeCode.Dump))
      val placement = RegMap.Policy.Placement
      host.write(RegMap.Policy.Offset, put(placement, PlacementPolicyCode.Indexed))
      assert(host.field(RegMap.Policy.Offset, placement) == PlacementPolicyCode.Linux)

      on(host, 1, base = 4)
      val taken = for (order <- 0 to 3) yield host.ok(HostCommand(OpcodeCode.Alloc, order = order)).slot
      assert(taken.distinct.size == taken.size)
      for ((slot, order) <- taken.zipWithIndex)
        host.ok(HostCommand(OpcodeCode.Free, 1, nr = 1 << order, arg0 = slot))
      assert(host.field(RegMap.Usage.Offset, RegMap.Usage.Slots) == pages - 1)
      host.ok(HostCommand(OpcodeCode.SwapoffBegin, 1))
      host.ok(HostCommand(OpcodeCode.Swapoff, 1))
      host.settle()
      assert(host.field(RegMap.Status.Offset, RegMap.Status.Fault) == 0)
    }
  }

  it("gives a table by command and counts faults where there is no index") {
    val p = full.copy(index = false)
    simulate(new HwSwap()(p)) { dut =>
      val host = new EngineHost(dut, seeded())
      host.start()
      host.setUp()
      says(host, p)
      on(host, 0, base = 0)
      host.memory(Target) = Target + 0x1000
      host.ok(HostCommand(OpcodeCode.TableGive, 0, nr = 1, arg2 = Target))
      host.memory(Target + 0x1000 + 8 * 5) = 0x123L << 8
      assert(host.ok(HostCommand(OpcodeCode.TableLookup, 0, arg0 = 5)).result == 0x123L << 8)
      host.ok(HostCommand(OpcodeCode.Alloc))
      assert(host.ok(HostCommand(OpcodeCode.Check, 0)).slot == 0)
      host.ok(HostCommand(OpcodeCode.Swapoff, 0))
    }
  }
}
