// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.util.Random
import hwswap.bus.{Axi4, AxiMemory, Dma}
import hwswap.core.DeviceInfo
import hwswap.RegisterAccess.get

/** Tables and their DMA on one AXI4 port; devices and commands are the test's. */
class TablesUnderTest(implicit p: Params) extends Module {
  val axi = IO(new Axi4)
  val io = IO(new Bundle {
    val regs = new RegPort
    val job = Flipped(chisel3.util.Decoupled(new TableJob))
    val done = chisel3.util.Valid(new TableResult)
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val flush = Input(Bool())
    val ready, busy, idle, error = Output(Bool())
    val events = Output(new TableEvents)
  })

  /** Resets the parts that CONTROL.RESET resets: not the DMA. */
  val clear = IO(Input(Bool()))
  private val tables = withReset(reset.asBool || clear)(Module(new Tables))
  private val dma = Module(new Dma(TableReader(), Tables.Bursts))
  dma.io.port <> tables.io.dma
  dma.io.flush := io.flush
  axi <> dma.io.axi
  io.regs <> tables.io.regs
  io.job <> tables.io.job
  io.done := tables.io.done
  tables.io.devices := io.devices
  tables.io.stop := false.B
  io.ready := tables.io.ready
  io.busy := tables.io.busy
  io.error := tables.io.error
  io.events := tables.io.events
  io.idle := dma.io.idle
}

/** Random jobs on random tables against the model above: answers, every word of memory; errors at every place;
  * resets under way; the cycles of whole tables.
  */
class TableUnitSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded with Cases[TablesUnderTest] {
  private val p = Params(devices = 3, cpus = 1, clusters = 32)

  /** Pages and base of the devices there are: device 1 is not. */
  private val devices = Map(0 -> ((7 * 512 - 100, 3)), 2 -> ((18 * 512 + 1, 11)))
  private val tablesAt = 0x100000L
  private val source = 0x40000L
  private val target = 0x50000L

  private class Bench(dut: TablesUnderTest, random: Random, eager: Int, latency: Int = 0) {
    val memory = new AxiMemory(dut.axi, random, eager, latency)
    val model = new TableModel(memory(_), devices)
    var cycle = 0L
    var errors, wordsRead, wordsWritten = 0

    private val regs = new RegisterAccess(dut.io.regs, () => step())
    regs.idle()
    dut.io.job.valid.poke(false)
    dut.io.flush.poke(false)
    dut.clear.poke(false)
    for ((device, i) <- dut.io.devices.zipWithIndex) {
      device.elements.values.foreach {
        case b: Bool => b.poke(false)
        case s: SInt => s.poke(0)
        case u: UInt => u.poke(0)
        case _ => ()
      }
      for ((pages, base) <- devices.get(i)) {
        device.claimed.poke(true)
        device.pages.poke(pages)
        device.base.poke(base)
      }
    }
    restart(dut)
    memory.after()
    while (!bit(dut.io.ready)) step()

    def step(): Unit = {
      if (bit(dut.io.error)) errors += 1
      if (bit(dut.io.events.wordsRead)) wordsRead += 1
      if (bit(dut.io.events.wordsWritten)) wordsWritten += 1
      memory.step(dut.clock)
      cycle += 1
    }

    def start(j: TableModelJob): Unit = {
      val job = dut.io.job.bits
      job.op.poke(j.op)
      job.device.poke(j.device)
      job.nr.poke(j.nr)
      job.slot.poke(j.slot)
      job.kinds.poke(j.kinds)
      job.arg1.poke(AxiMemory.unsigned(j.arg1).U)
      job.arg2.poke(AxiMemory.unsigned(j.arg2).U)
      dut.io.job.valid.poke(true)
      while (!bit(dut.io.job.ready)) step()
      step()
      dut.io.job.valid.poke(false)
    }

    /** Status, RESULT, and the cycles it took. */
    def run(j: TableModelJob): (Int, BigInt, Long) = {
      val from = cycle
      start(j)
      waitFor(s"the end of $j", 100000)(bit(dut.io.done.valid))(step())
      val out = (dut.io.done.bits.status.peek().litValue.toInt, dut.io.done.bits.value.peek().litValue)
      assert(bit(dut.io.idle) && memory.quiet, s"$j ended before its accesses")
      step()
      (out._1, out._2, cycle - from)
    }

    /** Runs a job that the model runs, too. */
    def same(j: TableModelJob): Long = {
      val before = memory.words.clone()
      val (status, value, changes) = model.run(j)
      val (gotStatus, gotValue, cycles) = run(j)
      assert((gotStatus, gotValue) == ((status, value)), s"of $j")
      before ++= changes
      for ((address, word) <- memory.words)
        assert(word == before.getOrElse(address, 0L), f"at $address%x after $j")
      for ((address, word) <- changes) assert(memory(address) == word, f"at $address%x after $j")
      cycles
    }

    def write(offset: Int, data: BigInt, strobes: Int = 255): Unit = regs.write(offset, data, strobes)
    def read(offset: Int): BigInt = regs.read(offset)

    /** A reset as ResetControl does it. */
    def reset(): Unit = {
      dut.io.flush.poke(true)
      dut.io.job.valid.poke(false)
      waitFor("the end of a flush", 5000)(bit(dut.io.idle))(step())
      dut.clear.poke(true)
      step()
      dut.clear.poke(false)
      dut.io.flush.poke(false)
      assert(memory.quiet)
      while (!bit(dut.io.ready)) step()
      model.directory.clear()
    }

    // Random tables and jobs

    /** A word of a kind, likely like those around it. */
    def word(): Long = {
      val count = if (random.nextInt(3) == 0) 0L else random.nextInt(16).toLong
      val flags = count << 60 | random.nextInt(2).toLong << 59
      val value = random.nextLong() & ((1L << 57) - 1)
      random.nextInt(12) match {
        case 0 | 1 | 2 => 0L
        case 3 | 4 | 5 => flags | value << 1 | 1
        case 6 | 7 | 8 => flags | value << 2 & ~(0x1fL << 59) | 2
        case 9 => ~7L
        case 10 => random.nextLong() & ~7L | 4
        case _ => (random.nextLong() & ~7L) | 1L << 40
      }
    }

    /** Runs of alike words, as those of a folio are. */
    def fillTable(address: Long): Unit = {
      var left = 512
      while (left > 0) {
        val run = 1 + random.nextInt(left.min(if (random.nextBoolean()) 200 else 5))
        val w = word()
        for (i <- 0 until run)
          memory(address + 8 * (512 - left + i)) = if ((w & 1) == 1) w + 2L * i else w
        left -= run
      }
    }

    /** Gives tables to clusters of a device, but not to all. */
    def give(device: Int, first: Int, count: Int): TableModelJob = {
      for (i <- 0 until count) {
        val at = tablesAt + 4096L * (devices(device)._2 + first + i)
        if (random.nextInt(4) == 0) memory(source + 8 * i) = 0
        else {
          fillTable(at)
          memory(source + 8 * i) = at
        }
      }
      TableModelJob(TableOp.give, device, count, 512L * first + random.nextInt(512), arg2 = source)
    }

    def draw(): TableModelJob = {
      val device = if (random.nextInt(30) == 0) 1 else if (random.nextBoolean()) 0 else 2
      val pages = devices.get(device).map(_._1).getOrElse(512)
      // Now and then at the device's ends, or past its end.
      val slot = random.nextInt(20) match {
        case 0 => 0L
        case 1 => pages - 1L
        case 2 => pages.toLong + random.nextInt(600)
        case _ => random.nextInt(pages).toLong
      }
      val room = (512 - slot % 512).min(pages - slot).max(1).toInt
      val nr = random.nextInt(12) match {
        case 0 => random.nextInt(1024)
        case 1 | 2 => room
        case _ => 1 + random.nextInt(room.min(1 << random.nextInt(10)))
      }
      val kinds = if (random.nextInt(3) == 0) 127 else random.nextInt(128)
      val to = random.nextInt(8) match {
        case 0 | 1 => 0L
        case 2 => target + 8 * (1 + random.nextInt(7))
        case _ => target + 64 * random.nextInt(100)
      }
      val job = TableModelJob(TableOp.lookup, device, nr, slot, kinds, 0, to)
      val pfn = random.nextLong() >>> (4 + random.nextInt(40))
      random.nextInt(10) match {
        case 0 => job
        case 1 => job.copy(op = TableOp.range)
        case 2 =>
          val limit = if (random.nextBoolean()) 0 else 1 + random.nextInt(4000)
          job.copy(op = TableOp.count, arg1 = limit)
        case 3 | 4 =>
          val few = if (random.nextBoolean()) kinds else 1 << random.nextInt(7)
          job.copy(
            op = TableOp.scan,
            kinds = few,
            arg1 = if (random.nextBoolean()) random.nextInt(9000).toLong | random.nextLong() << 32 else 0
          )
        case 5 => job.copy(op = TableOp.fill, arg1 = pfn)
        case 6 =>
          val shadow = if (random.nextInt(3) == 0) 0L else random.nextLong() | (if (random.nextInt(9) > 0) 1 else 0)
          job.copy(op = TableOp.clear, arg1 = shadow)
        case 7 =>
          // The page that is there, most of the time.
          val there = model.directory.get((device, (slot / 512).toInt)).map(t => memory(t + 8 * (slot % 512)))
          val page = there.map(_ & ~(0x1fL << 59)).map(_ >>> 2).getOrElse(0L) + (if (random.nextInt(5) == 0) 1 else 0)
          job.copy(op = TableOp.replace, arg1 = pfn, arg2 = page)
        case 8 => job.copy(op = TableOp.take, nr = 1 + random.nextInt(4))
        case _ =>
          if (device == 1) job
          else {
            val clusters = (pages + 511) / 512
            val first = random.nextInt(clusters)
            val j = give(device, first, 1 + random.nextInt((clusters - first).min(6)))
            if (random.nextInt(6) == 0) memory(source + 8 * random.nextInt(j.nr)) |= 8L << random.nextInt(9)
            j
          }
      }
    }
  }

  inTurn("does what the map says") { dut =>
    val random = seeded()
    for ((eager, latency) <- Seq((100, 20), (60, 3), (25, 0))) {
      val bench = new Bench(dut, random, eager, latency)
      // Before anything is given, nothing is read.
      bench.same(TableModelJob(TableOp.count, 2, arg2 = target))
      bench.same(TableModelJob(TableOp.take, 0, nr = 7))
      assert(bench.memory.bursts.forall(_._1), "reads without tables")
      bench.same(bench.give(0, 0, 7))
      bench.same(bench.give(2, 0, 19))
      for (_ <- 0 until 150) bench.same(bench.draw())
      bench.same(TableModelJob(TableOp.off, 2))
      for (slot <- Seq(0, 5000)) bench.same(TableModelJob(TableOp.lookup, 2, slot = slot))
      assert(bench.errors == 0)
    }
  }

  inTurn("ends in BUS_ERROR wherever the bus gives one, and goes on after a reset") { dut =>
    val random = seeded()
    val bench = new Bench(dut, random, 80, 4)
    for (round <- 0 until 40) {
      bench.reset()
      bench.same(bench.give(0, 0, 7))
      bench.same(bench.give(2, 0, 19))
      val errors = bench.errors
      // A random job until one touches the address that is wrong.
      val places = bench.model.directory.values.toSeq
      val wrong = round % 4 match {
        case 0 => target + 64 * random.nextInt(4) + 8 * random.nextInt(8)
        case _ => places(random.nextInt(places.length)) + 8 * random.nextInt(512)
      }
      bench.memory.bad = _ == wrong
      var status = StatusCode.Ok
      var tries = 0
      while (status != StatusCode.BusError && tries < 25) {
        val before = bench.memory.words.clone()
        val job = bench.draw() match {
          case j if (j.arg2 & 63) == 0 && j.op != TableOp.replace && j.arg2 != 0 => j.copy(arg2 = target)
          case j => j
        }
        if (job.op != TableOp.give) {
          val out = bench.run(job)
          status = out._1
          if (status == StatusCode.BusError) {
            assert(out._2 == 0)
            // Reads change nothing, not even after an error.
            if (!Seq(TableOp.fill, TableOp.clear, TableOp.replace, TableOp.take).contains(job.op))
              for ((address, word) <- bench.memory.words if address < target || address >= tablesAt)
                assert(word == before.getOrElse(address, 0L), f"at $address%x after $job")
          }
        }
        tries += 1
      }
      assert(bench.errors - errors == (if (status == StatusCode.BusError) 1 else 0))
      bench.memory.bad = _ => false
    }
  }

  inTurn("comes to rest on a reset at any moment, and begins anew") { dut =>
    val random = seeded()
    val bench = new Bench(dut, random, 70, 6)
    for (_ <- 0 until 40) {
      bench.reset()
      bench.same(bench.give(2, 0, 19))
      bench.start(bench.draw())
      for (_ <- 0 until random.nextInt(700)) bench.step()
      bench.reset()
      bench.same(TableModelJob(TableOp.lookup, 2, slot = 700))
      bench.same(bench.give(0, 0, 3))
      bench.same(TableModelJob(TableOp.count, 0, arg2 = target))
    }
  }

  inTurn("looks words up by register, between commands") { dut =>
    val random = seeded()
    val bench = new Bench(dut, random, 70, 5)
    val info = RegMap.LookupInfo
    bench.same(bench.give(0, 0, 7))
    bench.same(bench.give(2, 0, 19))
    for (seq <- 1 to 120) {
      val device = Seq(0, 2, 2, 1, 9)(random.nextInt(5))
      val slot = random.nextInt(19 * 512).toLong
      val asked = BigInt(slot) | BigInt(device) << 32 | BigInt(seq) << 48
      if (random.nextBoolean()) bench.write(RegMap.Lookup.Offset, asked)
      else {
        bench.write(RegMap.Lookup.Offset, asked, 0xf0)
        bench.write(RegMap.Lookup.Offset, asked, 0x0f)
      }
      // Another one meanwhile is ignored; a command is not disturbed.
      if (random.nextInt(3) == 0) bench.write(RegMap.Lookup.Offset, 77)
      if (random.nextBoolean()) bench.same(TableModelJob(TableOp.count, 0, slot = 3 * 512, arg2 = target))
      var state = bench.read(info.Offset)
      while (get(state, info.Busy) == 1 || get(state, info.Seq) != seq) state = bench.read(info.Offset)
      val (status, word, _) = bench.model.run(TableModelJob(TableOp.lookup, device, slot = slot))
      assert(get(state, info.Status) == status)
      assert(bench.read(RegMap.LookupEntry.Offset) == word)
      val kind = bench.model.kind(word.toLong)
      assert(get(state, info.Kind) == kind)
      val counted = kind >= 1 && kind <= 3
      assert(get(state, info.Count) == (if (counted) word >> 60 else 0))
      assert(get(state, info.Zero) == (if (counted) word >> 59 & 1 else 0))
    }
  }

  inTurn("works on 512 words at 90 % of a beat a cycle and more, with a latency of 20 cycles") { dut =>
    val random = seeded()
    val bench = new Bench(dut, random, 100, 20)
    val at = tablesAt
    for (i <- 0 until 16) bench.memory(source + 8 * i) = at + 4096 * i
    bench.same(TableModelJob(TableOp.give, 2, 16, arg2 = source))
    for (i <- 0 until 16; j <- 0 until 512) bench.memory(at + 4096 * i + 8 * j) = 3
    val tables = 16
    val beats = Seq[(String, TableModelJob, Int)](
      ("RANGE", TableModelJob(TableOp.range, 2, 512, arg2 = target), 512 + 64),
      ("COUNT of 16 tables", TableModelJob(TableOp.count, 2, arg1 = 512 * tables, arg2 = target), 512 * tables + 8),
      ("SCAN of 16 tables", TableModelJob(TableOp.scan, 2, kinds = 64, arg1 = 512 * tables), 512 * tables),
      ("FILL", TableModelJob(TableOp.fill, 2, 512, kinds = 2, arg1 = 1000), 1024),
      ("REPLACE", TableModelJob(TableOp.replace, 2, 512, arg1 = 5000, arg2 = 1000), 1024),
      ("CLEAR", TableModelJob(TableOp.clear, 2, 512, kinds = 127, arg1 = 1), 1024)
    )
    val figures = beats.map { case (name, job, words) =>
      val read = bench.wordsRead
      val cycles = bench.same(job)
      assert(bench.wordsRead > read)
      (name, words, cycles)
    }
    info(figures.map { case (name, words, cycles) => s"$name: $words words in $cycles cycles" }.mkString("; "))
    for ((name, words, cycles) <- figures) assert(words >= 0.9 * cycles, s"$name: $words words in $cycles cycles")
    val one = bench.same(TableModelJob(TableOp.lookup, 2, slot = 700))
    val none = bench.same(TableModelJob(TableOp.count, 0, arg2 = target))
    info(s"LOOKUP in $one cycles; COUNT of 7 clusters without table in $none")
  }

  it("works on swap tables") {
    simulate(new TablesUnderTest()(p))(tryAll)
  }
}
