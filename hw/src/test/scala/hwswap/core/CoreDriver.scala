// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.simulator.Exceptions
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.{Informing, TestSuite}

/** A response of the core, the cycles from the request's acceptance to it, and the contents of a dump. */
final case class Answer(
    status: Int,
    device: Int,
    offset: Int,
    cycles: Int,
    dumped: Option[Dumped] = None
)

/** A cluster. */
final case class Dumped(bitmap: BigInt, flag: Int, order: Int, count: Int)(val next: Int, val prev: Int)

/** Drives a core, one request at a time. Each call is one request; `ok` wants it to succeed. */
class CoreDriver(val dut: Core, p: Params) extends Peeks {
  private val io = dut.io
  private def step(cycles: Int): Unit = dut.clock.step(cycles)
  val events: Seq[(String, Bool)] = Seq(
    "fast" -> io.events.allocFast,
    "nonfull" -> io.events.allocNonfull,
    "free" -> io.events.allocFree,
    "frag" -> io.events.allocFrag,
    "steal" -> io.events.allocSteal,
    "fail" -> io.events.allocFail,
    "freed" -> io.events.freed,
    "scan" -> io.events.scan,
    "move" -> io.events.listMove
  )

  /** Events of the last request, by name, with how often they came. */
  var seen: Map[String, Int] = Map.empty

  /** The cluster that is dumped. */
  private def dumped(): Dumped = {
    val bits = p.dumpBits
    val words = (0 until p.slots / bits).map { word =>
      io.dumped.bitmap.index.poke(word)
      io.dumped.bitmap.word.peek().litValue << (word * bits)
    }
    val meta = io.dumped.meta
    Dumped(words.sum, meta.flag.peek().litValue.toInt, int(meta.order), int(meta.count))(
      int(io.dumped.next),
      int(io.dumped.prev)
    )
  }

  /** A request with the fields that its operation needs. */
  private def request(op: CoreOp.Type)(fields: CoreReq => Unit): Answer = {
    io.req.bits.op.poke(op)
    fields(io.req.bits)
    io.req.valid.poke(true)
    waitFor("readiness", 2000)(bit(io.req.ready))(step(1))
    step(1)
    io.req.valid.poke(false)
    seen = Map.empty
    val cycles = 1 + waitFor("the answer", 200000)(bit(io.resp.valid)) {
      for ((name, event) <- events if bit(event))
        seen = seen.updated(name, seen.getOrElse(name, 0) + 1)
      step(1)
    }
    val resp = io.resp.bits
    val answer = Answer(
      int(resp.status),
      int(resp.device),
      int(resp.offset),
      cycles,
      Option.when(op == CoreOp.dump && resp.status.peek().litValue == StatusCode.Ok)(dumped())
    )
    io.resp.ready.poke(true)
    step(1)
    io.resp.ready.poke(false)
    answer
  }

  def ok(answer: Answer): Answer = {
    assert(answer.status == StatusCode.Ok, s"status ${answer.status}")
    answer
  }

  def prepare(
      device: Int,
      pages: Long,
      base: Long,
      flags: Int = CoreDriver.Ssd,
      priority: Int = -1,
      node: Int = 0
  ): Answer = request(CoreOp.swaponPrepare) { r =>
    r.node.poke(node)
    r.device.poke(device)
    r.pages.poke(pages)
    r.base.poke(base)
    r.flags.poke(flags)
    r.priority.poke(priority)
  }

  private def onDevice(op: CoreOp.Type, device: Int): Answer = request(op)(_.device.poke(device))
  def swapon(device: Int): Answer = onDevice(CoreOp.swapon, device)
  def swapoffBegin(device: Int): Answer = onDevice(CoreOp.swapoffBegin, device)
  def swapoff(device: Int): Answer = onDevice(CoreOp.swapoff, device)
  def check(device: Int): Answer = onDevice(CoreOp.check, device)

  def discardTake(device: Int): Answer = onDevice(CoreOp.discardTake, device)
  def discardDone(device: Int, offset: Long): Answer = onRange(CoreOp.discardDone, device, offset, 0)

  private def onRange(op: CoreOp.Type, device: Int, offset: Long, nr: Int): Answer = request(op) { r =>
    r.device.poke(device)
    r.offset.poke(offset)
    r.nr.poke(nr)
  }
  def markBad(device: Int, offset: Long, nr: Int): Answer = onRange(CoreOp.markBad, device, offset, nr)
  def free(device: Int, offset: Long, nr: Int): Answer = onRange(CoreOp.free, device, offset, nr)

  private def forCpu(op: CoreOp.Type, cpu: Int, order: Int): Answer = request(op) { r =>
    r.cpu.poke(cpu)
    r.order.poke(order)
  }
  def alloc(cpu: Int, order: Int): Answer = forCpu(CoreOp.alloc, cpu, order)

  def dump(cluster: Int): Answer = request(CoreOp.dump)(_.cluster.poke(cluster))

  /** A device of so many pages, listed and with write permission. */
  def on(
      device: Int,
      pages: Long,
      base: Long,
      flags: Int = CoreDriver.Ssd,
      priority: Int = -1,
      node: Int = 0
  ): Unit = {
    ok(prepare(device, pages, base, flags, priority, node))
    ok(swapon(device))
  }

  /** (device, offset) of an allocation that succeeds. */
  def place(answer: Answer): (Int, Int) = {
    ok(answer)
    (answer.device, answer.offset)
  }

  /** Fills the device's cluster up with single pages from its CPU's present place: so many allocations. */
  def take(cpu: Int, order: Int, times: Int): Seq[(Int, Int)] = Seq.fill(times)(place(alloc(cpu, order)))

  def used(device: Int): Int = io.devices(device).used.peek().litValue.toInt
  def available(device: Int): Boolean = bit(io.devices(device).available)
  def freeSlots: Int = io.freeSlots.peek().litValue.toInt

  /** The self-test of each device finds nothing, and no internal check has failed. */
  def sound(): Unit = {
    for ((line, device) <- io.devices.zipWithIndex if bit(line.claimed))
      assert(ok(check(device)).offset == 0, s"CHECK of device $device finds faults")
    io.fault.expect(false)
  }

  /** An allocation that is under way, and has found its slots, when the core is cleared. */
  def interruptedAlloc(cpu: Int, order: Int): Unit = {
    io.req.bits.op.poke(CoreOp.alloc)
    io.req.bits.cpu.poke(cpu)
    io.req.bits.order.poke(order)
    io.req.valid.poke(true)
    step(1)
    io.req.valid.poke(false)
    step(4)
    clear()
    step(20)
    io.resp.valid.expect(false)
  }

  /** Other rules than the kernel's, from the next request on. */
  def policy(
      scan: Int = 0,
      device: Int = 0,
      hint: Int = 0,
      placement: Int = 0,
      seed: Option[Long] = None
  ): Unit = {
    io.policy.seed.poke(seed.getOrElse(0L))
    io.policy.reseed.poke(seed.isDefined)
    if (seed.isDefined) step(1)
    io.policy.reseed.poke(false)
    io.policy.scan.poke(scan)
    io.policy.device.poke(device)
    io.policy.hint.poke(hint)
    io.policy.placement.poke(placement)
  }

  /** The node a CPU belongs to. */
  def node(cpu: Int, node: Int): Unit = io.nodes(cpu).poke(node)

  def clear(): Unit = {
    policy()
    io.clear.poke(true)
    step(1)
    io.clear.poke(false)
  }
}

object CoreDriver {

  /** Flags of a solid-state block device. */
  val Ssd: Int = (1 << MemMap.DeviceFlags.Flags.Blkdev.lsb) | (1 << MemMap.DeviceFlags.Flags.Solidstate.lsb)

  /** Flags of one that wants discards, and of a rotating block device. */
  val Discarding: Int = Ssd | (1 << MemMap.DeviceFlags.Flags.Discard.lsb)
  val Rotating: Int = 1 << MemMap.DeviceFlags.Flags.Blkdev.lsb
}

/** Tests of whole cores. */
trait CoreTest extends ChiselSim with Peeks with Cases[CoreDriver] { this: TestSuite with Informing =>

  /** One rule and its test, on a core that is cleared before; the core's self-test comes at the end. */
  protected def rule(name: String)(body: CoreDriver => Unit): Unit = inTurn(name) { core =>
    core.clear()
    body(core)
    core.sound()
  }

  /** Five devices, three CPUs, 16 clusters: numbers that are no power of two where they may be. */
  protected val small: Params = Params(devices = 5, cpus = 3, clusters = 16)

  protected def withCore(p: Params = small)(body: CoreDriver => Unit): Unit =
    simulate(new Core()(p)) { dut =>
      dut.io.req.valid.poke(false)
      dut.io.resp.ready.poke(false)
      dut.io.clear.poke(false)
      val core = new CoreDriver(dut, p)
      core.policy()
      body(core)
    }

  /** The body ends in the RTL assertion with this text. */
  protected def stopsWith(text: String)(body: => Unit): Unit = {
    val failure = intercept[Exceptions.AssertionFailed](body)
    assert(failure.getMessage.contains(text), failure.getMessage)
  }
}
