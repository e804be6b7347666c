// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util.log2Ceil

import scala.util.Random
import hwswap.bus.{Axi, Axi4, AxiLitePins, AxiMemory}

/** The whole engine, with its master as channels, as AxiMemory has it. */
class EngineUnderTest(implicit p: Params) extends Module {
  private val engine = Module(new HwSwap)
  val s_axil = IO(Flipped(new AxiLitePins(log2Ceil(RegMap.BarSize))))
  val axi = IO(new Axi4)
  val idle = IO(Output(Bool()))
  engine.s_axil <> s_axil
  idle := engine.idle

  private val pins = engine.m_axi
  axi.aw.valid := pins.awvalid
  axi.aw.bits.id := pins.awid
  axi.aw.bits.addr := pins.awaddr
  axi.aw.bits.len := pins.awlen
  pins.awready := axi.aw.ready
  axi.w.valid := pins.wvalid
  axi.w.bits.data := pins.wdata
  axi.w.bits.strb := pins.wstrb
  axi.w.bits.last := pins.wlast
  pins.wready := axi.w.ready
  pins.bvalid := axi.b.valid
  pins.bid := axi.b.bits.id
  pins.bresp := axi.b.bits.resp
  axi.b.ready := pins.bready
  axi.ar.valid := pins.arvalid
  axi.ar.bits.id := pins.arid
  axi.ar.bits.addr := pins.araddr
  axi.ar.bits.len := pins.arlen
  pins.arready := axi.ar.ready
  pins.rvalid := axi.r.valid
  pins.rid := axi.r.bits.id
  pins.rdata := axi.r.bits.data
  pins.rresp := axi.r.bits.resp
  pins.rlast := axi.r.bits.last
  axi.r.ready := pins.rready
}

/** A host of the whole engine: memory and registers.
  *
  * @param eager
  *   percentage of cycles in which memory is ready
  */
class EngineHost(dut: EngineUnderTest, random: Random, eager: Int) extends Peeks {
  import RegisterAccess.{get, put}

  val memory = new AxiMemory(dut.axi, random, eager, bytes = true)
  private val bus = dut.s_axil

  def step(): Unit = memory.step(dut.clock)

  /** Clocks until `condition`. */
  def until(what: String)(condition: => Boolean): Unit = waitFor(what, 20000)(condition)(step())

  def start(): Unit = {
    for (b <- Seq(bus.awvalid, bus.wvalid, bus.bready, bus.arvalid, bus.rready)) b.poke(false)
    // Take no beat that the memory of another host left on the bus.
    restart(dut)
    memory.after()
    settle()
  }

  /** Clocks until the engine has nothing to do. */
  def settle(): Unit = until("idle")(bit(dut.idle))

  def read(address: Int): BigInt = {
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

  def write(address: Int, data: BigInt): Unit = {
    bus.awaddr.poke(address)
    bus.wdata.poke(data.U)
    bus.wstrb.poke(255)
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

  /** Lets the engine make bursts up to the end of all that a window can have, or none, by a DMA window. */
  def window(open: Boolean): Unit = {
    val end = if (open) (BigInt(1) << Axi.AddrBits) - Axi.BoundaryBytes else BigInt(0)
    val limit = RegMap.DmaWindow.Limit
    val permission = BigInt(if (open) 1 else 0)
    write(RegMap.DmaWindow.Base + limit.Offset, end | put(limit.Read, permission) | put(limit.Write, permission))
  }
}
