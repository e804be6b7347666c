// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

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
    dut.reset.poke(true)
    dut.clock.step()
    dut.reset.poke(false)
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

  it("answers each user as often as its requests were taken, whoever takes one back") {
    val random = seeded()
    simulate(new CoreArbiter(users)(Params(devices = 1, cpus = 1, clusters = 8))) { dut =>
      reset(dut)
      val owed, answered = Array.fill(users)(0)
      val wants = Array.fill(users)(false)
      var atCore = false
      for (_ <- 0 until 4000) {
        for (i <- 0 until users) {
          wants(i) = if (wants(i)) random.nextInt(6) != 0 else random.nextInt(4) == 0
          dut.io.users(i).req.valid.poke(wants(i))
          dut.io.users(i).resp.ready.poke(random.nextInt(3) != 0)
        }
        dut.io.core.req.ready.poke(!atCore && random.nextInt(3) == 0)
        dut.io.core.resp.valid.poke(atCore && random.nextBoolean())
        val taken = (0 until users).filter { i =>
          wants(i) && bit(dut.io.users(i).req.ready)
        }
        val fires = bit(dut.io.core.req.valid) && bit(dut.io.core.req.ready)
        assert(taken.length == (if (fires) 1 else 0), "the core takes one user's request, and that user knows")
        val ended = bit(dut.io.core.resp.valid) && bit(dut.io.core.resp.ready)
        for (i <- 0 until users)
          if (bit(dut.io.users(i).resp.valid) && bit(dut.io.users(i).resp.ready))
            answered(i) += 1
        for (i <- taken) owed(i) += 1
        dut.clock.step()
        for (i <- taken) wants(i) = false
        atCore = if (fires) true else atCore && !ended
      }
      for (i <- 0 until users)
        assert(owed(i) - answered(i) <= 1 && owed(i) > 50, s"user $i: ${owed(i)}, ${answered(i)}")
    }
  }
}
