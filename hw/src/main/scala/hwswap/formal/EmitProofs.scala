// SPDX-License-Identifier: Apache-2.0
package hwswap
package formal

import chisel3.RawModule
import mainargs.{arg, main, ParserForMethods}

import hwswap.bus.{AxiGate, AxiLiteSlave}
import hwswap.core.{AvailableList, ClusterLists, Core, CoreOp, FreeRunFinder}

/** Writes parts of the engine, so small that a solver can look at all of their states, as SystemVerilog with their
  * assertions. The properties that are proved are in hw/formal.
  */
object EmitProofs {

  /** 64 slots make 7 orders, and a row of four words. */
  val Finder: Params = Params(devices = 1, cpus = 1, clusters = 2, slots = 64)

  /** A row of the engine's own size. */
  val FullFinder: Params = Params()

  /** 4 clusters are enough to have one that is neither first nor last with a neighbour on each side of it. */
  val Lists: Params = Params(devices = 1, cpus = 1, clusters = 4, slots = 8)
  val Available: Params = Params(devices = 4, cpus = 1, clusters = 8)
  val SmallCore: Params = Params(devices = 1, cpus = 1, clusters = 2, slots = 8)

  private def parts: Seq[(String, () => RawModule)] = Seq(
    "finder" -> (() => new FreeRunFinder()(Finder)),
    "full-finder" -> (() => new FreeRunFinder()(FullFinder)),
    "lists" -> (() => new ClusterLists()(Lists)),
    "available" -> (() => new AvailableList()(Available)),
    "core" -> (() => new Core()(SmallCore)),
    "gate" -> (() => new AxiGate),
    "axil" -> (() => new AxiLiteSlave)
  )

  /** The codes of requests to the core, as a package. */
  private def operations: String = {
    val codes = Seq(
      "Prepare" -> CoreOp.swaponPrepare,
      "Swapon" -> CoreOp.swapon,
      "Alloc" -> CoreOp.alloc,
      "Free" -> CoreOp.free
    )
    val lines = codes.map { case (name, code) =>
      s"  localparam logic [${CoreOp.getWidth - 1}:0] $name = ${code.litValue};"
    }
    ("package core_op;" +: lines :+ "endpackage").mkString("", "\n", "\n")
  }

  @main(doc = "Writes each part to a file of its name in <target-dir>, and operations.sv.")
  def emit(@arg(doc = "folder to write to; made when missing") targetDir: String): Unit = {
    for ((name, part) <- parts) Emit.write(targetDir, s"$name.sv", Emit.text(part(), synthesis = false))
    Emit.write(targetDir, "operations.sv", operations)
  }

  def main(args: Array[String]): Unit = Emit.run(ParserForMethods(this).runEither(args.toSeq))
}
