// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._

/** Who reads: the words of a table go to the pipeline that looks at them, addresses that the host gives to who takes
  * them over.
  */
object TableReader extends ChiselEnum {
  val words, addresses = Value
}
