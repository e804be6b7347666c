// SPDX-License-Identifier: Apache-2.0
package hwswap

import _root_.circt.stage.ChiselStage
import chisel3.RawModule
import mainargs.{arg, main, Flag, ParserForMethods}

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Paths}
import java.util.regex.Matcher
import scala.util.matching.Regex
import hwswap.core.CoreOp

/** Writes the engine as SystemVerilog. */
object Emit {

  /** For simulators: assertions inline, as plain `assert` statements. */
  val SimulationOptions: Seq[String] =
    Seq("--default-layer-specialization=enable", "--verification-flavor=immediate")

  /** For synthesis by Yosys: no assertions, neither variables inside of processes nor packed arrays. */
  val SynthesisOptions: Seq[String] =
    Seq("--default-layer-specialization=disable", "--lowering-options=disallowLocalVariables,disallowPackedArrays")

  private val commonOptions = Seq("--disable-all-randomization")

  /** The engine's SystemVerilog as one text; `locations`: with comments that name the lines it comes from. */
  def verilog(p: Params, synthesis: Boolean, locations: Boolean = false): String =
    text(new HwSwap()(p), synthesis, locations)

  /** A module's SystemVerilog, likewise. */
  def text(module: => RawModule, synthesis: Boolean, locations: Boolean = false): String = {
    val options = commonOptions ++ (if (locations) Seq.empty else Seq("--strip-debug-info")) ++
      (if (synthesis) SynthesisOptions else SimulationOptions)
    val text = ChiselStage.emitSystemVerilog(module, firtoolOpts = options.toArray)
    if (synthesis) blockRams(text) else text
  }

  /** The core's operations as C constants, for a harness that drives the core alone. */
  def operations: String = {
    // An operation prints as CoreOp(5=alloc).
    val lines = CoreOp.all.map { op =>
      s"#define HWSWAP_CORE_OP_${op.toString.split('=').last.stripSuffix(")")} ${op.litValue}"
    }
    lines.mkString("/* Numbers of CoreOp; made by Emit. */\n#pragma once\n", "\n", "\n")
  }

  /** Rewrites memories so that Yosys makes plain block RAM. Chisel promises nothing about a word that is read in the
    * cycle in which it is written; the way firtool writes memories, with a register before the address, would promise
    * the new word, and Yosys would put logic around each block RAM for that. So the register goes after the data, and
    * an attribute says that the two do not meet. The text is changed for that: no option of firtool moves the register,
    * and --repl-seq-mem leaves memories out altogether.
    */
  private def blockRams(text: String): String =
    ReadPort
      .replaceAllIn(
        text,
        m => s"""|  reg [${m.group(2).toInt - 1}:0] _R0_data_d0;
              |  always @(posedge R0_clk) begin
              |    if (R0_en)
              |      _R0_data_d0 <= Memory[R0_addr];
              |  end // always @(posedge)
              |${Matcher.quoteReplacement(m.group(1))}  assign R0_data = _R0_data_d0;
              |""".stripMargin
      )
      .replaceAll("(?m)^  reg (.*\\bMemory\\[)", "  (* no_rw_check *)\n  reg $1")

  /** A memory's read port as firtool writes it. */
  private val ReadPort: Regex =
    """  reg +_R0_en_d0;
      |  reg +(?:\[\d+:0\] +)?_R0_addr_d0;
      |  always @\(posedge R0_clk\) begin
      |    _R0_en_d0 <= R0_en;
      |    _R0_addr_d0 <= R0_addr;
      |  end // always @\(posedge\)
      |((?:.*\n)*?)  assign R0_data = _R0_en_d0 \? Memory\[_R0_addr_d0\] : (\d+)'bx;
      |""".stripMargin.r

  @main(doc = "Writes the engine to <target-dir>/HwSwap.sv, and for simulators core_ops.h beside it.")
  def emit(
      @arg(doc = "folder to write to; made when missing") targetDir: String,
      @arg(doc = "swap devices, 1 to 32") devices: Int = 8,
      @arg(doc = "CPUs, 1 to 64") cpus: Int = 4,
      @arg(
        doc = "clusters, a power of two from 8 to 65536; with --no-core to 524288"
      ) clusters: Int = 1024,
      @arg(doc = "what register BUILD reads, at most 16 hexadecimal digits") buildHash: String = "0",
      @arg(
        name = "reset-timeout-log2",
        doc = "cycles for which RESET waits for the bus, as a power of two exponent, 6 to 32"
      ) resetTimeoutLog2: Int = 20,
      @arg(doc = "with grants") grants: Flag,
      @arg(name = "no-core", doc = "with nothing but registers and grants; needs --grants") noCore: Flag,
      @arg(doc = "for Yosys: without assertions and local variables") synthesis: Flag,
      @arg(doc = "with comments that name the lines it comes from") locations: Flag
  ): Unit = {
    if (!buildHash.matches("[0-9a-fA-F]{1,16}"))
      fail(s"--build-hash is $buildHash: give 1 to 16 hexadecimal digits")
    val p = sizes(
      Params(
        devices,
        cpus,
        clusters,
        BigInt(buildHash, 16),
        resetTimeoutLog2 = resetTimeoutLog2,
        grants = grants.value,
        core = !noCore.value
      )
    )
    write(targetDir, "HwSwap.sv", verilog(p, synthesis.value, locations.value))
    if (!synthesis.value) write(targetDir, "core_ops.h", operations)
  }

  def main(args: Array[String]): Unit = run(ParserForMethods(this).runEither(args.toSeq))

  /** Sizes that were asked for, unless they make no sense. */
  private[hwswap] def sizes(p: => Params): Params =
    try p
    catch { case e: IllegalArgumentException => fail(e.getMessage.stripPrefix("requirement failed: ")) }

  /** Writes a file into a folder, which is made when missing. */
  private[hwswap] def write(targetDir: String, name: String, text: String): Unit = {
    val file = Paths.get(targetDir).resolve(name)
    try {
      Files.createDirectories(file.getParent)
      Files.write(file, text.getBytes(StandardCharsets.UTF_8))
    } catch {
      case e: java.io.IOException => fail(s"cannot write $file (${e.getMessage}): choose another --target-dir")
    }
    println(s"wrote $file")
  }

  /** The end of a program whose arguments were parsed, and carried out if they could be. */
  private[hwswap] def run(parsed: Either[String, Any]): Unit = parsed.left.foreach(fail)

  private def fail(sentence: String): Nothing = {
    Console.err.println(sentence)
    sys.exit(1)
  }
}
