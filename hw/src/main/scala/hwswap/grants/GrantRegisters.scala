// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._

/** Registers GRANT_...: where bitmaps and grants lie in host memory, and the host's changes of the table of devices. */
class GrantRegisters(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val regs = new RegPort

    /** CONTROL.ENABLE, and no fault. */
    val enable = Input(Bool())
    val settings = Output(new GrantSettings)
    val device = Decoupled(new DeviceChange)

    /** Pulse: an entry was written that there is no place for. */
    val refused = Output(Bool())

    /** Levels, and pulses, of the engine. */
    val readIdle, grantIdle = Input(Bool())
    val round, passed = Input(Bool())

    /** GRANT_STATE.PASSES. */
    val passes = Output(UInt(32.W))
  })
  import MapAccess.{get, word}
  private val write = io.regs.write
  private val file = new RegisterFile(io.regs)
  import file.{readOnly, readWrite}

  private val control = RegMap.GrantControl
  private val controlWord =
    readWrite(control.Offset, control.Read, control.Grant, control.Open, control.Pause, control.Pace)
  io.settings.read := io.enable && get(controlWord, control.Read).asBool
  io.settings.grant := io.enable && get(controlWord, control.Grant).asBool
  io.settings.open := get(controlWord, control.Open).asBool
  io.settings.pause := get(controlWord, control.Pause)
  io.settings.pace := get(controlWord, control.Pace)

  private def base(offset: Int, field: MapField): UInt = file.address(offset, field)
  io.settings.words := base(RegMap.GrantWordBase.Offset, RegMap.GrantWordBase.Addr)
  io.settings.cpuLines := base(RegMap.GrantLineBase.Offset, RegMap.GrantLineBase.Addr)
  io.settings.engineLine := base(RegMap.GrantNoRunBase.Offset, RegMap.GrantNoRunBase.Addr)
  io.settings.rings := base(RegMap.GrantRingBase.Offset, RegMap.GrantRingBase.Addr)
  require(GrantSettings.chunks <= RegMap.GrantChunk.Count, s"${p.clusters} clusters have too many chunks of bitmaps")
  for ((chunk, i) <- io.settings.chunks.zipWithIndex) {
    val register = RegMap.GrantChunk.Place
    chunk := base(RegMap.GrantChunk.Base + i * RegMap.GrantChunk.Stride + register.Offset, register.Addr)
  }

  // A device's entry waits here until it has taken effect.
  private val range = RegMap.GrantRange
  private val device = RegMap.GrantDevice
  private val rangeWord = readWrite(range.Offset, range.Base, range.Clusters)
  private val deviceWord = readWrite(
    device.Offset,
    device.Type,
    device.Live,
    device.File,
    device.Rotating,
    device.Epoch,
    device.Priority
  )
  private val busy = RegInit(false.B)
  private val asked = RegNext(write.valid && write.bits.starts(device.Offset), false.B)
  private val change = Reg(new DeviceChange)
  private val number = get(deviceWord, device.Type)
  private val known = number < p.devices.U
  private val clusters = get(rangeWord, range.Clusters)
  private val inside = clusters =/= 0.U && (get(rangeWord, range.Base) +& clusters) <= p.clusters.U
  private val live = get(deviceWord, device.Live).asBool
  io.refused := asked && !busy && (!known || (live && !inside))
  when(asked && !busy && known) {
    busy := true.B
    change.device := MapAccess.low(number, change.device)
    change.entry.live := live && inside
    change.entry.file := get(deviceWord, device.File).asBool
    change.entry.rotating := get(deviceWord, device.Rotating).asBool
    change.entry.base := MapAccess.low(get(rangeWord, range.Base), change.entry.base)
    change.entry.clusters := MapAccess.low(clusters, change.entry.clusters)
    change.entry.priority := get(deviceWord, device.Priority).asSInt
    change.entry.epoch := get(deviceWord, device.Epoch)
  }
  when(io.device.fire)(busy := false.B)
  io.device.valid := busy
  io.device.bits := change

  private val state = RegMap.GrantState
  private val rounds = RegInit(0.U(state.Rounds.width.W))
  private val passes = RegInit(0.U(state.Passes.width.W))
  io.passes := passes
  when(io.round)(rounds := rounds + 1.U)
  when(io.passed)(passes := passes + 1.U)
  readOnly(
    state.Offset,
    word(
      state.ReadIdle -> io.readIdle,
      state.GrantIdle -> io.grantIdle,
      state.DeviceBusy -> (busy || asked),
      state.RingLog2 -> Params.GrantRingLog2.U,
      state.Rounds -> rounds,
      state.Passes -> passes
    )
  )
  file.finish()
}
