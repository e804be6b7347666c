// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Windows one after the other, as faults ask for them, against the kernel's arithmetic in plain numbers. */
class WindowSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private var previous, last = 0L

  /** First slot and number of slots; keeps the state as `swapin_nr_pages()` does. */
  private def expected(slot: Long, end: Long, pageCluster: Int, fixed: Boolean, hits: Long): (Long, Long) = {
    val most = 1L << pageCluster
    val pages =
      if (fixed || most == 1) most
      else {
        val byHits =
          if (hits > 0) Iterator.iterate(4L)(_ * 2).find(_ >= hits + 2).get
          else if ((slot - previous).abs == 1) 2L
          else 1L
        val size = byHits.min(most).max(last / 2)
        if (hits == 0) previous = slot
        last = size
        size
      }
    if (pages == 1) (slot, 1)
    else {
      val from = (slot / pages * pages).max(1)
      (from, (slot / pages * pages + pages).min(end) - from)
    }
  }

  it("is the kernel's, fault after fault") {
    val random = seeded()
    simulate(new Window) { dut =>
      dut.io.start.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      for (_ <- 0 until 1500) {
        val end = random.nextInt(6) match {
          case 0 => 2L + random.nextInt(700)
          case 1 => 0xffffffffL
          case _ => 1000000L
        }
        val slot = random.nextInt(4) match {
          case 0 if previous + 1 < end => previous + 1
          case 1 if previous > 1 && previous - 1 < end => previous - 1
          case 2 => 1 + (random.nextLong() >>> 1) % (end - 1).min(600)
          case _ => 1 + (random.nextLong() >>> 1) % (end - 1)
        }
        val pageCluster = random.nextInt(10)
        val fixed = random.nextInt(5) == 0
        val hits = random.nextInt(6) match {
          case 0 | 1 => 0L
          case 2 => random.nextInt(8).toLong
          case 3 => (1L << random.nextInt(11)) - random.nextInt(4).min(1)
          case 4 => random.nextInt(1024).toLong
          case _ => random.nextLong() >>> 33
        }
        dut.io.slot.poke(slot)
        dut.io.pages.poke(end)
        dut.io.setting.poke((BigInt(pageCluster) | BigInt(if (fixed) 16 else 0) | BigInt(hits) << 32).U)
        dut.io.start.poke(true)
        dut.clock.step()
        dut.io.start.poke(false)
        var cycles = 1
        while (!bit(dut.io.done)) {
          dut.clock.step()
          cycles += 1
          assert(cycles < 10, "a window does not come")
        }
        val (first, count) = expected(slot, end, pageCluster, fixed, hits)
        val asked = s"of slot $slot in $end, page_cluster $pageCluster, $hits hits, fixed $fixed"
        dut.io.first.expect(first, asked)
        dut.io.count.expect(count, asked)
        dut.io.previous.expect(previous, asked)
        dut.io.last.expect(last, asked)
        for (_ <- 0 until random.nextInt(3)) dut.clock.step()
      }
    }
  }
}
