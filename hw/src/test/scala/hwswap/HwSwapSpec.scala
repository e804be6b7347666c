// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.exceptions.TestFailedException
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import hwswap.shell.{EngineHost, HostCommand, HostHint, HostRecord}

/** The whole engine with its real core, seen from a host. One model, one test after the other; CONTROL.RESET in
  * between.
  */
class HwSwapSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  import EngineHost._

  private val p =
    Params(
      devices = 3,
      cpus = 2,
      clusters = 16,
      hintRingLog2 = 2,
      buildHash = BigInt("123456789abcdef0", 16),
      resetTimeoutLog2 = 8
    )
  private val flags = MemMap.DeviceFlags.Flags
  private val ssd = put(flags.Blkdev, 1) | put(flags.Solidstate, 1)
  private val fourClusters = 4 * 512

  private def prepare(device: Int, pages: Int, base: Int, epoch: Int = 0): HostCommand =
    HostCommand(
      OpcodeCode.SwaponPrepare,
      device,
      arg0 = BigInt(pages) | BigInt(base) << 32,
      arg1 = ssd,
      arg2 = BigInt(0xffff) | BigInt(epoch) << 16
    )

  private def alloc(cpu: Int, order: Int): HostCommand = HostCommand(OpcodeCode.Alloc, cpu = cpu, order = order)

  private def on(host: EngineHost, device: Int, base: Int, epoch: Int = 0): Unit = {
    host.ok(prepare(device, fourClusters, base, epoch))
    host.ok(HostCommand(OpcodeCode.Swapon, device))
  }

  private def reset(host: EngineHost): Unit = {
    host.write(RegMap.Control.Offset, BigInt(1) << RegMap.Control.Reset.lsb)
    host.until("the end of RESET")(host.field(RegMap.Control.Offset, RegMap.Control.Reset) == 0)
  }

  private type Body = (EngineHost, HwSwap) => Unit
  private val scenarios = mutable.ArrayBuffer.empty[(String, HwSwap => Unit)]

  /** One thing the engine does, tried on the engine fresh from reset with a memory of its own. */
  private def scenario(name: String, advisory: Boolean, hints: Boolean = false, depth: Int = 64, eager: Int = 70)(
      body: Body
  ): Unit = scenarios += name -> { dut =>
    val host = new EngineHost(dut, seeded(), eager)
    host.start()
    host.setUp(advisory, hints, depth)
    body(host, dut)
    assert(host.field(RegMap.Status.Offset, RegMap.Status.Fault) == 0, "STATUS.FAULT")
  }

  scenario("runs a device's life through the command ring, registers and CPU pages", advisory = false) { (host, _) =>
    assert(host.field(RegMap.Id.Offset, RegMap.Id.Magic) == RegMap.Id.Magic.reset)
    assert(host.read(RegMap.Build.Offset) == p.buildHash)
    assert(host.field(RegMap.Caps.Offset, RegMap.Caps.Clusters) == p.clusters)
    assert(host.read(0x3f8) == 0 && host.read(RegMap.CpuPage.Base + 15 * RegMap.CpuPage.Stride) == 0)

    on(host, 1, base = 4)
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

  scenario("refuses what is wrong, and says why", advisory = false, eager = 30) { (host, _) =>
    val wrong = Seq(
      HostCommand(99) -> StatusCode.BadOpcode,
      HostCommand(OpcodeCode.Dump) -> StatusCode.BadOpcode,
      HostCommand(OpcodeCode.Recall) -> StatusCode.BadOpcode,
      HostCommand(OpcodeCode.Resync) -> StatusCode.BadOpcode,
      HostCommand(OpcodeCode.Swapon, p.devices) -> StatusCode.BadDevice,
      HostCommand(OpcodeCode.Swapon, 1) -> StatusCode.BadDevice,
      alloc(p.cpus, 0) -> StatusCode.BadCpu,
      alloc(0, p.orders) -> StatusCode.BadCpu,
      HostCommand(OpcodeCode.Free, 0, nr = 1, arg0 = BigInt(1) << 33) -> StatusCode.BadRange,
      prepare(0, fourClusters, p.clusters - 3) -> StatusCode.BadRange,
      alloc(0, 0) -> StatusCode.NoSpace
    )
    for ((command, status) <- wrong) assert(host.run(command).status == status, s"of $command")
    assert(host.read(RegMap.StatCommands.Offset) == wrong.length)
    assert(host.read(RegMap.StatCommandErrors.Offset) == wrong.length - 1)
  }

  scenario("raises the interrupt, and stops at a DMA error until RESET", advisory = false) { (host, dut) =>
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
    assert(host.field(RegMap.HintDepth.Offset, RegMap.HintDepth.Slots) == RegMap.HintDepth.Slots.reset)
    assert(host.field(RegMap.CmdHead.Offset, RegMap.CmdHead.Head) == 0)
  }

  scenario("makes no burst outside of its windows", advisory = false) { (host, dut) =>
    on(host, 0, base = 0)
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

  scenario("ends RESET behind a bus that hangs, and takes no late answer for another", advisory = false) {
    (host, dut) =>
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
        host.setUp(advisory = false)
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
        host.setUp(advisory = false)
      }
  }

  scenario("mirrors what notices name, and dumps it", advisory = true) { (host, _) =>
    on(host, 0, base = 2, epoch = 5)
    assert(host.run(alloc(0, 0)).status == StatusCode.BadOpcode)
    host.settle()
    val random = seeded()
    val records = (2 until 6).map { c =>
      val bitmap = if (c == 2) BigInt(512, random) | 1 else BigInt(512, random)
      c -> HostRecord(bitmap, FlagCode.Nonfull, order = if (c == 2) 0 else 3, seq = 40 + c, epoch = 5)
    }
    for ((c, r) <- records) {
      host.record(c, r)
      host.notice(c % 2, c, r.seq)
    }
    // One that names no cluster, and one that is written while the engine reads it
    host.notice(0, p.clusters + 1, 1)
    host.settle()
    assert(get(host.engineLine(0), MemMap.EngineLine.Notice.NoticeHead) == 3)
    host.ok(HostCommand(OpcodeCode.Dump, nr = 4, arg0 = 2, arg1 = Target))
    for ((c, r) <- records; i <- 0 until 10)
      assert(
        host.memory(Target + 80 * (c - 2) + 8 * i) == host.memory(States + 80 * c + 8 * i),
        s"word $i of cluster $c of $r"
      )
    assert(host.read(RegMap.StatFetches.Offset) == 4)
    assert(host.read(RegMap.StatNotices.Offset) == 5)
    assert(host.ok(HostCommand(OpcodeCode.Check, 0)).slot == 0)

    // Overflow: the host asks to look at everything again.
    for ((c, r) <- records) host.record(c, r.copy(seq = r.seq + 1, bitmap = r.bitmap | 6))
    host.resync(1, 9)
    host.settle()
    assert(get(host.engineLine(1), MemMap.EngineLine.Notice.ResyncAck) == 9)
    host.ok(HostCommand(OpcodeCode.Dump, nr = 4, arg0 = 2, arg1 = Target))
    for ((c, _) <- records) assert(host.memory(Target + 80 * (c - 2)) == host.memory(States + 80 * c))

    // And by command
    for ((c, r) <- records) host.record(c, r.copy(seq = r.seq + 2))
    host.ok(HostCommand(OpcodeCode.Resync, 0))
    host.ok(HostCommand(OpcodeCode.Dump, nr = 4, arg0 = 2, arg1 = Target))
    for ((c, _) <- records) assert(host.memory(Target + 80 * (c - 2)) == host.memory(States + 80 * c))
    assert(host.run(HostCommand(OpcodeCode.Resync, 1)).status == StatusCode.BadDevice)
    assert(host.run(HostCommand(OpcodeCode.Dump, nr = 2, arg0 = p.clusters - 1)).status == StatusCode.BadRange)
  }

  scenario("reads a torn record again", advisory = true) { (host, _) =>
    on(host, 0, base = 0)
    host.settle()
    val map = MemMap.ClusterState
    host.record(1, HostRecord(BigInt(0xff), FlagCode.Nonfull, seq = 8))
    host.memory(States + map.Bytes + map.Tail.Offset) = 9
    var reads = 0
    host.memory.onRead = address =>
      if (address == States + map.Bytes) {
        reads += 1
        if (reads == 3) host.record(1, HostRecord(BigInt(0xfff), FlagCode.Nonfull, seq = 9))
      }
    host.notice(0, 1, 9)
    host.settle()
    assert(reads == 3)
    assert(host.read(RegMap.StatFetchRetries.Offset) == 2)
    host.ok(HostCommand(OpcodeCode.Dump, nr = 1, arg0 = 1, arg1 = Target))
    assert(host.memory(Target + 8) == 0xfff)
  }

  scenario(
    "makes hints when they are wanted, releases what was popped, recalls the rest",
    advisory = true,
    hints = true,
    depth = 8
  ) { (host, _) =>
    on(host, 2, base = 8, epoch = 3)
    host.settle()
    assert(host.hint(0, 0, 0, p.hintRingLog2).isEmpty)
    host.want(0, 0, 2)
    host.settle()
    // Depth 8 slots: 4 entries (the ring's size) of order 0, 2 of order 2.
    for (i <- 0 until 4)
      assert(host.hint(0, 0, i, p.hintRingLog2).contains(HostHint(valid = true, 0, 2, 3, 1L + i)))
    assert(host.hint(0, 2, 0, p.hintRingLog2).contains(HostHint(valid = true, 2, 2, 3, 512)))
    assert(host.hint(0, 2, 1, p.hintRingLog2).contains(HostHint(valid = true, 2, 2, 3, 516)))
    assert(host.hint(0, 2, 2, p.hintRingLog2).isEmpty)
    assert(host.field(RegMap.Usage.Offset, RegMap.Usage.Hinted) == 4 + 8)

    // Two taken by the kernel, then popped.
    host.record(8, HostRecord(BigInt(7), FlagCode.Frag, seq = 1, epoch = 3))
    host.notice(0, 8, 1)
    host.popped(0, 0, 2)
    host.settle()
    assert(host.read(RegMap.StatHintsUsedUp.Offset) == 2)
    assert(host.field(RegMap.Usage.Offset, RegMap.Usage.Hinted) == 4 + 8)
    for (i <- 2 until 6) assert(host.hint(0, 0, i, p.hintRingLog2).exists(h => h.valid && h.slot == 1L + i))

    // Recalled: void entries in their places, phases as before.
    host.want(0)
    host.settle()
    val recalled = host.ok(HostCommand(OpcodeCode.Recall, 2)).slot
    assert(recalled == 6)
    for (i <- 2 until 6) assert(host.hint(0, 0, i, p.hintRingLog2).exists(!_.valid))
    assert(host.field(RegMap.Usage.Offset, RegMap.Usage.Hinted) == 0)
    assert(host.ok(HostCommand(OpcodeCode.Recall, 31, arg0 = 1)).slot == 0)

    // The host pops the void ones; nothing is released twice; the ring goes on.
    host.popped(0, 0, 6)
    host.popped(0, 2, 2)
    host.want(0, 0)
    host.settle()
    assert(host.read(RegMap.StatHintsUsedUp.Offset) == 2)
    assert(host.hint(0, 0, 6, p.hintRingLog2).exists(_.valid))

    // SWAPOFF_BEGIN recalls by itself.
    host.ok(HostCommand(OpcodeCode.SwapoffBegin, 2))
    assert(host.field(RegMap.Usage.Offset, RegMap.Usage.Hinted) == 0)
    assert(host.hint(0, 0, 6, p.hintRingLog2).exists(!_.valid))
    host.settle()
    assert(host.ok(HostCommand(OpcodeCode.Check, 2)).slot == 0)
    host.ok(HostCommand(OpcodeCode.Swapoff, 2))
  }

  scenario("gives a ring up whose host popped more than there was", advisory = true, hints = true, depth = 2) {
    (host, _) =>
      on(host, 0, base = 0)
      host.want(1, 0)
      host.settle()
      assert(host.hint(1, 0, 1, p.hintRingLog2).exists(_.valid))
      host.popped(1, 0, 1000)
      host.settle()
      assert(host.field(RegMap.Usage.Offset, RegMap.Usage.Hinted) == 0)
      assert(host.read(RegMap.StatCommandErrors.Offset) == 1)
      assert(host.read(RegMap.StatHintsMade.Offset) == 2)
  }

  scenario("answers within some dozens of cycles", advisory = true, hints = true, depth = 4, eager = 100) { (host, _) =>
    on(host, 0, base = 0)
    host.settle()
    host.queue(HostCommand(OpcodeCode.Nop))
    val rung = host.cycle
    host.doorbell()
    host.completion(2)
    val nop = host.cycle - rung
    host.settle()
    host.record(1, HostRecord(BigInt(1), FlagCode.Nonfull, seq = 1))
    host.notice(0, 1, 1)
    var read = -1L
    val last = States + MemMap.ClusterState.Bytes + MemMap.ClusterState.Tail.Offset
    host.memory.onRead = address => if (address == last) read = host.cycle
    val noticed = host.cycle
    host.until("the fetch of the record", 1000)(read >= 0)
    val fetched = read - noticed
    host.settle()
    host.want(0, 0)
    val hinted = host.until("a hint", 1000)(host.hint(0, 0, 0, p.hintRingLog2).nonEmpty)
    info(s"cycles: NOP $nop, notice to its record $fetched, want to hint $hinted (poll interval 16)")
    assert(nop < 60 && fetched < 200 && hinted < 200)
  }

  it("does what a host may count on") {
    simulate(new HwSwap()(p)) { dut =>
      val broken = scenarios.toSeq.flatMap { case (name, body) =>
        try {
          body(dut)
          info(name)
          None
        } catch {
          case e: TestFailedException =>
            Some(s"${e.failedCodeFileNameAndLineNumberString.getOrElse("")} $name: ${e.getMessage}")
        }
      }
      assert(broken.isEmpty, broken.mkString("\n", "\n", ""))
    }
  }
}
