// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import org.scalatest.funspec.AnyFunSpec

/** The places of masters' identifiers on a shared bus; the engine's masters test that answers find their way back. */
class AxiMergeSpec extends AnyFunSpec {
  it("gives each master identifiers of its own, at a multiple of how many it has") {
    assert(AxiMerge.places(Seq(0, 0)) == Seq(0, 1))
    assert(AxiMerge.places(Seq(0, 0, 3)) == Seq(0, 1, 8))
    assert(AxiMerge.places(Seq(2, 0, 1, 3)) == Seq(0, 4, 6, 8))
  }

  it("says how many do not fit") {
    val sentence = intercept[IllegalArgumentException](AxiMerge.places(Seq(0, 3, 3))).getMessage
    assert(sentence.contains("0, 3, 3 bits do not fit in 4"))
  }
}
