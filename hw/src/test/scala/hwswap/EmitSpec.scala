// SPDX-License-Identifier: Apache-2.0
package hwswap

import org.scalatest.funspec.AnyFunSpec

/** What the emitted SystemVerilog has and has not. */
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
        "round"
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

  it("has a gated clock and caches with clusters in DRAM alone") {
    val dram = p.copy(clusters = 8192, dram = Some(DramStore(8, 8, 2)))
    val text = Emit.verilog(dram, synthesis = true)
    assert(text.contains("module ClockGate") && text.contains("DCCA") && text.contains("module LineCache"))
    // Nothing on chip grows with the number of clusters.
    val deepest = """Memory\[0:(\d+)\]""".r.findAllMatchIn(text).map(_.group(1).toInt).max
    assert(deepest < 1024, s"a memory of ${deepest + 1} words")
    val onChip = Emit.verilog(p, synthesis = true)
    assert(!onChip.contains("ClockGate") && !onChip.contains("LineCache"))
  }

  it("says what a size may be") {
    val wrong = Seq[(String, () => Params)](
      "devices is 33: choose 1 to 32" -> (() => Params(devices = 33)),
      "cpus is 0: choose 1 to 64" -> (() => Params(cpus = 0)),
      "clusters is 9: choose a power of two from 8 to 65536" -> (() => Params(clusters = 9)),
      "grantRingLog2 is 7: choose 1 to 6" -> (() => Params(grantRingLog2 = 7)),
      "there is nothing left, choose one of the two" -> (() =>
        Params.grantsOnly(Params(grants = true)).copy(grants = false)
      ),
      "tables is there and core is false: it needs the core, leave out both" ->
        (() => Params.grantsOnly(Params(grants = true)).copy(tables = true))
    )
    for ((sentence, make) <- wrong)
      assert(intercept[IllegalArgumentException](make()).getMessage.endsWith(sentence))
  }
}
