// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._

/** The reader: TableWords for the words of a table, TableGive for addresses that the host gives. */
object TableReader extends ChiselEnum {
  val words, addresses = Value
}
