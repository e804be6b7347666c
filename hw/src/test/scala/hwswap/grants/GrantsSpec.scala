// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import _root_.circt.stage.ChiselStage
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Grants as a part of the engine, and as all of it: registers, and when the engine is busy. What comes of changes,
  * windows, errors and resets is in tests/cocotb, with the golden model and with the table of DMA masters.
  */
class GrantsSpec extends AnyFunSpec with ChiselSim with Seeded {
  import GrantMemory._
  import RegisterAccess.put

  private val p =
    Params(devices = 4, cpus = 2, clusters = 128, resetTimeoutLog2 = 10, grants = true)
  private val engines = Seq("beside a core" -> p, "without a core" -> p.copy(core = false))
  private val state = RegMap.GrantState

  private class Bench(dut: EngineUnderTest, eager: Int) {
    val host = new EngineHost(dut, seeded(), eager)
    val kernel = new GrantMemory(host.memory)
    host.start()

    def settings(): Unit = {
      host.window(open = true)
      host.write(RegMap.Control.Offset, put(RegMap.Control.Enable, 1) | put(RegMap.Control.TableWrites, 1))
      for (
        (register, address) <- Seq(
          RegMap.GrantWordBase.Offset -> Words,
          RegMap.GrantLineBase.Offset -> CpuLines,
          RegMap.GrantNoRunBase.Offset -> NoRun,
          RegMap.GrantRingBase.Offset -> Rings,
          RegMap.GrantChunk.Base -> Chunk
        )
      ) {
        // Bits below a line of 64 bytes are not taken over.
        host.write(register, address + 0x3f)
        assert(host.read(register) == address)
      }
    }
    def switchOn(): Unit = {
      val control = RegMap.GrantControl
      host.write(control.Offset, put(control.Read, 1) | put(control.Grant, 1) | put(control.Pause, 3))
    }
    def device(number: Int, base: Int, clusters: Int, epoch: Int, live: Boolean = true): Unit = {
      val map = RegMap.GrantDevice
      host.write(
        RegMap.GrantRange.Offset,
        put(RegMap.GrantRange.Base, base) | put(RegMap.GrantRange.Clusters, clusters)
      )
      host.write(
        map.Offset,
        put(map.Type, number) | put(map.Live, if (live) 1 else 0) | put(map.Epoch, epoch) | put(map.Priority, 0xffff)
      )
      host.until("the device's entry")(host.field(state.Offset, state.DeviceBusy) == 0)
    }
    def entry(cpu: Int, order: Int, index: Int): Long = host.memory(kernel.place(cpu, order, index))
    def reset(): Unit = {
      host.write(RegMap.Control.Offset, put(RegMap.Control.Reset, 1))
      host.until("the end of RESET")(host.field(RegMap.Control.Offset, RegMap.Control.Reset) == 0)
    }
  }

  for ((where, engine) <- engines) {
    it(s"refuses and counts devices and clusters that there are not, and goes on with the others, $where") {
      simulate(new EngineUnderTest()(engine)) { dut =>
        val bench = new Bench(dut, 60)
        import bench._
        assert(host.field(RegMap.Caps.Offset, RegMap.Caps.Grants) == 1)
        assert(host.field(state.Offset, state.RingLog2) == Params.GrantRingLog2)
        settings()
        kernel.want(1, 1)
        switchOn()
        device(0, base = 0, clusters = 4, epoch = 3)
        kernel.change(1, Bitmaps.All ^ (BigInt(1) << 6), FlagCode.Frag, 0, 3)
        host.until("a grant")(entry(1, 0, 0) != 0)
        val granted = entry(1, 0, 0)
        assert(granted == kernel.entry(1, 0, 0, 3, 1))
        host.settle()
        assert(host.read(RegMap.StatGrants.Offset) == 1)
        for (live <- Seq(true, false); number <- Seq(p.devices, 9, 31))
          device(number, base = 0, clusters = 4, epoch = 1, live = live)
        assert(host.read(RegMap.StatCommandErrors.Offset) == 6)
        device(3, base = 126, clusters = 3, epoch = 1)
        assert(host.read(RegMap.StatCommandErrors.Offset) == 7)
        host.settle()
        assert(entry(1, 0, 0) == granted)
      }
    }

    it(s"is busy until reader and rings rest, so that windows may close then, $where") {
      simulate(new EngineUnderTest()(engine)) { dut =>
        for (pause <- 0 until 12) {
          val bench = new Bench(dut, 30)
          import bench._
          settings()
          device(0, base = 0, clusters = 4, epoch = 1)
          for (cluster <- 0 until 4) kernel.change(cluster, 0, FlagCode.Free, 0, 1)
          kernel.want(0, 3)
          switchOn()
          for (_ <- 0 until 20 * pause) host.step()
          host.write(RegMap.Control.Offset, 0)
          host.until("BUSY to fall")(host.field(RegMap.Status.Offset, RegMap.Status.Busy) == 0)
          host.window(open = false)
          val bursts = host.memory.bursts.length
          for (_ <- 0 until 400) host.step()
          assert(host.memory.quiet && host.memory.bursts.length == bursts, "a burst behind BUSY")
          assert(host.read(RegMap.Status.Offset) == 0)
          reset()
        }
      }
    }
  }

  it("reads clusters as often as the registers say, and no more without READ") {
    simulate(new EngineUnderTest()(p.copy(core = false))) { dut =>
      for ((pause, pace, rounds) <- Seq((0xffff, 0, 1), (0, 0xffff, 0))) {
        val bench = new Bench(dut, 70)
        import bench._
        settings()
        val control = RegMap.GrantControl
        host.write(control.Offset, put(control.Read, 1) | put(control.Pause, pause) | put(control.Pace, pace))
        for (_ <- 0 until 4000) host.step()
        assert(host.field(state.Offset, state.Rounds) == rounds)
        assert(host.field(state.Offset, state.ReadIdle) == rounds)
        host.write(control.Offset, 0)
        host.until("rest")(host.field(state.Offset, state.ReadIdle) == 1)
        reset()
      }
    }
  }

  it("has no core, command ring and swap tables where it is all of the engine, and their registers read 0") {
    val engine = p.copy(core = false)
    val text = ChiselStage.emitCHIRRTL(new HwSwap()(engine))
    for (gone <- Seq("Core", "CommandRing", "Tables", "Dma", "CpuRequests", "DmaWriteArbiter", "AxiMerge"))
      assert(s"(?m)^ *(?:public )?module $gone ".r.findFirstIn(text).isEmpty, gone)
    simulate(new EngineUnderTest()(engine)) { dut =>
      val bench = new Bench(dut, 70)
      import bench._
      assert(host.field(RegMap.Caps.Offset, RegMap.Caps.GrantsOnly) == 1)
      assert(host.field(RegMap.Caps.Offset, RegMap.Caps.Grants) == 1)
      assert(host.field(RegMap.Caps.Offset, RegMap.Caps.Clusters) == engine.clusters)
      for (field <- Seq(RegMap.Caps.Tables, RegMap.Caps.Index, RegMap.Caps.Check))
        assert(host.field(RegMap.Caps.Offset, field) == 0)
      settings()
      assert(host.read(RegMap.Control.Offset) == put(RegMap.Control.Enable, 1))
      for (
        offset <- Seq(
          RegMap.CmdBase.Offset,
          RegMap.CmdSize.Offset,
          RegMap.Policy.Offset,
          RegMap.Usage.Offset,
          RegMap.Lookup.Offset,
          RegMap.Device.Base,
          RegMap.CpuPage.Base,
          RegMap.StatCommands.Offset
        )
      ) {
        host.write(offset, (BigInt(1) << 64) - 1)
        assert(host.read(offset) == 0, f"register $offset%x")
      }
      assert(host.read(RegMap.StatCycles.Offset) > 0)
      host.settle()
    }
  }

  it("is left out unless it is asked for") {
    val text = Emit.verilog(Params(devices = 2, cpus = 1, clusters = 64), synthesis = true)
    assert(!text.contains("module ClusterReader"))
  }
}
