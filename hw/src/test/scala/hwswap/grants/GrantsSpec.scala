// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import _root_.circt.stage.ChiselStage
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec
import hwswap.shell.{EngineHost, HostCommand}

/** Marks and grants as a part of the engine, and as all of it: registers, the bus that they share, DMA windows, RESET.
  */
class GrantsSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  import EngineHost.put
  import MarksMemory._

  private val p =
    Params(devices = 4, cpus = 2, clusters = 128, resetTimeoutLog2 = 10, grants = true)
  private val engines = Seq("beside a core" -> p, "without a core" -> p.copy(core = false))
  private val state = RegMap.GrantState
  private val control = RegMap.GrantControl

  private class Bench(dut: HwSwap, eager: Int) {
    val host = new EngineHost(dut, seeded(), eager, bytes = true)
    val marks = new MarksMemory(host.memory)
    host.start()

    def settings(): Unit = {
      host.setUp()
      for (
        (register, address) <- Seq(
          RegMap.GrantGroupBase.Offset -> Groups,
          RegMap.GrantDirtyBase.Offset -> Dirty,
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
    def switch(on: Boolean): Unit = {
      val bit = BigInt(if (on) 1 else 0)
      host.write(control.Offset, put(control.Scan, bit) | put(control.Grant, bit) | put(control.Pause, 3))
      if (!on) host.until("rest")(Seq(state.ScanIdle, state.GrantIdle).forall(host.field(state.Offset, _) == 1))
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
    def entry(cpu: Int, order: Int, index: Int): (Long, Long) =
      (host.memory(marks.place(cpu, order, index)), host.memory(marks.place(cpu, order, index) + 8))

    /** Beside a core, commands share the bus. */
    def others(): Unit = if (dut.p.core) for (_ <- 0 until 6) host.ok(HostCommand(OpcodeCode.Nop))
    def reset(): Unit = {
      host.write(RegMap.Control.Offset, put(RegMap.Control.Reset, 1))
      host.until("the end of RESET")(host.field(RegMap.Control.Offset, RegMap.Control.Reset) == 0)
    }
    def clear(): Unit = for (at <- Rings until Rings + 2 * 10 * 4 * 16 by 8) host.memory(at) = 0
  }

  for ((where, engine) <- engines) {
    it(s"grants what was marked, $where, and again behind a RESET at any time") {
      simulate(new HwSwap()(engine)) { dut =>
        for (eager <- Seq(100, 60, 25)) {
          val bench = new Bench(dut, eager)
          import bench._
          assert(host.field(RegMap.Caps.Offset, RegMap.Caps.Grants) == 1)
          assert(host.field(state.Offset, state.RingLog2) == Params.GrantRingLog2)
          for (wait <- Seq(-1, 3, 40, 170, 400)) {
            settings()
            host.commands = 0
            host.clearCompletions()
            clear()
            device(2, base = 60, clusters = 6, epoch = 9)
            marks.change(61, Bitmaps.All ^ (BigInt(1) << 5), FlagCode.Frag, 0, 9)
            marks.want(1, 1)
            switch(on = true)
            if (wait < 0) {
              others()
              host.until("a grant")(entry(1, 0, 0)._2 != 0)
              host.settle()
              assert(entry(1, 0, 0) == ((1L << 5, marks.word1(512, 2, 0, 9, 1))))
              assert(host.read(RegMap.StatGrants.Offset) == 1)
              assert(host.field(state.Offset, state.Rounds) > 1 && host.field(state.Offset, state.Passes) > 1)
              // More devices than there are: ignored, and counted; device 0 and its grants stay.
              device(0, base = 0, clusters = 4, epoch = 3)
              marks.change(1, Bitmaps.All ^ (BigInt(1) << 6), FlagCode.Frag, 0, 3)
              host.until("a grant of device 0")(entry(1, 0, 1)._2 != 0)
              val granted = entry(1, 0, 1)
              val errors = host.read(RegMap.StatCommandErrors.Offset)
              for (live <- Seq(true, false); number <- Seq(p.devices, 9, 31))
                device(number, base = 0, clusters = 4, epoch = 1, live = live)
              assert(host.read(RegMap.StatCommandErrors.Offset) == errors + 6)
              // More clusters than there are: not live, and counted.
              device(3, base = 126, clusters = 3, epoch = 1)
              assert(host.read(RegMap.StatCommandErrors.Offset) == errors + 7)
              host.settle()
              assert(entry(1, 0, 1) == granted && granted == ((1L << 6, marks.word1(512, 0, 0, 3, 1))))
              // A device that goes takes its grants along.
              device(2, base = 60, clusters = 6, epoch = 9, live = false)
              assert(entry(1, 0, 0)._1 == 0 && (entry(1, 0, 0)._2 >> 62 & 1) == 0)
              switch(on = false)
            } else for (_ <- 0 until wait) host.step()
            reset()
            assert(host.read(control.Offset) == 0)
            for (_ <- 0 until 20) host.step()
            assert(host.memory.quiet, "a burst is under way behind RESET")
          }
        }
      }
    }

    it(s"makes no burst outside of the DMA windows, and none behind one that was refused, $where") {
      simulate(new HwSwap()(engine)) { dut =>
        val bench = new Bench(dut, 70)
        import bench._
        settings()
        host.window(0, 0, Chunk)
        device(0, base = 0, clusters = 4, epoch = 1)
        marks.change(1, 0, FlagCode.Free, 0, 1)
        marks.want(0, 1)
        switch(on = true)
        host.until("the refusal")(host.field(RegMap.Status.Offset, RegMap.Status.DmaRefused) == 1)
        assert(host.field(RegMap.DmaRefused.Offset, RegMap.DmaRefused.Addr) << 3 == Chunk + 64)
        assert(host.field(RegMap.Control.Offset, RegMap.Control.Enable) == 0)
        for (_ <- 0 until 60) host.step()
        assert(host.field(RegMap.Status.Offset, RegMap.Status.Busy) == 0)
        val bursts = host.memory.bursts.length
        for (_ <- 0 until 600) host.step()
        // Nor does a device's new entry take anything back.
        host.write(RegMap.GrantDevice.Offset, 0)
        for (_ <- 0 until 600) host.step()
        assert(host.memory.bursts.length == bursts && host.memory.bursts.forall(_._2 < Chunk))
        assert(entry(0, 0, 0)._2 == 0)
        // A reset makes it work again.
        reset()
        settings()
        host.commands = 0
        device(0, base = 0, clusters = 4, epoch = 1)
        marks.change(1, 0, FlagCode.Free, 0, 1)
        switch(on = true)
        host.until("a grant")(entry(0, 0, 0)._2 != 0)
      }
    }
  }

  for ((where, engine) <- engines)
    it(s"is busy until marks and rings rest, so that windows may close then, $where") {
      simulate(new HwSwap()(engine)) { dut =>
        for (pause <- 0 until 12) {
          val bench = new Bench(dut, 30)
          import bench._
          settings()
          device(0, base = 0, clusters = 4, epoch = 1)
          for (cluster <- 0 until 4) marks.change(cluster, 0, FlagCode.Free, 0, 1)
          marks.want(0, 3)
          switch(on = true)
          for (_ <- 0 until 20 * pause) host.step()
          host.write(RegMap.Control.Offset, 0)
          host.until("BUSY to fall")(host.field(RegMap.Status.Offset, RegMap.Status.Busy) == 0)
          host.window(0, 0, 0, reads = false, writes = false)
          val bursts = host.memory.bursts.length
          for (_ <- 0 until 400) host.step()
          assert(host.memory.quiet && host.memory.bursts.length == bursts, "a burst behind BUSY")
          assert(host.read(RegMap.Status.Offset) == 0)
          reset()
        }
      }
    }

  it("has no core, command ring and swap tables where it is all of the engine, and their registers read 0") {
    val engine = p.copy(core = false)
    val text = ChiselStage.emitCHIRRTL(new HwSwap()(engine))
    for (gone <- Seq("Core", "CommandRing", "Tables", "Dma", "CpuRequests", "DmaWriteArbiter", "AxiMerge"))
      assert(s"(?m)^ *(?:public )?module $gone ".r.findFirstIn(text).isEmpty, gone)
    simulate(new HwSwap()(engine)) { dut =>
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
      host.until("idle")(bit(dut.idle))
    }
  }

  it("is left out unless it is asked for") {
    val text = Emit.verilog(Params(devices = 2, cpus = 1, clusters = 64), synthesis = true)
    assert(!text.contains("module MarkScanner"))
  }
}
