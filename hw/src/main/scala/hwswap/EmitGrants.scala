// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util.Decoupled
import mainargs.{arg, main, Flag, ParserForMethods}

import hwswap.bus.AxiPins
import hwswap.grants.{DeviceChange, GrantEngine, GrantSettings}

/** The engine of grants alone, with pins. */
class GrantPins(implicit p: Params) extends Module {
  val settings = IO(Input(new GrantSettings))
  val axi = IO(new AxiPins)
  val device = IO(Flipped(Decoupled(new DeviceChange)))
  val round, passed, granted, readIdle, grantIdle, failed = IO(Output(Bool()))

  val engine = Module(new GrantEngine)
  engine.settings := settings
  axi.join(engine.axi)
  engine.device <> device
  engine.flush := false.B
  round := engine.round
  passed := engine.passed
  granted := engine.granted
  readIdle := engine.readIdle
  grantIdle := engine.grantIdle
  failed := engine.failed
}

/** Writes the engine of grants alone as SystemVerilog. */
object EmitGrants {
  @main(doc = "Writes the engine of grants to <target-dir>/GrantPins.sv.")
  def emit(
      @arg(doc = "folder to write to; made when missing") targetDir: String,
      @arg(doc = "swap devices, 1 to 32") devices: Int = 8,
      @arg(doc = "CPUs, 1 to 64") cpus: Int = 4,
      @arg(doc = "clusters, a power of two from 8 to 524288") clusters: Int = 1024,
      @arg(doc = "for Yosys: without assertions and local variables") synthesis: Flag
  ): Unit = {
    val p = Emit.sizes(Params(devices, cpus, clusters, grants = true, core = false))
    Emit.write(targetDir, "GrantPins.sv", Emit.text(new GrantPins()(p), synthesis.value))
  }

  def main(args: Array[String]): Unit = Emit.run(ParserForMethods(this).runEither(args.toSeq))
}
