// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3._
import chisel3.util._
import hwswap.core.DeviceInfo

/** The read-only registers that show the core's device table; devices that were not built read 0. */
class DeviceTable(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val regs = new RegPort
  })

  private val map = RegMap.Device
  private val strideLog2 = log2Ceil(map.Stride)
  private val tableLog2 = log2Ceil(map.Count * map.Stride)
  require(isPow2(map.Stride) && map.Base % (1 << tableLog2) == 0, "the device table is not aligned")

  val addr = io.regs.read.bits
  val ours = RegNext(
    addr >> tableLog2 === (map.Base >> tableLog2).U && addr(tableLog2 - 1, strideLog2) < p.devices.U,
    false.B
  )
  val isState = RegNext(addr(strideLog2 - 1, 0) === map.State.Offset.U, false.B)
  val index = RegNext(addr(strideLog2 + p.deviceBits - 1, strideLog2))
  val device = io.devices(if (p.devices == 1) 0.U else index)
  val size = MapAccess.word(map.Size.Pages -> device.pages, map.Size.Base -> device.base)
  val state = MapAccess.word(
    map.State.Used -> device.used,
    map.State.Priority -> device.priority.asUInt,
    map.State.Claimed -> device.claimed,
    map.State.Writeok -> device.writeok,
    map.State.Available -> device.available
  )
  io.regs.readData := RegNext(Mux(ours, Mux(isState, state, size), 0.U))
}
