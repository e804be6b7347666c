// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._

/** The registers of an engine without core: nothing but grants uses them. */
class GrantShell(implicit p: Params) extends HostSide {
  answer(Nil)
  registers.io.ofCore := 0.U.asTypeOf(registers.io.ofCore)
  registers.io.dmaError := host.refused.valid || host.grantsFailed
  stats.io.events.ofCore := 0.U.asTypeOf(stats.io.events.ofCore)
  host.idle := host.dmaIdle
}
