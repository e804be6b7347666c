// SPDX-License-Identifier: Apache-2.0
package hwswap
package mirror

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import chisel3.util._
import org.scalatest.Assertions
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random
import hwswap.bus.{Axi4, AxiMemory, AxiSignals, Dma, DmaBase}
import hwswap.core.{CoreOp, CorePort}
import hwswap.shell.EngineHost

/** The hint rings with a DMA; the core is the test's. */
class HintRingsBench(implicit p: Params) extends Module {
  val rings = Module(new HintRings)
  val dma = Module(new Dma)
  val axi = IO(new Axi4)
  val job = IO(Flipped(Decoupled(new HintJob)))
  val done = IO(Valid(new JobResult))
  val core = IO(new CorePort)
  val settings = IO(Input(new Settings))
  val base = IO(Input(UInt(64.W)))
  val freeSlots = IO(Input(UInt(32.W)))
  val hintedSlots = IO(Input(UInt(32.W)))
  val progress = IO(Input(Bool()))
  val fillable = IO(Output(UInt((p.cpus * p.orders).W)))
  axi <> dma.io.axi
  dma.io.flush := false.B
  dma.io.lookup.address := base
  assert(dma.io.lookup.base === DmaBase.hints)
  dma.io.port <> rings.io.dma
  rings.io.job <> job
  done := rings.io.done
  core <> rings.io.core
  rings.io.settings := settings
  rings.io.freeSlots := freeSlots
  rings.io.hintedSlots := hintedSlots
  rings.io.progress := progress
  fillable := rings.io.fillable
}

/** Random fills, pops and recalls, against a model of every ring. */
class HintRingsSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private implicit val p: Params = Params(devices = 4, cpus = 2, clusters = 16, hintRingLog2 = 3)
  private val size = 1 << p.hintRingLog2

  /** A hint that is out: what it is, and whether it is still valid. */
  private final class Out(val device: Int, val slot: Int, val order: Int, var valid: Boolean = true)

  private class Host(dut: HintRingsBench, random: Random) extends Peeks with Assertions {
    val memory = new AxiMemory(AxiSignals(dut.axi), random, 60)

    /** Hints the core has given and not got back, by (device, slot). */
    val lent = mutable.Map.empty[(Int, Int), Int]
    var empty = false
    private var next = 1
    private var cycles = 0
    private var answering = false
    var lastGiven = Seq.empty[(Int, Int)]

    dut.settings.elements.foreach {
      case (_, b: Bool) => b.poke(false)
      case (_, u: UInt) => u.poke(0)
      case _ => ()
    }
    dut.base.poke(EngineHost.Hints)
    dut.settings.depthSlots.poke(64)
    dut.settings.capMin.poke(200)
    dut.settings.capShift.poke(6)
    dut.job.valid.poke(false)
    dut.core.req.ready.poke(false)
    dut.core.resp.valid.poke(false)
    dut.hintedSlots.poke(0)
    dut.freeSlots.poke(1000)
    dut.progress.poke(false)
    memory.after()
    dut.reset.poke(true)
    dut.clock.step()
    dut.reset.poke(false)

    def hinted: Int = lent.values.map(1 << _).sum

    /** One cycle, with the core's part. */
    def step(): Unit = {
      dut.core.req.ready.poke(!answering)
      dut.core.resp.valid.poke(answering)
      val request = dut.core.req
      if (!answering && bit(request.valid)) {
        val order = request.bits.order.peek().litValue.toInt
        if (request.bits.op.peek().litValue == CoreOp.hintAlloc.litValue) {
          dut.core.resp.bits.status.poke(if (empty) StatusCode.NoSpace else StatusCode.Ok)
          if (!empty) {
            val hint = (random.nextInt(p.devices), next)
            next += 1
            lent(hint) = order
            lastGiven :+= hint
            dut.core.resp.bits.device.poke(hint._1)
            dut.core.resp.bits.offset.poke(hint._2)
            dut.core.resp.bits.epoch.poke(hint._1 + 100)
          }
        } else {
          assert(request.bits.op.peek().litValue == CoreOp.release.litValue)
          val device = request.bits.device.peek().litValue.toInt
          assert(request.bits.epoch.peek().litValue == device + 100)
          val back = lent.remove((device, request.bits.offset.peek().litValue.toInt))
          assert(back.contains(order), "a hint is released that is not out, or as another order")
        }
        answering = true
      } else answering = false
      memory.before()
      dut.clock.step()
      memory.after()
      dut.hintedSlots.poke(hinted)
      cycles += 1
      assert(cycles < 200000, "a job does not end")
    }

    def run(
        kind: HintJobKind.Type,
        cpu: Int = 0,
        order: Int = 0,
        head: Long = 0,
        device: Int = 0,
        all: Boolean = false
    ): Int = {
      dut.job.bits.kind.poke(kind)
      dut.job.bits.cpu.poke(cpu)
      dut.job.bits.order.poke(order)
      dut.job.bits.head.poke(head)
      dut.job.bits.device.poke(device)
      dut.job.bits.all.poke(all)
      dut.job.valid.poke(true)
      lastGiven = Nil
      while (!bit(dut.job.ready)) step()
      step()
      dut.job.valid.poke(false)
      while (!bit(dut.done.valid)) step()
      val count = dut.done.bits.count.peek().litValue.toInt
      dut.done.bits.error.expect(false)
      step()
      count
    }

    def entry(cpu: Int, order: Int, number: Long): (Boolean, Boolean, Int, Int) = {
      val h = MemMap.Hint.Hint
      val at = EngineHost.Hints + 8 * ((cpu * p.orders + order) * size + number % size)
      val word = AxiMemory.unsigned(memory(at))
      def get(f: MapField): Int = EngineHost.get(word, f).toInt
      (get(h.Phase) == 1 - (number / size % 2), get(h.Valid) == 1, get(h.Type), get(h.Slot))
    }
  }

  it("keeps rings, memory and core in step") {
    val random = seeded()
    simulate(new HintRingsBench) { dut =>
      val host = new Host(dut, random)
      val rings = Array.fill(p.cpus, p.orders)(mutable.Queue.empty[Out])
      val heads = Array.fill(p.cpus, p.orders)(0L)
      for (turn <- 0 until 250) {
        val cpu = random.nextInt(p.cpus)
        val order = random.nextInt(p.orders)
        val ring = rings(cpu)(order)
        random.nextInt(10) match {
          case 0 =>
            val all = random.nextInt(4) == 0
            val device = random.nextInt(p.devices)
            val hit = rings.flatten.flatten.filter(o => o.valid && (all || o.device == device))
            assert(host.run(HintJobKind.recall, device = device, all = all) == hit.length, s"turn $turn")
            hit.foreach(_.valid = false)
          case 1 | 2 | 3 | 4 =>
            val count = random.nextInt(ring.length + 1)
            val popped = Seq.fill(count)(ring.dequeue())
            heads(cpu)(order) += count
            val released = host.run(HintJobKind.consume, cpu, order, head = heads(cpu)(order))
            assert(released == popped.count(_.valid), s"turn $turn")
          case _ =>
            val depth = (64 >> order).max(1).min(size)
            val before = host.hinted
            val made = host.run(HintJobKind.fill, cpu, order)
            assert(made == host.lastGiven.length)
            for ((device, slot) <- host.lastGiven) ring.enqueue(new Out(device, slot, order))
            assert(ring.length <= depth, s"turn $turn: deeper than $depth")
            assert(ring.length == depth || before + ((made + 1) << order) > 200, s"turn $turn: not filled up")
            assert(host.hinted <= 200.max(before), s"turn $turn: above the cap")
        }
        // What lies in memory is what is out, and nothing is out that the core was not asked for.
        for (c <- 0 until p.cpus; o <- 0 until p.orders) {
          for ((out, i) <- rings(c)(o).zipWithIndex) {
            val (there, valid, device, slot) = host.entry(c, o, heads(c)(o) + i)
            assert(there && valid == out.valid, s"turn $turn: ring ($c, $o) entry $i")
            if (valid) assert((device, slot) == ((out.device, out.slot)))
          }
          if (rings(c)(o).length < size)
            assert(!host.entry(c, o, heads(c)(o) + rings(c)(o).length)._1, s"turn $turn: an entry too many")
        }
        assert(host.lent.keySet == rings.flatten.flatten.filter(_.valid).map(o => (o.device, o.slot)).toSet)
      }
    }
  }

  it("does not try an order again that failed, until something happened") {
    simulate(new HintRingsBench) { dut =>
      val host = new Host(dut, seeded())
      host.empty = true
      assert(host.run(HintJobKind.fill, 1, 2) == 0)
      assert(!dut.fillable.peek().litValue.testBit(p.orders + 2))
      assert(dut.fillable.peek().litValue.testBit(2))
      dut.progress.poke(true)
      host.step()
      dut.progress.poke(false)
      assert(dut.fillable.peek().litValue.testBit(p.orders + 2))
    }
  }
}
