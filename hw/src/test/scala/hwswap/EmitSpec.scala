// SPDX-License-Identifier: Apache-2.0
package hwswap

import _root_.circt.stage.ChiselStage
import org.scalatest.funspec.AnyFunSpec
import hwswap.core.Core

/** The emitted SystemVerilog: contents that it must and must not have. */
class EmitSpec extends AnyFunSpec {
  private implicit val p: Params = Params(devices = 2, cpus = 1, clusters = 8)

  it("has the ports the harnesses look for") {
    val top = Emit.verilog(p, synthesis = false).split("module HwSwap\\(")(1).takeWhile(_ != ';')
    for (
      port <- Seq(
        "clock",
        "reset",
        "s_axil_awaddr",
        "s_axil_rready",
        "m_axi_awid",
        "m_axi_rlast",
        "irq",
        "idle",
        "passes"
      )
    )
      assert(top.matches(s"(?s).*\\b$port\\b.*"), port)
  }

  it("asserts in simulation alone") {
    assert(Emit.verilog(p, synthesis = false).contains("assert"))
    val synthesis = Emit.verilog(p, synthesis = true)
    assert(!synthesis.contains("assert") && !synthesis.contains("automatic"))
  }

  it("gives synthesis memories that are block RAM as they stand") {
    val synthesis = Emit.verilog(p, synthesis = true)
    def count(text: String): Int = text.r.findAllIn(synthesis).size
    val memories = count("""reg +(\[\d+:0\] +)?Memory\[""")
    assert(memories > 0 && count("""\(\* no_rw_check \*\)""") == memories)
    assert(count("""_R0_data_d0 <= Memory\[R0_addr\]""") > 5 && !synthesis.contains("_addr_d0"))
  }

  it("elaborates at the ends of what a size may be") {
    val ends = Seq(
      Params(devices = 1, cpus = 1, clusters = 8, resetTimeoutLog2 = 6),
      Params(devices = 32, cpus = 64, clusters = 65536, resetTimeoutLog2 = 32),
      Params(devices = 1, cpus = 1, clusters = 8, grants = true),
      Params(devices = 1, cpus = 1, clusters = 8, grants = true, core = false),
      Params(devices = 32, cpus = 64, clusters = 524288, grants = true, core = false)
    )
    for (size <- ends) {
      info(size.toString)
      ChiselStage.elaborate(new HwSwap()(size))
    }
    for (slots <- Seq(8, 256)) ChiselStage.elaborate(new Core()(Params(1, 1, clusters = 2, slots = slots)))
  }

  it("says what a size may be") {
    val wrong = Seq[(String, () => Params)](
      "devices is 33: choose 1 to 32" -> (() => Params(devices = 33)),
      "cpus is 0: choose 1 to 64" -> (() => Params(cpus = 0)),
      "clusters is 9: choose a power of two from 8 to 65536" -> (() => Params(clusters = 9)),
      "there is nothing left, choose one of the two" -> (() => Params(core = false)),
      "slots is 64: grants are of clusters of 512 slots" -> (() => Params(slots = 64, grants = true)),
      "clusters is 1048576: choose a power of two from 8 to 524288" ->
        (() => Params(clusters = 1048576, grants = true, core = false))
    )
    for ((sentence, make) <- wrong)
      assert(intercept[IllegalArgumentException](make()).getMessage.endsWith(sentence))
  }
}
