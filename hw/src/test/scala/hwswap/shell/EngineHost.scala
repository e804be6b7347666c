// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import org.scalatest.Assertions

import scala.util.Random
import hwswap.bus.{Axi, AxiMemory, AxiSignals}

/** A host of the whole engine: memory, registers and the command ring.
  *
  * @param eager
  *   chance, of 100, that memory is ready in a cycle
  * @param bytes
  *   the engine may write parts of a word, as marks want it
  */
class EngineHost(dut: HwSwap, random: Random, eager: Int = 70, bytes: Boolean = false) extends Peeks with Assertions {
  import EngineHost._

  val memory = new AxiMemory(AxiSignals(dut.m_axi), random, eager, bytes = bytes)
  var cycle: Long = 0

  /** Commands ever queued. */
  var commands: Long = 0

  def step(): Unit = {
    memory.before()
    dut.clock.step()
    memory.after()
    cycle += 1
  }

  /** Clocks until `condition`; the cycles that took. */
  def until(what: String, limit: Int = 20000)(condition: => Boolean): Long = {
    val start = cycle
    while (!condition) {
      assert(cycle - start < limit, s"$what does not come within $limit cycles")
      step()
    }
    cycle - start
  }

  def start(): Unit = {
    for (b <- Seq(dut.s_axil.awvalid, dut.s_axil.wvalid, dut.s_axil.bready, dut.s_axil.arvalid, dut.s_axil.rready))
      b.poke(false)
    // What another host's memory left on the bus is not this memory's.
    dut.reset.poke(true)
    dut.clock.step()
    dut.reset.poke(false)
    memory.after()
    until("idle")(bit(dut.idle))
  }

  def read(address: Int): BigInt = {
    val bus = dut.s_axil
    bus.araddr.poke(address)
    bus.arvalid.poke(true)
    bus.rready.poke(true)
    until("arready")(bit(bus.arready))
    step()
    bus.arvalid.poke(false)
    until("rvalid")(bit(bus.rvalid))
    val data = bus.rdata.peek().litValue
    bus.rresp.expect(0)
    step()
    bus.rready.poke(false)
    data
  }

  def write(address: Int, data: BigInt, strobes: Int = 255): Unit = {
    val bus = dut.s_axil
    bus.awaddr.poke(address)
    bus.wdata.poke(data.U)
    bus.wstrb.poke(strobes)
    bus.awvalid.poke(true)
    bus.wvalid.poke(true)
    bus.bready.poke(true)
    until("awready and wready")(bit(bus.awready) && bit(bus.wready))
    step()
    bus.awvalid.poke(false)
    bus.wvalid.poke(false)
    until("bvalid")(bit(bus.bvalid))
    bus.bresp.expect(0)
    step()
    bus.bready.poke(false)
  }

  def field(address: Int, f: MapField): BigInt = get(read(address), f)

  /** Sets the ring's addresses and size, and a window, then CONTROL. */
  def setUp(): Unit = {
    write(RegMap.CmdBase.Offset, Commands)
    write(RegMap.CplBase.Offset, Completions)
    write(RegMap.CmdSize.Offset, RingLog2)
    window(0, 0, Everything)
    val c = RegMap.Control
    write(c.Offset, put(c.Enable, 1) | put(c.TableWrites, 1))
  }

  /** Lets the engine make bursts from one address to before another, by a DMA window. */
  def window(number: Int, start: BigInt, limit: BigInt, reads: Boolean = true, writes: Boolean = true): Unit = {
    val map = RegMap.DmaWindow
    val base = map.Base + number * map.Stride
    write(base + map.Start.Offset, start)
    val permissions = put(map.Limit.Read, if (reads) 1 else 0) | put(map.Limit.Write, if (writes) 1 else 0)
    write(base + map.Limit.Offset, limit | permissions)
  }

  /** Puts a command into the ring, without the doorbell. */
  def queue(c: HostCommand): Unit = {
    val h = MemMap.Command.Head
    val at = Commands + MemMap.Command.Bytes * (commands % (1 << RingLog2))
    val head = put(h.Opcode, c.opcode) | put(h.Cpu, c.cpu) | put(h.Order, c.order) | put(h.Type, c.device) |
      put(h.Nr, c.nr) | put(h.Irq, if (c.irq) 1 else 0)
    memory(at) = head.toLong
    memory(at + MemMap.Command.Arg0.Offset) = c.arg0.toLong
    memory(at + MemMap.Command.Arg1.Offset) = c.arg1.toLong
    memory(at + MemMap.Command.Arg2.Offset) = c.arg2.toLong
    commands += 1
  }

  def doorbell(): Unit = write(RegMap.CmdTail.Offset, BigInt(commands))

  /** The completion ring as it is before its first lap. */
  def clearCompletions(): Unit =
    for (at <- 0 until MemMap.Completion.Bytes << RingLog2 by 8) memory(Completions + at) = 0

  private def info(number: Long): BigInt =
    AxiMemory.unsigned(
      memory(Completions + MemMap.Completion.Bytes * (number % (1 << RingLog2)) + MemMap.Completion.Info.Offset)
    )

  /** The completion of command `number`, once its phase is there. */
  def completion(number: Long): Done = {
    val i = MemMap.Completion.Info
    val phase = 1 - (number >> RingLog2 & 1)
    until(s"completion $number", 200000)(get(info(number), i.Phase) == phase)
    val word = info(number)
    assert(get(word, i.Index) == (number & 0xffff), "INDEX")
    val result = AxiMemory.unsigned(memory(Completions + MemMap.Completion.Bytes * (number % (1 << RingLog2))))
    Done(
      get(word, i.Status).toInt,
      get(result, MemMap.Completion.Result.Type).toInt,
      get(result, MemMap.Completion.Result.Slot).toLong,
      get(word, i.Opcode).toInt,
      get(word, i.Cycles).toLong,
      result
    )
  }

  /** One command, from the ring to its completion. */
  def run(c: HostCommand): Done = {
    queue(c)
    doorbell()
    completion(commands - 1)
  }

  def ok(c: HostCommand): Done = {
    val done = run(c)
    assert(done.status == StatusCode.Ok, s"status ${done.status} of $c")
    assert(done.opcode == c.opcode, "OPCODE")
    done
  }

  /** A solid-state device of so many pages, listed and with write permission. */
  def on(device: Int, pages: Int, base: Int): Unit = {
    ok(HostCommand.prepare(device, pages, base))
    ok(HostCommand(OpcodeCode.Swapon, device))
  }

  /** Clocks until the engine has nothing to do. */
  def settle(): Unit = until("idle", 200000)(bit(dut.idle))
}

object EngineHost {

  /** The end of all that windows can have. */
  val Everything: BigInt = (BigInt(1) << Axi.AddrBits) - Axi.BoundaryBytes
  val Commands: Long = 0x1000
  val Completions: Long = 0x2fc0
  val RingLog2: Int = 3
  val Target: Long = 0x20000

  def get(word: BigInt, f: MapField): BigInt = word >> f.lsb & ((BigInt(1) << f.width) - 1)
  def put(f: MapField, value: BigInt): BigInt = value << f.lsb
}

/** A command's fields. */
final case class HostCommand(
    opcode: Int,
    device: Int = 0,
    cpu: Int = 0,
    order: Int = 0,
    nr: Int = 0,
    arg0: BigInt = 0,
    arg1: BigInt = 0,
    arg2: BigInt = 0,
    irq: Boolean = false
)

object HostCommand {

  /** SWAPON_PREPARE of a solid-state block device of priority -1, at engine cluster `base`. */
  def prepare(device: Int, pages: Int, base: Int): HostCommand = {
    val flags = MemMap.DeviceFlags.Flags
    HostCommand(
      OpcodeCode.SwaponPrepare,
      device,
      arg0 = BigInt(pages) | BigInt(base) << 32,
      arg1 = EngineHost.put(flags.Blkdev, 1) | EngineHost.put(flags.Solidstate, 1),
      arg2 = 0xffff
    )
  }
}

/** A completion's fields, and RESULT as a whole. */
final case class Done(status: Int, device: Int, slot: Long, opcode: Int, cycles: Long, result: BigInt)
