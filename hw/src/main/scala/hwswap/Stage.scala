// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** The register of a pipeline's stage, empty after reset. Its module says what it holds, and when. */
object Stage {
  def apply[T <: Data](gen: T): Valid[T] = {
    val empty = Wire(Valid(gen))
    empty.valid := false.B
    empty.bits := DontCare
    RegInit(empty)
  }
}
