// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._

/** The read-only registers that show the core's device table; devices that were not built read 0. */
class DeviceTable(p: Params) extends Module {
  val io = IO(new Bundle {
    val devices = Input(Vec(p.devices, new DeviceInfo))
    val regs = new RegPort
  })

  private val map = RegMap.Device
  io.regs.readData := io.devices.zipWithIndex
    .flatMap { case (device, i) =>
      val base = map.Base + i * map.Stride
      Seq(
        (base + map.Size.Offset) -> MapAccess.word(
          map.Size.Pages -> device.pages,
          map.Size.Base -> device.base
        ),
        (base + map.State.Offset) -> MapAccess.word(
          map.State.Used -> device.used,
          map.State.Priority -> device.priority.asUInt,
          map.State.Claimed -> device.claimed,
          map.State.Writeok -> device.writeok,
          map.State.Available -> device.available,
          map.State.Epoch -> device.epoch
        )
      )
    }
    .map { case (offset, word) => Mux(io.regs.readAddr === offset.U, word, 0.U) }
    .reduce(_ | _)
}
