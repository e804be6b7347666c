// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import scala.collection.mutable

/** The core's users: turns, and requests that are taken back. */
class CoreArbiterSpec extends AnyFunSpec with ChiselSim with Peeks with Seeded {
  private val users = 3

  private def reset(dut: CoreArbiter): Unit = {
    for (user <- dut.io.users) {
      user.req.valid.poke(false)
      user.resp.ready.poke(true)
    }
    dut.io.core.req.ready.poke(false)
    dut.io.core.resp.valid.poke(false)
    restart(dut)
  }

  it("hands the core no request that was taken back, and gives the next user its turn") {
    simulate(new CoreArbiter(users)(Params(devices = 1, cpus = 1, clusters = 8))) { dut =>
      reset(dut)
      for (waits <- 0 until 4) {
        dut.io.users(0).req.valid.poke(true)
        dut.clock.step(1 + waits)
        dut.io.core.req.valid.expect(true)
        dut.io.users(0).req.valid.poke(false)
        dut.io.core.req.valid.expect(false)
        dut.io.core.req.ready.poke(true)
        dut.clock.step()
        dut.io.busy.expect(false)

        dut.io.users(1).req.valid.poke(true)
        dut.clock.step()
        dut.io.core.req.valid.expect(true)
        dut.io.users(1).req.ready.expect(true)
        dut.clock.step()
        dut.io.users(1).req.valid.poke(false)
        dut.io.core.req.ready.poke(false)
        dut.io.core.resp.valid.poke(true)
        dut.io.users(1).resp.valid.expect(true)
        dut.io.users(0).resp.valid.expect(false)
        dut.clock.step()
        dut.io.core.resp.valid.poke(false)
        dut.io.busy.expect(false)
      }
    }
  }

  it("gives each answer to whose request it is of, in their order, whoever takes one back, with several in the core") {
    val random = seeded()
    simulate(new CoreArbiter(users)(Params(devices = 1, cpus = 1, clusters = 8))) { dut =>
      reset(dut)
      val answered = Array.fill(users)(0)
      val wants = Array.fill(users)(false)
      // The core: each request's user and number; it has room for so many.
      val room = 5
      val inCore = mutable.Queue.empty[(Int, Int)]
      var number, most = 0
      for (_ <- 0 until 4000) {
        for (i <- 0 until users) {
          wants(i) = if (wants(i)) random.nextInt(6) != 0 else random.nextInt(4) == 0
          dut.io.users(i).req.valid.poke(wants(i))
          dut.io.users(i).resp.ready.poke(random.nextInt(3) != 0)
        }
        dut.io.core.req.ready.poke(inCore.length < room && random.nextInt(3) != 0)
        dut.io.core.resp.valid.poke(inCore.nonEmpty && random.nextBoolean())
        dut.io.core.resp.bits.offset.poke(inCore.headOption.map(_._2).getOrElse(0))
        val taken = (0 until users).filter { i =>
          wants(i) && bit(dut.io.users(i).req.ready)
        }
        val fires = bit(dut.io.core.req.valid) && bit(dut.io.core.req.ready)
        assert(taken.length == (if (fires) 1 else 0), "the core takes one user's request, and that user knows")
        val ended = bit(dut.io.core.resp.valid) && bit(dut.io.core.resp.ready)
        val gets = (0 until users).filter { i =>
          bit(dut.io.users(i).resp.valid) && bit(dut.io.users(i).resp.ready)
        }
        assert(gets.length == (if (ended) 1 else 0))
        for (i <- gets) {
          assert(i == inCore.head._1)
          assert(dut.io.users(i).resp.bits.offset.peek().litValue == inCore.head._2)
          answered(i) += 1
        }
        dut.clock.step()
        if (ended) inCore.dequeue()
        for (i <- taken) {
          wants(i) = false
          inCore.enqueue((i, number))
          number += 1
        }
        most = most.max(inCore.length)
      }
      assert(most == room, "the core was never full")
      for (i <- 0 until users) assert(answered(i) > 50, s"user $i: ${answered(i)} answers")
    }
  }
}
