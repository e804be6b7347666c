// SPDX-License-Identifier: Apache-2.0
package hwswap

import _root_.circt.stage.ChiselStage
import mainargs.{arg, main, Flag, ParserForMethods}

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Paths}

/** Writes the engine as SystemVerilog. */
object Emit {

  /** For simulators: assertions inline, as plain `assert` statements. */
  val SimulationOptions: Seq[String] =
    Seq("--default-layer-specialization=enable", "--verification-flavor=immediate")

  /** For synthesis by Yosys: no assertions, neither variables inside of processes nor packed arrays. */
  val SynthesisOptions: Seq[String] =
    Seq("--default-layer-specialization=disable", "--lowering-options=disallowLocalVariables,disallowPackedArrays")

  private val commonOptions = Seq("--disable-all-randomization", "--strip-debug-info")

  /** The engine's SystemVerilog as one text. */
  def verilog(p: Params, synthesis: Boolean): String =
    ChiselStage.emitSystemVerilog(
      new HwSwap(p),
      firtoolOpts = (commonOptions ++ (if (synthesis) SynthesisOptions else SimulationOptions)).toArray
    )

  @main(doc = "Writes the engine to <target-dir>/HwSwap.sv.")
  def emit(
      @arg(doc = "folder to write to; made when missing") targetDir: String,
      @arg(doc = "swap devices, 1 to 32") devices: Int = 8,
      @arg(doc = "CPUs, 1 to 16") cpus: Int = 4,
      @arg(doc = "clusters of the on-chip store, a power of two from 8 to 65536") clusters: Int = 1024,
      @arg(
        name = "hint-ring-log2",
        doc = "entries of a hint ring as a power of two exponent, 1 to 8"
      ) hintRingLog2: Int = 4,
      @arg(doc = "what register BUILD reads, at most 16 hexadecimal digits") buildHash: String = "0",
      @arg(doc = "for Yosys: without assertions and local variables") synthesis: Flag
  ): Unit = {
    if (!buildHash.matches("[0-9a-fA-F]{1,16}"))
      fail(s"--build-hash is $buildHash: give 1 to 16 hexadecimal digits")
    val p =
      try Params(devices, cpus, clusters, hintRingLog2, BigInt(buildHash, 16))
      catch { case e: IllegalArgumentException => fail(e.getMessage.stripPrefix("requirement failed: ")) }
    val file = Paths.get(targetDir).resolve("HwSwap.sv")
    try {
      Files.createDirectories(file.getParent)
      Files.write(file, verilog(p, synthesis.value).getBytes(StandardCharsets.UTF_8))
    } catch {
      case e: java.io.IOException => fail(s"cannot write $file (${e.getMessage}): choose another --target-dir")
    }
    println(s"wrote $file")
  }

  private def fail(sentence: String): Nothing = {
    Console.err.println(sentence)
    sys.exit(1)
  }

  def main(args: Array[String]): Unit =
    ParserForMethods(this).runEither(args.toSeq) match {
      case Left(message) => fail(message)
      case Right(_) => ()
    }
}
