// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import hwswap.bus.AxiMemory
import hwswap.shell.{EngineHost, HostCommand}

/** The whole engine with its real core, seen from a host. One model, one test after the other; CONTROL.RESET in
  * between.
  */
class HwSwapSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded with Cases[HwSwap] {
  import EngineHost._

  private val p =
    Params(
      devices = 3,
      cpus = 2,
      clusters = 16,
      buildHash = BigInt("123456789abcdef0", 16),
      resetTimeoutLog2 = 8
    )
  private val fourClusters = 4 * 512

  private def alloc(cpu: Int, order: Int): HostCommand = HostCommand(OpcodeCode.Alloc, cpu = cpu, order = order)

  private def reset(host: EngineHost): Unit = {
    host.write(RegMap.Control.Offset, BigInt(1) << RegMap.Control.Reset.lsb)
    host.until("the end of RESET")(host.field(RegMap.Control.Offset, RegMap.Control.Reset) == 0)
  }

  private type Body = (EngineHost, HwSwap) => Unit

  /** One thing the engine does, tried on the engine fresh from reset with a memory of its own. */
  private def scenario(name: String, eager: Int = 70)(body: Body): Unit = inTurn(name) { dut =>
    val host = new EngineHost(dut, seeded(), eager)
    host.start()
    host.setUp()
    body(host, dut)
    assert(host.field(RegMap.Status.Offset, RegMap.Status.Fault) == 0, "STATUS.FAULT")
  }

  scenario("runs a device's life through the command ring, registers and CPU pages") { (host, _) =>
    assert(host.field(RegMap.Id.Offset, RegMap.Id.Magic) == RegMap.Id.Magic.reset)
    assert(host.read(RegMap.Build.Offset) == p.buildHash)
    assert(host.field(RegMap.Caps.Offset, RegMap.Caps.Clusters) == p.clusters)
    assert(host.read(0x3f8) == 0 && host.read(RegMap.CpuPage.Base + 15 * RegMap.CpuPage.Stride) == 0)

    host.on(1, fourClusters, base = 4)
    val map = RegMap.Device
    val size = host.read(map.Base + map.Stride + map.Size.Offset)
    assert(get(size, map.Size.Pages) == fourClusters && get(size, map.Size.Base) == 4)
    assert(host.field(map.Base + map.Stride + map.State.Offset, map.State.Priority) == 0xffff)

    // The first cluster has a bad slot and is on NONFULL[0]; larger orders take an empty one.
    val small = host.ok(alloc(0, 0))
    assert((small.device, small.slot) == ((1, 1)))
    val large = host.ok(alloc(1, 4))
    assert((large.device, large.slot) == ((1, 512)))
    assert(host.field(RegMap.Usage.Offset, RegMap.Usage.Slots) == fourClusters - 1 - 1 - 16)
    host.ok(HostCommand(OpcodeCode.Free, 1, nr = 16, arg0 = large.slot))
    assert(host.run(HostCommand(OpcodeCode.Free, 1, nr = 16, arg0 = large.slot)).status == StatusCode.BadRange)
    assert(host.ok(HostCommand(OpcodeCode.Check, 1)).slot == 0)

    // A batch on several laps of the ring, one doorbell for each half ring
    val first = host.commands
    for (lap <- 0 until 6) {
      for (_ <- 0 until 4) host.queue(alloc(0, 0))
      host.doorbell()
      for (i <- 0 until 4) {
        val done = host.completion(first + 4 * lap + i)
        assert((done.status, done.slot) == ((StatusCode.Ok, 2L + 4 * lap + i)))
      }
    }

    // The same by register; CPU 1 has no place for single pages yet and takes the next empty cluster. A request whose
    // reply was lost is written again.
    val page = RegMap.CpuPage.Base + RegMap.CpuPage.Stride
    val request = put(RegMap.CpuPage.Request.Opcode, OpcodeCode.Alloc) | put(RegMap.CpuPage.Request.Seq, 7)
    host.write(page + RegMap.CpuPage.Request.Offset, request)
    host.until("the response")(
      get(host.read(page + RegMap.CpuPage.Response.Offset), RegMap.CpuPage.Response.Seq) == 7
    )
    val response = host.read(page + RegMap.CpuPage.Response.Offset)
    assert(get(response, RegMap.CpuPage.Response.Slot) == 1024)
    host.write(page + RegMap.CpuPage.Request.Offset, request)
    for (_ <- 0 until 100) host.step()
    assert(host.read(page + RegMap.CpuPage.Response.Offset) == response)

    host.ok(HostCommand(OpcodeCode.SwapoffBegin, 1))
    assert(host.run(alloc(0, 0)).status == StatusCode.NoSpace)
    host.ok(HostCommand(OpcodeCode.Swapoff, 1))
    assert(host.run(HostCommand(OpcodeCode.Check, 1)).status == StatusCode.BadDevice)
  }

  scenario("refuses what is wrong, and says why", eager = 30) { (host, _) =>
    val wrong = Seq(
      HostCommand(99) -> StatusCode.BadOpcode,
      HostCommand(8) -> StatusCode.BadOpcode,
      HostCommand(9) -> StatusCode.BadOpcode,
      HostCommand(OpcodeCode.Dump, nr = 2, arg0 = p.clusters - 1, arg1 = Target) -> StatusCode.BadRange,
      HostCommand(OpcodeCode.Dump, nr = 1, arg0 = BigInt(1) << 32, arg1 = Target) -> StatusCode.BadRange,
      HostCommand(OpcodeCode.Dump, nr = 1, arg1 = Target + 4) -> StatusCode.BadRange,
      HostCommand(OpcodeCode.Swapon, p.devices) -> StatusCode.BadDevice,
      HostCommand(OpcodeCode.Swapon, 1) -> StatusCode.BadDevice,
      alloc(p.cpus, 0) -> StatusCode.BadCpu,
      alloc(0, p.orders) -> StatusCode.BadCpu,
      HostCommand(OpcodeCode.Free, 0, nr = 1, arg0 = BigInt(1) << 33) -> StatusCode.BadRange,
      HostCommand.prepare(0, fourClusters, p.clusters - 3) -> StatusCode.BadRange,
      alloc(0, 0) -> StatusCode.NoSpace
    )
    for ((command, status) <- wrong) assert(host.run(command).status == status, s"of $command")
    assert(host.read(RegMap.StatCommands.Offset) == wrong.length)
    assert(host.read(RegMap.StatCommandErrors.Offset) == wrong.length - 1)
  }

  scenario("raises the interrupt, and stops at a DMA error until RESET") { (host, dut) =>
    host.write(RegMap.IrqEnable.Offset, 3)
    host.ok(HostCommand(OpcodeCode.Nop))
    dut.irq.expect(false)
    host.ok(HostCommand(OpcodeCode.Nop, irq = true))
    host.until("irq")(bit(dut.irq))
    host.write(RegMap.IrqStatus.Offset, 1)
    host.step()
    dut.irq.expect(false)

    host.memory.bad = address => address >= Commands && address < Commands + 0x1000
    host.queue(HostCommand(OpcodeCode.Nop))
    host.doorbell()
    host.until("irq")(bit(dut.irq))
    assert(host.field(RegMap.Status.Offset, RegMap.Status.DmaError) == 1)
    host.write(RegMap.Control.Offset, 1)
    assert(host.field(RegMap.Control.Offset, RegMap.Control.Enable) == 0)

    host.memory.bad = _ => false
    reset(host)
    val zero = Seq(
      RegMap.Control.Offset,
      RegMap.Status.Offset,
      RegMap.IrqStatus.Offset,
      RegMap.IrqEnable.Offset,
      RegMap.CmdBase.Offset
    )
    for (offset <- zero) assert(host.read(offset) == 0, f"register $offset%x after RESET")
    assert(host.field(RegMap.CmdHead.Offset, RegMap.CmdHead.Head) == 0)
  }

  scenario("does nothing behind a stop, whoever asks") { (host, _) =>
    host.on(0, fourClusters, base = 0)
    val table = 0x30000L
    host.memory(Target) = table
    host.ok(HostCommand(OpcodeCode.TableGive, 0, nr = 1, arg0 = 0, arg2 = Target))
    val page = RegMap.CpuPage
    var seq = 0
    def allocByPage(): Int = {
      seq += 1
      host.write(
        page.Base + page.Request.Offset,
        put(page.Request.Opcode, OpcodeCode.Alloc) | put(page.Request.Seq, seq)
      )
      host.until("the response")(host.field(page.Base + page.Response.Offset, page.Response.Seq) == seq)
      host.field(page.Base + page.Response.Offset, page.Response.Status).toInt
    }
    def lookup(): Int = {
      seq += 1
      host.write(RegMap.Lookup.Offset, put(RegMap.Lookup.Slot, 7) | put(RegMap.Lookup.Seq, seq))
      val info = RegMap.LookupInfo
      host.until("the lookup")(host.field(info.Offset, info.Seq) == seq)
      host.field(info.Offset, info.Status).toInt
    }
    val before = host.memory.bursts.length
    assert(allocByPage() == StatusCode.Ok && lookup() == StatusCode.Ok)
    assert(host.memory.bursts.length == before + 1)

    host.memory.bad = address => address >= Commands && address < Commands + 0x1000
    host.queue(HostCommand(OpcodeCode.Nop))
    host.doorbell()
    host.until("the error")(host.field(RegMap.Status.Offset, RegMap.Status.DmaError) == 1)
    host.settle()
    host.memory.bad = _ => false
    assert(host.read(RegMap.Status.Offset) == put(RegMap.Status.DmaError, 1))
    val stopped = host.memory.bursts.length
    for (_ <- 0 until 3) assert(allocByPage() == StatusCode.BusError && lookup() == StatusCode.BusError)
    host.settle()
    assert(host.read(RegMap.Status.Offset) == put(RegMap.Status.DmaError, 1))
    assert(host.memory.bursts.length == stopped, "a stopped engine makes a burst")
    reset(host)
  }

  scenario("makes no burst outside of its windows") { (host, dut) =>
    host.on(0, fourClusters, base = 0)
    host.window(0, 0, 0, reads = false, writes = false)
    host.window(2, Commands, Commands + 4096, writes = false)
    val before = host.memory.bursts.length
    host.write(RegMap.IrqEnable.Offset, 3)
    host.queue(alloc(0, 0))
    host.doorbell()
    host.until("the interrupt")(bit(dut.irq))
    host.settle()
    val status = RegMap.Status
    assert(host.read(status.Offset) == (put(status.DmaError, 1) | put(status.DmaRefused, 1)))
    // The command was read; its completion was not written.
    assert(host.memory.bursts.drop(before).toSeq == Seq((false, Commands + 64, 4)))
    assert(host.read(RegMap.StatDmaRefused.Offset) == 1)
    val refused = RegMap.DmaRefused
    assert(
      host.read(refused.Offset) ==
        (put(refused.Write, 1) | put(refused.Valid, 1) | put(refused.Addr, (Completions + 32) >> 3))
    )
    reset(host)
    for (i <- 0 until 8) assert(host.read(RegMap.DmaWindow.Base + 8 * i) == 0)
    assert(host.read(refused.Offset) == 0 && host.read(status.Offset) == 0)
  }

  scenario("ends RESET behind a bus that hangs, and takes no late answer for another") { (host, dut) =>
    val owed = RegMap.Status.BusOwed
    for (wait <- 0 until 24) {
      host.queue(HostCommand(OpcodeCode.Nop))
      host.queue(alloc(0, 0))
      host.doorbell()
      for (_ <- 0 until wait) host.step()
      host.memory.hold = true
      host.write(RegMap.CmdTail.Offset, BigInt(host.commands + 1))
      for (_ <- 0 until 60) host.step()
      val cycles = host.cycle
      reset(host)
      val took = host.cycle - cycles
      if (host.field(RegMap.Status.Offset, owed) == 1) {
        assert(took > (1 << p.resetTimeoutLog2) && took < 3 * (1 << p.resetTimeoutLog2), s"RESET took $took cycles")
        dut.idle.expect(false)
      }
      host.commands = 0
      host.clearCompletions()
      host.setUp()
      host.queue(HostCommand(OpcodeCode.Check, 2))
      host.doorbell()
      for (_ <- 0 until 100) host.step()
      assert(host.read(RegMap.StatCommands.Offset) == 0, "a command was fetched while the bus owed answers")
      host.memory.hold = false
      val done = host.completion(0)
      assert(done.opcode == OpcodeCode.Check && done.status == StatusCode.BadDevice)
      assert(host.field(RegMap.Status.Offset, owed) == 0)
      host.settle()
      reset(host)
      host.commands = 0
      host.clearCompletions()
      host.setUp()
    }
  }

  scenario("dumps what it holds of clusters, wherever the target lies") { (host, _) =>
    host.on(0, fourClusters, base = 2)
    val map = MemMap.ClusterState
    def dumps(target: Long, clusters: Int*): Unit = {
      for (i <- -1 to clusters.size * map.Bytes / 8) host.memory(target + 8 * i) = 0x5a5aL
      assert(host.ok(HostCommand(OpcodeCode.Dump, nr = clusters.size, arg0 = clusters.head, arg1 = target)).result == 0)
      assert(host.memory(target - 8) == 0x5a5aL && host.memory(target + map.Bytes * clusters.size) == 0x5a5aL)
    }
    def row(target: Long): BigInt =
      (0 until 8).map(w => AxiMemory.unsigned(host.memory(target + map.Bitmap.Offset + 8 * w)) << (64 * w)).sum
    def meta(target: Long): (Int, Int, Int) = {
      val word = AxiMemory.unsigned(host.memory(target))
      (get(word, map.Meta.Count).toInt, get(word, map.Meta.Order).toInt, get(word, map.Meta.Flag).toInt)
    }
    // Order 0 in the cluster of the header, order 6 in an empty one; of that a half is freed, then another one filled.
    for (_ <- 0 until 3) host.ok(alloc(0, 0))
    assert(host.ok(alloc(0, 6)).slot == 512)
    host.ok(HostCommand(OpcodeCode.Free, 0, nr = 32, arg0 = 512))
    assert(host.ok(alloc(1, 9)).slot == 1024)
    for (target <- Seq(Target, Target + 4096 - 80, Target + 4096 - 8)) {
      dumps(target, 2, 3, 4, 5)
      val half = (BigInt(1) << 64) - (BigInt(1) << 32)
      val expected = Seq(
        (BigInt(15), (4, 0, FlagCode.Frag)),
        (half, (32, 6, FlagCode.Nonfull)),
        ((BigInt(1) << 512) - 1, (512, 9, FlagCode.Full)),
        (BigInt(0), (0, 0, FlagCode.Free))
      )
      for (((slots, (count, order, flag)), c) <- expected.zipWithIndex) {
        assert(row(target + map.Bytes * c) == slots, s"the row of cluster ${c + 2}")
        assert(meta(target + map.Bytes * c) == ((count, order, flag)), s"cluster ${c + 2}")
      }
    }
    assert(host.ok(HostCommand(OpcodeCode.Dump, nr = 0, arg1 = Target)).result == 0)
    assert(host.ok(HostCommand(OpcodeCode.Check, 0)).slot == 0)
    assert(host.ok(alloc(0, 0)).slot == 4)

    // The second cluster goes where no window is: the engine stops behind that.
    host.window(1, Target, Target + 4096)
    host.window(0, 0, Target)
    host.queue(HostCommand(OpcodeCode.Dump, nr = 3, arg0 = 2, arg1 = Target + 4096 - MemMap.ClusterState.Bytes))
    host.doorbell()
    host.until("the error")(host.field(RegMap.Status.Offset, RegMap.Status.DmaRefused) == 1)
    host.settle()
    assert(meta(Target + 4096 - MemMap.ClusterState.Bytes)._1 == 5)
    assert(host.completion(host.commands - 1).status == StatusCode.BusError)
  }

  scenario("answers within some dozens of cycles", eager = 100) { (host, _) =>
    host.on(0, fourClusters, base = 0)
    host.settle()
    host.queue(HostCommand(OpcodeCode.Nop))
    val rung = host.cycle
    host.doorbell()
    host.completion(2)
    val nop = host.cycle - rung
    info(s"cycles: NOP $nop")
    assert(nop < 60)
  }

  it("does what a host may count on") {
    simulate(new HwSwap()(p))(tryAll)
  }
}
