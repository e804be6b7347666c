// SPDX-License-Identifier: Apache-2.0
package hwswap
package store

import chisel3._

/** A clock that stands still in cycles in which `enable` is low at the end of its low half: a latch and an AND gate in
  * simulation, the primitive for it (DCCA) where Yosys makes an ECP5 netlist.
  */
class ClockGate extends ExtModule {
  val clockIn = IO(Input(Clock()))
  val enable = IO(Input(Bool()))
  val clockOut = IO(Output(Clock()))

  setInline(
    "ClockGate.sv",
    """|module ClockGate(
       |  input  clockIn,
       |  input  enable,
       |  output clockOut
       |);
       |`ifdef YOSYS
       |  DCCA gate(.CLKI(clockIn), .CE(enable), .CLKO(clockOut));
       |`else
       |  reg enabled;
       |  always_latch begin
       |    if (!clockIn)
       |      enabled = enable;
       |  end
       |  assign clockOut = clockIn & enabled;
       |`endif
       |endmodule
       |""".stripMargin
  )
}

object ClockGate {

  /** `clock`, held where `enable` is low. */
  def apply(clock: Clock, enable: Bool): Clock = {
    val gate = Module(new ClockGate)
    gate.clockIn := clock
    gate.enable := enable
    gate.clockOut
  }
}
