// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import hwswap.bus.Dma
import hwswap.core.Policy

object Settings {

  /** Sizes of the command ring that an engine takes, as powers of two. */
  val CmdLog2: Range = 1 to 12
}

/** The host's settings, by register field; widths as in the map. */
class Settings extends Bundle {
  val enable, tableWrites = Bool()

  /** An error has switched the engine off, until RESET: no command is begun. */
  val stopped = Bool()

  /** That error is one of the core: none of its answers is true. */
  val fault = Bool()

  /** The addresses of commands and completions, in 64-bit words. */
  val cmdBase, cplBase = UInt(Dma.AddrBits.W)

  /** 0: there is no ring. */
  val cmdLog2 = UInt(RegMap.CmdSize.Log2.width.W)
  val cmdTail = UInt(RegMap.CmdTail.Tail.width.W)
  val policy = new Policy
}
