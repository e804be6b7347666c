// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._

/** NO_RUN (no_run() of the golden model): the orders for which no device that serves them has a cluster. */
class NoRun(implicit p: Params) extends Module {
  import GrantLayout.Orders
  val io = IO(new Bundle {
    val devices = Input(Vec(p.devices, new GrantDevice))

    /** Per device the orders for which it has a cluster. */
    val found = Input(Vec(p.devices, UInt(Orders.W)))

    /** A device has a new entry: nothing is said until its clusters were all looked at. */
    val changed = Input(Bool())

    /** The reader has finished a round. */
    val round = Input(Bool())
    val orders = Output(UInt(Orders.W))
  })

  // The round under way may have passed the device's clusters already.
  private val rounds = RegInit(0.U(2.W))
  when(io.round && rounds =/= 0.U)(rounds := rounds - 1.U)
  when(io.changed)(rounds := 2.U)

  private val none = VecInit.tabulate(Orders) { k =>
    !io.devices.zip(io.found).map { case (device, found) => device.serves(k.U) && found(k) }.reduce(_ || _)
  }
  io.orders := RegNext(Mux(rounds === 0.U, none.asUInt, 0.U))
}
