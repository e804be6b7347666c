// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** Serves the rings (Grants of the golden model): reads each CPU line in turn, lets go what the host is done with,
  * grants clusters where there is room, and takes back what is no longer to be offered. It keeps the table of devices.
  */
class GrantBuilder(implicit p: Params) extends Module {
  import GrantLayout._
  val io = IO(new Bundle {
    val settings = Input(new GrantSettings)
    val memory = new BurstPort

    /** A device's new entry. `ready` in the cycle in which it has taken effect: what was granted of the device is taken
      * back, and if it is live it is in the index. Taken between two grants, also while grants are not enabled.
      */
    val device = Flipped(Decoupled(new DeviceChange))
    val devices = Output(Vec(p.devices, new GrantDevice))
    val changed = Output(Valid(UInt(p.deviceBits.W)))

    val request = Decoupled(new SummaryRequest)
    val answer = Flipped(Valid(new SummaryAnswer))
    val orders = Input(Vec(p.devices, UInt(Orders.W)))
    val spare = Input(Vec(p.devices, Bool()))

    /** Has the reader read a cluster that an entry done with was of, before it is let go: word and bitmap are those of
      * after HEAD when it is granted again. `ready` when the index has it.
      */
    val again = Decoupled(UInt(p.clusterBits.W))

    /** NO_RUN, as it is to be; looked at once a pass. */
    val noRun = Input(UInt(Orders.W))

    /** Pulses when all rings were looked at. */
    val pass = Output(Bool())

    /** The last pass that was finished had nothing to do, nor has the one under way. */
    val quiet = Output(Bool())

    /** Pulses with each entry written that grants something. */
    val granted = Output(Bool())
    val idle = Output(Bool())

    /** A pass, or a device's new entry, is under way. */
    val working = Output(Bool())
  })
  private val log2 = Params.GrantRingLog2
  private val room = 1 << log2

  /** Bits of a number of entries that the host is not done with: room + 1 at most. */
  private val outBits = log2 + 1
  private val ringBits = p.cpuBits + 4

  /** A ring: entries written, free running; of those the last `outs` are not done with. */
  private class Ring extends Bundle {
    val tail = UInt(32.W)
    val outs = UInt(outBits.W)
  }

  /** An entry that the host is not done with: the cluster it is of, unless it was taken back. */
  private class Out extends Bundle {
    val valid = Bool()
    val cluster = UInt(p.clusterBits.W)
    val device = UInt(p.deviceBits.W)
  }

  private object State extends ChiselEnum {
    val clear, idle, cpu, line, lineData, ringRead, ringArrive, ring, serve, choose, chosen, write, data, written, next,
        outRead, outArrive, out, again, drop, dropping, dropped, store, noRun, pass, pause, change, swept = Value
  }

  /** What is done to an entry: it is let go, as the host is done with it; written to grant a cluster; or, in going
    * through all of a ring, let go or taken back. Or NO_RUN is written.
    */
  private object Job extends ChiselEnum {
    val done, grant, reset, forget, recall, noRun = Value
  }
  private val state = RegInit(State.clear)
  private val job = Reg(Job())

  // Devices. One without clusters is not live.
  private val devices = RegInit(VecInit.fill(p.devices)(0.U.asTypeOf(new GrantDevice)))
  io.devices := devices
  private val changed = Reg(UInt(p.deviceBits.W))
  private val recalling = RegInit(false.B)

  private val chooser = Module(new DeviceChooser)
  chooser.io.devices := devices
  chooser.io.orders := io.orders
  chooser.io.spare := io.spare
  chooser.io.open := io.settings.open
  chooser.io.answer := io.answer
  chooser.io.start.valid := state === State.choose
  private val order = Reg(UInt(4.W))
  chooser.io.start.bits := order

  // Rings, and their entries. `out` is that which is looked at, with this number.
  private val cpu = RegInit(0.U(p.cpuBits.W))
  private val rings = SyncReadMem(1 << ringBits, UInt((new Ring).getWidth.W), SyncReadMem.Undefined)
  private val outs = SyncReadMem(1 << (ringBits + outBits), UInt((new Out).getWidth.W), SyncReadMem.Undefined)
  private val clearing = RegInit(0.U(ringBits.W))
  private val ring = Reg(new Ring)
  private val out = Reg(new Out)
  private val ringData = rings.read(cpu ## order, state === State.ringRead)
  private val first = ring.tail - ring.outs
  private val index = Reg(UInt(32.W))
  private val outData = outs.read(cpu ## order ## index(outBits - 1, 0), state === State.outRead)
  private val outWrite = WireDefault(false.B)
  private val outNew = WireDefault(out)
  when(outWrite)(outs.write(cpu ## order ## index(outBits - 1, 0), outNew.asUInt))
  when(state === State.clear || state === State.store)(
    rings.write(Mux(state === State.clear, clearing, cpu ## order), Mux(state === State.clear, 0.U, ring.asUInt))
  )

  // The CPU line as it was read; a word moves in behind the others.
  private val line = Reg(Vec(Words, UInt(Axi.DataBits.W)))
  private val want = line(WantWord)(Orders - 1, 0)
  private val head = VecInit((0 until 16).map { k =>
    if (k < Orders) line(HeadWord + k / 2)(32 * (k % 2) + 31, 32 * (k % 2)) else 0.U(32.W)
  })(order)
  private val lag = ring.tail - head
  private val astray = lag > room.U
  chooser.io.alone := lag === 0.U

  io.again.valid := state === State.again
  io.again.bits := out.cluster
  private val busy = Reg(Bool())
  private val rest = Reg(UInt(io.settings.pause.getWidth.W))

  // Summaries: the chooser's requests, or, when it does not choose, these.
  io.request <> chooser.io.request
  private val changedLives = At(devices, changed).live
  when(state === State.drop) {
    io.request.valid := true.B
    io.request.bits.op := SummaryOp.drop
    io.request.bits.cluster := out.cluster
  }
  when(state === State.change) {
    io.request.valid := changedLives
    io.request.bits.op := SummaryOp.sweep
    io.request.bits.device := changed
  }

  // Memory
  private val read = io.memory.read
  read.valid := state === State.line
  read.bits.id := 0.U
  read.bits.words := Words.U
  read.bits.address := io.settings.cpuLines + (cpu ## 0.U(CpuLineLog2.W))
  private val noRun = RegInit(0.U(Orders.W))
  private val write = io.memory.write
  write.valid := state === State.write
  write.bits.id := 0.U
  write.bits.words := 1.U
  write.bits.address := Mux(
    job === Job.noRun,
    io.settings.engineLine,
    io.settings.rings + entryOffset(cpu, order, index, log2)
  )

  // An entry grants, or the host skips it.
  private val granting = job === Job.grant
  private val device = At(devices, out.device)
  private val entryNew = Mux(
    granting,
    entry(out.cluster - device.base, out.device, order, device.epoch, true.B, index, log2),
    entry(0.U, 0.U(p.deviceBits.W), order, 0.U(EpochBits.W), false.B, index, log2)
  )
  io.memory.wdata.valid := state === State.data
  io.memory.wdata.bits.strb := Fill(Axi.DataBytes, true.B)
  io.memory.wdata.bits.data := Mux(job === Job.noRun, noRun, entryNew)

  io.pass := state === State.pass
  private val worked = RegInit(false.B)
  when(io.pass)(worked := busy)
  io.quiet := !worked && !recalling && !io.device.valid && state =/= State.clear &&
    (state === State.idle || !busy)
  io.idle := state === State.idle
  io.working := !state.isOneOf(State.clear, State.idle, State.pause)
  io.granted := state === State.written && io.memory.written.valid && granting
  io.device.ready := Mux(state === State.swept, io.answer.valid, state === State.change && !changedLives)
  io.changed.valid := false.B
  io.changed.bits := io.device.bits.device
  chooser.io.last.valid := io.changed.valid
  chooser.io.last.bits := io.device.bits.device

  /** On to the next ring. */
  private val lastRing = order === TopOrder.U
  private val lastCpu = cpu === (p.cpus - 1).U
  private def nextRing(): Unit = {
    state := State.ringRead
    order := order + 1.U
    when(lastRing) {
      order := 0.U
      cpu := Mux(lastCpu, 0.U, cpu + 1.U)
      when(recalling)(when(lastCpu)(state := State.change))
        .otherwise(state := Mux(lastCpu, State.noRun, State.cpu))
    }
  }

  /** Goes through the entries from the oldest on. */
  private def goThrough(what: Job.Type): Unit = {
    job := what
    index := first
    busy := true.B
    state := State.next
  }

  switch(state) {
    is(State.clear) {
      clearing := clearing + 1.U
      when(clearing.andR)(state := State.idle)
    }
    is(State.idle) {
      cpu := 0.U
      busy := false.B
      when(io.device.valid || io.settings.grant)(state := State.cpu)
    }

    // Between two CPUs: is there a device's new entry?
    is(State.cpu) {
      order := 0.U
      state := Mux(io.settings.grant || cpu =/= 0.U, State.line, State.idle)
      when(io.device.valid) {
        val now = At(devices, io.device.bits.device)
        now := io.device.bits.entry
        now.live := io.device.bits.entry.live && io.device.bits.entry.clusters =/= 0.U
        changed := io.device.bits.device
        io.changed.valid := true.B
        recalling := true.B
        cpu := 0.U
        state := State.ringRead
      }
    }
    is(State.line)(when(read.fire)(state := State.lineData))
    is(State.lineData) {
      when(io.memory.rdata.valid) {
        line := VecInit(line.tail :+ io.memory.rdata.bits.data)
        when(io.memory.rdata.bits.last)(state := State.ringRead)
      }
    }

    // A ring
    is(State.ringRead)(state := State.ringArrive)
    is(State.ringArrive) {
      ring := ringData.asTypeOf(ring)
      state := State.ring
    }
    is(State.ring) {
      when(recalling || !want(order)) {
        when(ring.outs === 0.U)(nextRing()).otherwise(goThrough(Mux(recalling, Job.recall, Job.forget)))
      }.elsewhen(astray) {
        // The host has counted past what was written: it begins anew.
        goThrough(Job.reset)
      }.otherwise(state := State.serve)
    }
    is(State.serve) {
      job := Job.done
      index := first
      // HEAD counts what was popped: the entry before it is the one in use, those before that are done with.
      when(ring.outs > lag + 1.U) {
        state := State.outRead
        busy := true.B
      }.elsewhen(lag < room.U && !io.device.valid) {
        index := ring.tail
        state := State.choose
      }.otherwise {
        state := State.store
      }
    }

    // The next entry's cluster: when it is chosen, no other ring gets it any more
    is(State.choose)(state := State.chosen)
    is(State.chosen) {
      when(chooser.io.done) {
        state := State.store
        when(chooser.io.found.valid) {
          out.valid := true.B
          out.cluster := chooser.io.found.bits
          out.device := chooser.io.device
          job := Job.grant
          busy := true.B
          state := State.write
        }
      }
    }

    // An entry, or NO_RUN: it goes on when CPUs see it
    is(State.write)(when(write.fire)(state := State.data))
    is(State.data)(when(io.memory.wdata.fire)(state := State.written))
    is(State.written) {
      when(io.memory.written.valid) {
        state := State.drop
        switch(job) {
          is(Job.grant) {
            outWrite := true.B
            ring.tail := ring.tail + 1.U
            ring.outs := ring.outs + 1.U
            state := State.serve
          }
          is(Job.recall)(state := State.dropped)
          is(Job.noRun)(state := State.pass)
        }
      }
    }

    // The entries that the host is not done with
    is(State.next) {
      state := State.outRead
      when(index === ring.tail) {
        state := Mux(job === Job.reset, State.serve, State.store)
        when(job =/= Job.recall)(ring.outs := 0.U)
        when(job === Job.reset)(ring.tail := head)
      }
    }
    is(State.outRead)(state := State.outArrive)
    is(State.outArrive) {
      out := outData.asTypeOf(out)
      state := State.out
    }
    is(State.out) {
      val there = ring.tail - index <= room.U
      state := State.dropped
      when(out.valid) {
        when(job === Job.done)(state := State.again)
          .elsewhen(job === Job.reset)(state := State.drop)
          .elsewhen(job === Job.forget)(state := Mux(there, State.write, State.drop))
          .elsewhen(out.device === changed)(state := Mux(there, State.write, State.dropped))
      }
    }
    is(State.again)(when(io.again.ready)(state := State.drop))
    is(State.drop)(when(io.request.fire)(state := State.dropping))
    is(State.dropping)(when(io.answer.valid)(state := State.dropped))
    is(State.dropped) {
      // A grant that is taken back stays in its place, and is of no cluster.
      index := index + 1.U
      when(job === Job.done) {
        ring.outs := ring.outs - 1.U
        state := State.serve
      }.otherwise {
        outWrite := true.B
        outNew.valid := out.valid && job === Job.recall && out.device =/= changed
        state := State.next
      }
    }

    is(State.store) {
      nextRing()
      when(!recalling && io.device.valid)(state := State.cpu)
    }

    // The end of a pass
    is(State.noRun) {
      job := Job.noRun
      noRun := io.noRun
      state := Mux(noRun === io.noRun, State.pass, State.write)
    }
    is(State.pass) {
      rest := io.settings.pause
      state := Mux(busy, State.idle, State.pause)
    }
    is(State.pause) {
      rest := rest - 1.U
      when(rest === 0.U || io.device.valid)(state := State.idle)
    }

    // A device's new entry has taken effect on the rings: now on the index
    is(State.change) {
      cpu := 0.U
      when(io.request.fire)(state := State.swept)
    }
  }
  when(io.device.ready) {
    recalling := false.B
    state := State.idle
  }

  when(state === State.write && granting) {
    assert(device.holds(out.cluster), "a grant is not of its device")
    assert(device.serves(order), "a grant is of a device that does not serve its order")
  }
  assert(state =/= State.drop && state =/= State.change || !chooser.io.request.valid, "two requests at once")
  assert(state =/= State.serve || ring.outs <= (room + 1).U, "a ring has more entries than it has places")
  assert(!io.device.valid || io.device.bits.device < p.devices.U, "there is no such device")
}
