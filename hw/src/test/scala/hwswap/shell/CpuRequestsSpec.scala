// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec
import hwswap.core.CoreOp

/** The CPU pages, with the test in the core's place. */
class CpuRequestsSpec extends AnyFunSpec with ChiselSim with Peeks with Cases[CpuRequests] {
  import RegisterAccess.{get, put}

  private implicit val p: Params = Params(cpus = 3, devices = 5)
  private val map = RegMap.CpuPage

  private class Bench(dut: CpuRequests) {
    private val regs = new RegisterAccess(dut.io.regs, () => dut.clock.step())
    regs.idle()
    for (b <- Seq(dut.io.core.req.ready, dut.io.core.resp.valid, dut.io.stop, dut.io.fault)) b.poke(false)
    restart(dut)

    def write(cpu: Int, offset: Int, data: BigInt, strobes: Int = 255): Unit =
      regs.write(map.Base + cpu * map.Stride + offset, data, strobes)
    def response(cpu: Int): BigInt = regs.read(map.Base + cpu * map.Stride + map.Response.Offset)
    def busy(cpu: Int): Boolean = get(response(cpu), map.Response.Busy) == 1

    /** Takes the request that comes within some cycles, if any does. */
    def asked(): Boolean = {
      var cycles = 0
      while (cycles < 20 && !bit(dut.io.core.req.valid)) {
        dut.clock.step()
        cycles += 1
      }
      val there = bit(dut.io.core.req.valid)
      dut.io.core.req.ready.poke(there)
      there
    }
    def answer(status: Int, device: Int = 0, offset: Int = 0): Unit = {
      dut.clock.step()
      dut.io.core.req.ready.poke(false)
      dut.io.core.resp.bits.status.poke(status)
      dut.io.core.resp.bits.device.poke(device)
      dut.io.core.resp.bits.offset.poke(offset)
      dut.io.core.resp.valid.poke(true)
      dut.io.core.resp.ready.expect(true)
      dut.clock.step()
      dut.io.core.resp.valid.poke(false)
    }
  }

  private def request(opcode: Int, seq: Int, order: Int = 0, device: Int = 0, nr: Int = 0): BigInt =
    put(map.Request.Opcode, opcode) | put(map.Request.Order, order) | put(map.Request.Type, device) |
      put(map.Request.Nr, nr) | put(map.Request.Seq, seq)

  inTurn("gives a lost reply again, and allocates nothing a second time") { dut =>
    val bench = new Bench(dut)
    val alloc = request(OpcodeCode.Alloc, seq = 9, order = 3)
    bench.write(1, map.Request.Offset, alloc)
    assert(bench.busy(1))
    assert(bench.asked())
    dut.io.core.req.bits.op.expect(CoreOp.alloc)
    dut.io.core.req.bits.cpu.expect(1)
    dut.io.core.req.bits.order.expect(3)
    // Written again while it is under way: the same request, once.
    bench.write(1, map.Request.Offset, alloc)
    dut.io.core.req.ready.poke(false)
    bench.answer(StatusCode.Ok, 4, 1024)
    val first = bench.response(1)
    assert(first == (put(map.Response.Slot, 1024) | put(map.Response.Type, 4) | put(map.Response.Seq, 9)))
    // Written again after it is finished.
    bench.write(1, map.Request.Offset, alloc)
    assert(!bench.asked())
    assert(bench.response(1) == first)
    // The next number is a new request.
    bench.write(1, map.Request.Offset, request(OpcodeCode.Alloc, seq = 10))
    assert(bench.asked())
    bench.answer(StatusCode.NoSpace)
    assert(get(bench.response(1), map.Response.Status) == StatusCode.NoSpace)
  }

  inTurn("takes a request in two halves, the upper one first") { dut =>
    val bench = new Bench(dut)
    val free = request(OpcodeCode.Free, seq = 5, device = 2, nr = 512)
    bench.write(2, map.Arg.Offset, 777)
    bench.write(2, map.Request.Offset, free, strobes = 0xf0)
    assert(!bench.asked())
    bench.write(2, map.Request.Offset, free, strobes = 0x0f)
    assert(bench.asked())
    dut.io.core.req.bits.op.expect(CoreOp.free)
    dut.io.core.req.bits.device.expect(2)
    dut.io.core.req.bits.nr.expect(512)
    dut.io.core.req.bits.offset.expect(777)
    bench.answer(StatusCode.Ok)
    assert(bench.response(2) == put(map.Response.Seq, 5))
  }

  inTurn("refuses what the core must not see") { dut =>
    val bench = new Bench(dut)
    val wrong = Seq(
      request(OpcodeCode.Check, 1) -> StatusCode.BadOpcode,
      request(OpcodeCode.Alloc, 2, order = p.orders) -> StatusCode.BadCpu,
      request(OpcodeCode.Free, 3, device = p.devices) -> StatusCode.BadDevice
    )
    for ((word, status) <- wrong) {
      bench.write(0, map.Request.Offset, word)
      assert(!bench.asked())
      assert(get(bench.response(0), map.Response.Status) == status)
      assert(get(bench.response(0), map.Response.Seq) == get(word, map.Request.Seq))
    }
  }

  inTurn("answers no request of a stopped engine out of the core") { dut =>
    val bench = new Bench(dut)
    def alloc(seq: Int): BigInt = request(OpcodeCode.Alloc, seq)
    val stopped = put(map.Response.Status, StatusCode.BusError)
    // The core has one that is right, and another waits.
    for (cpu <- 0 until 2) bench.write(cpu, map.Request.Offset, alloc(1))
    assert(bench.asked())
    val first = dut.io.core.req.bits.cpu.peek().litValue.toInt
    dut.clock.step()
    dut.io.core.req.ready.poke(false)
    dut.io.stop.poke(true)
    bench.answer(StatusCode.Ok, 4, 1024)
    assert(get(bench.response(first), map.Response.Slot) == 1024)
    assert(!bench.asked())
    assert(bench.response(1 - first) == (stopped | put(map.Response.Seq, 1)))
    dut.io.busy.expect(false)
    bench.write(0, map.Request.Offset, alloc(2))
    assert(!bench.asked())
    assert(bench.response(0) == (stopped | put(map.Response.Seq, 2)))
    // A wrong answer of the core does not reach the host.
    dut.io.stop.poke(false)
    bench.write(1, map.Request.Offset, alloc(3))
    assert(bench.asked())
    dut.clock.step()
    dut.io.core.req.ready.poke(false)
    dut.io.fault.poke(true)
    bench.answer(StatusCode.Ok, 4, 1024)
    assert(bench.response(1) == (stopped | put(map.Response.Seq, 3)))
  }

  inTurn("serves every CPU that asks") { dut =>
    val bench = new Bench(dut)
    for (cpu <- 0 until p.cpus) bench.write(cpu, map.Request.Offset, request(OpcodeCode.Alloc, seq = 1))
    val served = (0 until p.cpus).map { _ =>
      assert(bench.asked())
      val cpu = dut.io.core.req.bits.cpu.peek().litValue.toInt
      bench.answer(StatusCode.Ok, offset = 100 + cpu)
      cpu
    }
    assert(served.toSet == (0 until p.cpus).toSet)
    for (cpu <- 0 until p.cpus) assert(get(bench.response(cpu), map.Response.Slot) == 100 + cpu)
    dut.io.busy.expect(false)
  }

  it("answers what CPUs ask") {
    simulate(new CpuRequests)(tryAll)
  }
}
