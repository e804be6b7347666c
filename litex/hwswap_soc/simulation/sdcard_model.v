// SPDX-License-Identifier: Apache-2.0
// The pins of a simulated SD card; what is behind them is sdcard_model.cpp. As the standard's default speed has it, the
// card looks at its inputs when the clock rises and changes its outputs when it falls.
module hwswap_sd_card (
    input  wire       clock,
    input  wire       host_cmd,
    input  wire       host_cmd_oe,
    input  wire [3:0] host_data,
    input  wire [3:0] host_data_oe,
    output reg        card_cmd,
    output reg        card_cmd_oe,
    output reg  [3:0] card_data,
    output reg  [3:0] card_data_oe,
    output reg        absent
);
  // lines: command, its enable, four of data, four of their enables, from bit 0 on; bit 10 of the result: no card.
  import "DPI-C" function int hwswap_sd_card_rise(input int lines);
  import "DPI-C" function int hwswap_sd_card_fall();

  integer lines;
  initial begin
    lines = hwswap_sd_card_fall();
    {absent, card_data_oe, card_data, card_cmd_oe, card_cmd} = lines[10:0];
  end
  always @(posedge clock)
    if (hwswap_sd_card_rise({22'b0, host_data_oe, host_data, host_cmd_oe, host_cmd}) != 0) $finish;
  always @(negedge clock) begin
    lines = hwswap_sd_card_fall();
    {absent, card_data_oe, card_data, card_cmd_oe, card_cmd} <= lines[10:0];
  end
endmodule
