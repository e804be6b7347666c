// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import hwswap.bus.{Axi, Axi4}
import hwswap.store.{CachedClusterMemory, ClockGate, MemoryEvents}

/** A core whose clusters are in DRAM. The core is the same as with its clusters on chip; while something it wants is
  * missing in the caches its clock stands still, and nobody outside sees it take or give anything.
  *
  * Whether the clock stands still is the output of registers, so it is known early in the cycle. The clock gate is
  * a latch and an AND gate in simulation, and what the FPGA has for it there (DCCA on the ECP5).
  */
class DramCore(dram: DramStore)(implicit p: Params) extends Module {
  val io = IO(new CoreIO)
  val memory = IO(new Bundle {
    val axi = Vec(DramCore.Masters, new Axi4)

    /** Where the clusters are: an address in bytes, 4 KiB aligned. */
    val base = Input(UInt(Axi.AddrBits.W))

    /** Keep the core held and come to rest; `idle`: nothing is under way to or from memory. */
    val flush = Input(Bool())
    val idle = Output(Bool())

    /** A transfer was answered with an error (one cycle). The core is held from then on, until `clear`. */
    val error = Output(Bool())
    val events = Output(new MemoryEvents)
  })

  private val cached = withReset(reset.asBool || io.clear)(Module(new CachedClusterMemory(dram)))
  private val run = cached.io.run
  private val gated = ClockGate(clock, run || reset.asBool || io.clear)
  private val core = withClock(gated)(Module(new Core))
  core.memory.get <> cached.io.port
  core.io <> io
  core.io.req.valid := io.req.valid
  io.req.ready := core.io.req.ready && run
  io.resp.valid := core.io.resp.valid && run
  io.events := Mux(run, core.io.events, 0.U.asTypeOf(io.events))
  io.pool.event.valid := core.io.pool.event.valid && run

  // A new seed for random trunks comes for one cycle; a held core gets it when it goes on.
  private val reseeds = RegInit(false.B)
  private val reseed = io.policy.reseed || reseeds
  core.io.policy.reseed := reseed
  reseeds := reseed && !run && !io.clear

  memory.axi <> cached.io.axi
  cached.io.base := memory.base
  cached.io.flush := memory.flush
  memory.idle := cached.io.idle
  memory.error := cached.io.error
  memory.events := cached.io.events

  // What has been waited for since the last response, with the list moves that went on behind it.
  private val waits = RegInit(0.U(io.resp.bits.waits.getWidth.W))
  io.resp.bits.waits := waits
  when(io.resp.fire || io.clear) {
    waits := 0.U
  }.elsewhen(cached.io.events.waits && !waits.andR) {
    waits := waits + 1.U
  }
}

object DramCore {

  /** Masters of the caches: of bitmaps, and of records. */
  val Masters: Int = 2
}
