// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random
import hwswap.bus.{Axi4, AxiMemory, Dma}
import hwswap.core.CorePort

/** The command ring with a DMA; core, other parts and settings are the test's. */
class CommandRingBench(implicit p: Params) extends Module {
  val axi = IO(new Axi4)
  val settings = IO(Input(new Settings))
  val base, completions = IO(Input(UInt(64.W)))
  val core = IO(new CorePort)
  val head = IO(Output(UInt(32.W)))
  val busy = IO(Output(Bool()))
  val irq = IO(Output(Bool()))

  val ring = Module(new CommandRing)
  val dma = Module(new Dma(CommandRing.Reader, CommandRing.Bursts))
  axi <> dma.io.axi
  dma.io.flush := false.B
  dma.io.port.read <> ring.io.fetchDma
  dma.io.port.write <> ring.io.completionDma

  // As the registers do: an error stops the ring until it is reset.
  val failed = RegInit(false.B)
  when(dma.io.error)(failed := true.B)
  ring.io.settings := settings
  ring.io.settings.cmdBase := base >> 3
  ring.io.settings.cplBase := completions >> 3
  ring.io.settings.enable := settings.enable && !failed
  ring.io.settings.stopped := settings.stopped || failed
  core <> ring.io.core
  head := ring.io.head
  busy := ring.io.busy
  irq := ring.io.irq

  // Each job ends in the cycle after its start.
  ring.io.table.ready := true.B
  ring.io.tableDone.valid := RegNext(ring.io.table.fire, false.B)
  ring.io.tableDone.bits.status := StatusCode.Ok.U
  ring.io.tableDone.bits.value := RegNext(ring.io.table.bits.slot ## ring.io.table.bits.op.asUInt.pad(32))
  ring.io.dump.ready := true.B
  ring.io.dumpDone.valid := RegNext(ring.io.dump.fire, false.B)
  ring.io.dumpDone.bits := StatusCode.BusError.U
}

/** Random commands through the ring: order, phases, numbers, doorbells of every size, a core of every speed. */
class CommandRingSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded with Cases[CommandRingBench] {
  import RegisterAccess.{get, put}

  private implicit val p: Params = Params(devices = 4, cpus = 2, clusters = 16)
  private val base = 0x1fc0L
  private val completions = 0x3ff0L

  /** Memory and core, each with a latency beside the random waiting. */
  private class Host(
      dut: CommandRingBench,
      random: Random,
      eager: Int,
      latency: Int = 0,
      coreWaits: Int = 12,
      val log2: Int = 4
  ) extends Peeks {
    val memory = new AxiMemory(dut.axi, random, eager, latency)
    val asked = mutable.Queue.empty[(BigInt, BigInt)]

    /** Requests that the core has not answered: the answer, and the cycle from which it may come. */
    private val inCore = mutable.Queue.empty[(BigInt, Int)]
    var most = 0
    var cycles = 0

    dut.settings.elements.foreach {
      case (_, b: Bool) => b.poke(false)
      case (_, u: UInt) => u.poke(0)
      case _ => ()
    }
    dut.settings.enable.poke(true)
    dut.base.poke(base)
    dut.completions.poke(completions)
    dut.settings.cmdLog2.poke(log2)
    dut.core.req.ready.poke(false)
    dut.core.resp.valid.poke(false)
    memory.after()
    restart(dut)

    /** One cycle, the core's part included: it takes requests at random times, several before it answers, and answers
      * OK with the request's number.
      */
    def step(): Unit = {
      val ready = inCore.length < 6 && random.nextInt(100) < eager
      dut.core.req.ready.poke(ready)
      val takes = ready && bit(dut.core.req.valid)
      val answer = inCore.headOption.filter(_._2 <= cycles).map(_._1)
      dut.core.resp.valid.poke(answer.nonEmpty)
      for (offset <- answer) {
        dut.core.resp.bits.status.poke(StatusCode.Ok)
        dut.core.resp.bits.device.poke(3)
        dut.core.resp.bits.offset.poke(offset.U)
      }
      if (answer.nonEmpty && bit(dut.core.resp.ready)) inCore.dequeue()
      if (takes) {
        val offset = dut.core.req.bits.offset.peek().litValue
        asked.enqueue((dut.core.req.bits.op.peek().litValue, offset))
        inCore.enqueue((offset, cycles + 1 + random.nextInt(coreWaits)))
        most = most.max(inCore.length)
      }
      memory.step(dut.clock)
      cycles += 1
      assert(cycles < 100000, "the ring stands still")
    }

    def write(number: Long, words: Seq[BigInt]): Unit =
      for ((word, i) <- words.zipWithIndex) memory(base + 32 * (number % (1 << log2)) + 8 * i) = word.toLong

    def info(number: Long): BigInt = AxiMemory.unsigned(memory(completions + 16 * (number % (1 << log2)) + 8))
    def result(number: Long): BigInt = AxiMemory.unsigned(memory(completions + 16 * (number % (1 << log2))))
    def done(number: Long): Boolean =
      get(info(number), MemMap.Completion.Info.Phase) == 1 - (number >> log2 & 1)
  }

  inTurn("completes every command in order, lap after lap") { dut =>
    val random = seeded()
    for ((eager, log2) <- Seq((100, 4), (40, 1), (70, 4))) {
      val host = new Host(dut, random, eager, log2 = log2)
      val h = MemMap.Command.Head
      val opcodes = Seq(0, 3, 6, 7, 8, 9, 10, 11, 12, 255)
      val expected = mutable.ArrayBuffer.empty[(Int, Int)]
      var checked = 0L
      var irqs = 0
      var askedIrqs = 0
      while (checked < 120) {
        // The host keeps at most a ring of commands under way.
        if (random.nextInt(4) == 0) {
          val room = (1 << host.log2) - (expected.length - checked).toInt
          for (_ <- 0 until random.nextInt(room + 1)) {
            val opcode = opcodes(random.nextInt(opcodes.length))
            val irq = random.nextInt(3)
            if (irq == 0) askedIrqs += 1
            val offset = random.nextInt(if (random.nextBoolean()) p.clusters else 1 << 16)
            val head = put(h.Opcode, opcode) | put(h.Irq, if (irq == 0) 1 else 0)
            host.write(expected.length, Seq(head, offset, 0, 0))
            val status =
              if (Seq(8, 9, 255).contains(opcode)) StatusCode.BadOpcode
              else if (opcode != OpcodeCode.Dump) StatusCode.Ok
              else if (offset > p.clusters) StatusCode.BadRange
              else StatusCode.BusError
            val slot =
              if (status != StatusCode.Ok) 0
              else if (Seq(OpcodeCode.Alloc, OpcodeCode.Check, OpcodeCode.DiscardTake).contains(opcode)) offset
              else 0
            expected += ((status, slot))
          }
          dut.settings.cmdTail.poke(expected.length)
        }
        host.step()
        if (bit(dut.irq)) irqs += 1
        while (checked < expected.length && host.done(checked)) {
          val info = host.info(checked)
          assert(get(info, MemMap.Completion.Info.Index) == checked)
          assert(get(info, MemMap.Completion.Info.Status) == expected(checked.toInt)._1, s"command $checked")
          assert(get(host.result(checked), MemMap.Completion.Result.Slot) == expected(checked.toInt)._2)
          checked += 1
        }
      }
      while (bit(dut.busy)) {
        host.step()
        if (bit(dut.irq)) irqs += 1
      }
      assert(dut.head.peek().litValue == expected.length)
      assert(irqs > 0 && irqs <= askedIrqs)
      assert(host.most > 1, "no two commands were in the core at once")
    }
  }

  private def allocs(host: Host, numbers: Range): Unit =
    for (number <- numbers) host.write(number, Seq(put(MemMap.Command.Head.Opcode, OpcodeCode.Alloc), number, 0, 0))

  inTurn("takes at most 6 cycles a command, with a memory of 16 cycles latency") { dut =>
    val random = seeded()
    val host = new Host(dut, random, eager = 100, latency = 16, coreWaits = 1, log2 = 6)
    val commands = 400
    for (number <- 0 until commands) {
      // As the driver of a full ring: one more for each that has completed.
      while (number - dut.head.peek().litValue.toInt >= (1 << host.log2)) host.step()
      host.write(number, Seq(put(MemMap.Command.Head.Opcode, OpcodeCode.Alloc), number, 0, 0))
      dut.settings.cmdTail.poke(number + 1)
    }
    while (dut.head.peek().litValue != commands) host.step()
    info(f"${host.cycles.toDouble / commands}%.2f cycles a command")
    assert(host.cycles <= 6 * commands)
    assert(host.asked.map(_._2.toInt) == (0 until commands))
  }

  inTurn("completes a command alone within some dozens of cycles") { dut =>
    val random = seeded()
    val host = new Host(dut, random, eager = 100)
    dut.settings.cmdTail.poke(1)
    info(s"cycles: NOP ${waitFor("the completion", 50)(host.done(0))(host.step())}")
  }

  inTurn("carries out no command of a transfer that ends in an error, wherever that is") { dut =>
    val random = seeded()
    val words = MapAccess.words(MemMap.Command.Bytes)
    for (wrong <- 0 until CommandFetch.Batch * words; eager <- Seq(100, 40)) {
      val host = new Host(dut, random, eager)
      allocs(host, 0 until 12)
      host.memory.bad = _ == base + 32 * CommandFetch.Batch + 8 * wrong
      // A good transfer, then the one with the error, then more good ones.
      dut.settings.cmdTail.poke(CommandFetch.Batch)
      while (!host.done(CommandFetch.Batch - 1)) host.step()
      dut.settings.cmdTail.poke(12)
      for (_ <- 0 until 400) host.step()
      assert(host.asked.map(_._2.toInt) == (0 until CommandFetch.Batch), s"an error at word $wrong")
      assert(!host.done(CommandFetch.Batch) && dut.head.peek().litValue == CommandFetch.Batch)
      dut.busy.expect(false)
    }
  }

  inTurn("begins no command after a stop, and ends the one under way") { dut =>
    val random = seeded()
    for (_ <- 0 until 30) {
      val host = new Host(dut, random, 30)
      allocs(host, 0 until 12)
      dut.settings.cmdTail.poke(12)
      val before = random.nextInt(9)
      while (host.asked.length < before) host.step()
      dut.settings.stopped.poke(true)
      dut.settings.enable.poke(false)
      val begun = host.asked.length
      for (_ <- 0 until 300) host.step()
      assert(host.asked.length == begun)
      assert(dut.head.peek().litValue == begun && (begun == 0 || host.done(begun - 1)) && !host.done(begun))
      dut.busy.expect(false)
    }
  }

  inTurn("fetches nothing while its ring has no size") { dut =>
    val random = seeded()
    val host = new Host(dut, random, 100)
    dut.settings.cmdLog2.poke(0)
    dut.settings.cmdTail.poke(1)
    for (_ <- 0 until 100) host.step()
    assert(host.memory.bursts.isEmpty)
    dut.busy.expect(false)
  }

  inTurn("fetches nothing while the tail is further ahead than the ring is long") { dut =>
    val random = seeded()
    val host = new Host(dut, random, 100)
    dut.settings.cmdTail.poke((1 << host.log2) + 1)
    for (_ <- 0 until 100) host.step()
    assert(host.memory.bursts.isEmpty)
    dut.busy.expect(false)
    dut.settings.cmdTail.poke(1)
    while (!host.done(0)) host.step()
  }

  it("carries commands out") {
    simulate(new CommandRingBench)(tryAll)
  }
}
