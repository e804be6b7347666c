// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable
import scala.util.Random

/** Answers come out as they went in, whatever the pace of both sides. */
class AnswerQueueSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private implicit val p: Params = Params(devices = 3, cpus = 2, clusters = 16)

  /** An answer that differs from others in all its fields. */
  private def answer(random: Random): Seq[BigInt] = {
    val bits = new UnitResp
    bits.elements.values.toSeq.map(field => BigInt(field.getWidth, random))
  }

  // Per cent of the cycles in which an answer is offered, and in which one is taken.
  for ((offers, takes) <- Seq((100, 100), (50, 50), (90, 20), (20, 90), (100, 50)))
    it(s"keeps their order: offered in $offers % of the cycles, taken in $takes %") {
      val random = seeded()
      simulate(new AnswerQueue) { dut =>
        val enq = dut.io.enq.bits.elements.values.toSeq
        val deq = dut.io.deq.bits.elements.values.toSeq
        def poke(field: Data, value: BigInt): Unit = field match {
          case bit: Bool => bit.poke(value == 1)
          case number: UInt => number.poke(value.U)
          case other => fail(s"an answer has a field of another kind: $other")
        }
        def peek(field: Data): BigInt = field match {
          case bit: Bool => bit.peek().litValue
          case number: UInt => number.peek().litValue
          case other => fail(s"an answer has a field of another kind: $other")
        }
        val waiting = mutable.Queue.empty[Seq[BigInt]]
        var most, passed = 0
        // Whether an answer may come: by `room` one cycle ago, and by the time of the last one.
        var room, justCame = false
        for (cycle <- 1 to 800) {
          val offering = room && !justCame && random.nextInt(100) < offers
          val taking = random.nextInt(100) < takes
          val offered = answer(random)
          // Bits that are not valid mean nothing.
          for ((field, value) <- enq.zip(offered)) poke(field, value)
          dut.io.enq.valid.poke(offering)
          dut.io.deq.ready.poke(taking)
          withClue(s"cycle $cycle: ") {
            dut.io.deq.valid.expect(waiting.nonEmpty)
            dut.io.empty.expect(waiting.isEmpty)
            if (waiting.nonEmpty) assert(deq.map(peek) == waiting.head)
            room = bit(dut.io.room)
            assert(room || waiting.nonEmpty, "there is no room though nothing waits")
          }
          if (taking && waiting.nonEmpty) {
            waiting.dequeue()
            passed += 1
          }
          if (offering) waiting.enqueue(offered)
          justCame = offering
          most = most.max(waiting.size)
          dut.clock.step()
        }
        assert(passed > 100 && (most >= AnswerQueue.Places - 1 || offers / 2 < takes))
      }
    }
}
