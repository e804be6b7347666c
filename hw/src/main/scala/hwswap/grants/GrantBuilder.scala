// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** Serves the rings (Grants of the golden model): reads each CPU line in turn, lets go what the host is done with,
  * makes grants where there is room, and takes back what is no longer to be offered. It keeps the table of devices.
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

    /** The reader has finished a round. */
    val round = Input(Bool())

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

  /** A ring: entries written, free running; of those the last `outs` are not done with; and the cluster that the next
    * entry is of, and the word it begins at.
    */
  private class Ring extends Bundle {
    val tail = UInt(32.W)
    val outs = UInt(outBits.W)
    val owns = Bool()
    val own = UInt(p.clusterBits.W)
    val device = UInt(p.deviceBits.W)
    val word = UInt(3.W)
  }

  /** An entry that the host is not done with: the cluster it is of, unless it was taken back. */
  private class Out extends Bundle {
    val valid = Bool()
    val cluster = UInt(p.clusterBits.W)
    val device = UInt(p.deviceBits.W)
  }

  private object State extends ChiselEnum {
    val clear, idle, cpu, line, lineData, ringRead, ringArrive, ring, serve, choose, chosen, owned, askBitmap, bitmap,
        learn, learned, leave, left, word0, data0, answer0, word1, data1, answer1, hold, held, next, outRead, outArrive,
        out, again, drop, dropping, dropped, store, noRun, noRunData, noRunAnswer, pass, pause, change, swept = Value
  }

  /** Why all entries of a ring are gone through. */
  private object Why extends ChiselEnum {
    val done, reset, forget, recall = Value
  }
  private val state = RegInit(State.clear)
  private val why = Reg(Why())

  // Devices. One without clusters is not live.
  private val devices = RegInit(VecInit.fill(p.devices)(0.U.asTypeOf(new GrantDevice)))
  io.devices := devices
  private val changed = Reg(UInt(p.deviceBits.W))
  private val recalling = RegInit(false.B)
  private val unsettled = RegInit(0.U(2.W))
  when(io.round && unsettled =/= 0.U)(unsettled := unsettled - 1.U)

  private val chooser = Module(new DeviceChooser)
  chooser.io.devices := devices
  chooser.io.orders := io.orders
  chooser.io.spare := io.spare
  chooser.io.open := io.settings.open
  chooser.io.answer := io.answer
  chooser.io.start.valid := state === State.choose
  private val order = Reg(UInt(4.W))
  chooser.io.start.bits := order

  // Rings, and their entries.
  private val cpu = RegInit(0.U(p.cpuBits.W))
  private val rings = SyncReadMem(1 << ringBits, UInt((new Ring).getWidth.W), SyncReadMem.Undefined)
  private val outs = SyncReadMem(1 << (ringBits + outBits), UInt((new Out).getWidth.W), SyncReadMem.Undefined)
  private val clearing = RegInit(0.U(ringBits.W))
  private val ring = Reg(new Ring)
  private val out = Reg(new Out)
  private val ringData = rings.read(cpu ## order, state === State.ringRead)
  private val first = ring.tail - ring.outs

  /** The entry that is looked at. */
  private val index = Reg(UInt(32.W))
  private val outData = outs.read(cpu ## order ## index(outBits - 1, 0), state === State.outRead)
  private val outWrite = WireDefault(false.B)
  private val outNew = Wire(new Out)
  outNew.valid := false.B
  outNew.cluster := ring.own
  outNew.device := ring.device
  when(outWrite)(outs.write(cpu ## order ## index(outBits - 1, 0), outNew.asUInt))
  when(state === State.clear || state === State.store)(
    rings.write(Mux(state === State.clear, clearing, cpu ## order), Mux(state === State.clear, 0.U, ring.asUInt))
  )

  // The CPU line as it was read.
  private val line = Reg(Vec(Words, UInt(Axi.DataBits.W)))
  private val count = Reg(UInt(3.W))
  private val want = line(WantWord)(Orders - 1, 0)
  private val head = VecInit((0 until 16).map { k =>
    if (k < Orders) line(HeadWord + k / 2)(32 * (k % 2) + 31, 32 * (k % 2)) else 0.U(32.W)
  })(order)
  private val lag = ring.tail - head
  private val astray = lag > room.U
  chooser.io.alone := lag === 0.U

  // The bitmap.
  private val runs = Module(new BitmapRuns)
  runs.io.start := state === State.askBitmap
  runs.io.word.valid := state === State.bitmap && io.memory.rdata.valid
  runs.io.word.bits := io.memory.rdata.bits.data
  runs.io.order := order
  runs.io.from := ring.word

  io.again.valid := state === State.again
  io.again.bits := out.cluster
  private val tries = Reg(UInt((p.clusterBits + 1).W))
  private val busy = Reg(Bool())
  private val rest = Reg(UInt(io.settings.pause.getWidth.W))
  private val lastOfCluster = runs.io.at +& spanWords(order) >= Words.U

  // Summaries: the chooser's requests, or its own.
  private val asking =
    Seq(State.owned, State.learn, State.leave, State.hold, State.drop).map(_ === state).reduce(_ || _) ||
      (state === State.change && At(devices, changed).live)
  io.request.valid := asking || chooser.io.request.valid
  io.request.bits := chooser.io.request.bits
  chooser.io.request.ready := io.request.ready && !asking
  private val request = io.request.bits
  when(asking) {
    request := 0.U.asTypeOf(request)
    request.run := runs.io.run
    request.device := changed
    request.cluster := ring.own
    request.op := SummaryOp.own
    switch(state) {
      is(State.learn)(request.op := SummaryOp.learn)
      is(State.leave)(request.op := SummaryOp.drop)
      is(State.hold)(request.op := SummaryOp.hold)
      is(State.drop) {
        request.op := SummaryOp.drop
        request.cluster := out.cluster
      }
      is(State.change)(request.op := SummaryOp.sweep)
    }
  }

  // Memory
  private val read = io.memory.read
  read.valid := state === State.line || state === State.askBitmap
  read.bits.id := 0.U
  read.bits.words := Words.U
  read.bits.address := Mux(
    state === State.line,
    io.settings.cpuLines + (cpu ## 0.U(CpuLineLog2.W)),
    io.settings.bitmap(ring.own)
  )
  private val second = state === State.word1 || state === State.data1
  private val noRunNow = state === State.noRun || state === State.noRunData
  private val noRun = Reg(UInt(Orders.W))
  private val noRunWritten = RegInit(0.U(Orders.W))
  private val write = io.memory.write
  write.valid := state === State.word0 || state === State.word1 ||
    (state === State.noRun && noRun =/= noRunWritten)
  write.bits.id := 0.U
  write.bits.words := 1.U
  private val entryAddress = io.settings.rings + entryOffset(cpu, order, index, log2) + (second ## 0.U(3.W))
  write.bits.address := Mux(noRunNow, io.settings.engineLine, entryAddress)

  /** The entry that is written: a grant, or one that the host skips. */
  private val granting = Reg(Bool())
  private val entryDevice = At(devices, ring.device)
  private val slot = (ring.own - entryDevice.base) ## runs.io.at ## 0.U((SlotsLog2 - 3).W)
  private val entryWord1 = Mux(
    granting,
    word1(slot, ring.device, order, entryDevice.epoch, true.B, index, log2),
    word1(0.U, 0.U(p.deviceBits.W), order, 0.U(EpochBits.W), false.B, index, log2)
  )
  io.memory.wdata.valid := state === State.data0 || state === State.data1 || state === State.noRunData
  io.memory.wdata.bits.strb := Fill(Axi.DataBytes, true.B)
  io.memory.wdata.bits.data := Mux(noRunNow, noRun, Mux(second, entryWord1, Mux(granting, runs.io.mask, 0.U)))

  // No device that serves an order has a cluster for it.
  private val none = VecInit
    .tabulate(Orders) { k =>
      !devices.zip(io.orders).map { case (device, found) => device.serves(k.U) && found(k) }.reduce(_ || _)
    }
    .asUInt

  io.pass := state === State.pass
  private val worked = RegInit(false.B)
  when(io.pass)(worked := busy)
  io.quiet := !worked && !recalling && !io.device.valid && state =/= State.clear &&
    (state === State.idle || !busy)
  io.idle := state === State.idle
  io.working := !state.isOneOf(State.clear, State.idle, State.pause)
  io.granted := state === State.answer1 && io.memory.written.valid && granting
  io.device.ready := (state === State.change && !At(devices, changed).live) ||
    (state === State.swept && io.answer.valid)
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
      when(recalling) {
        when(lastCpu)(state := State.change)
      }.otherwise {
        state := Mux(lastCpu, State.noRun, State.cpu)
        noRun := Mux(unsettled === 0.U, none, 0.U)
      }
    }
  }

  /** Goes through the entries from the oldest on. */
  private def goThrough(reason: Why.Type): Unit = {
    why := reason
    index := first
    busy := true.B
    state := Mux(ring.owns && reason =/= Why.recall, State.leave, State.next)
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
      count := 0.U
      state := Mux(io.settings.grant || cpu =/= 0.U, State.line, State.idle)
      when(io.device.valid) {
        val now = At(devices, io.device.bits.device)
        now := io.device.bits.entry
        now.live := io.device.bits.entry.live && io.device.bits.entry.clusters =/= 0.U
        changed := io.device.bits.device
        io.changed.valid := true.B
        recalling := true.B
        unsettled := 2.U
        cpu := 0.U
        state := State.ringRead
      }
    }
    is(State.line)(when(read.fire)(state := State.lineData))
    is(State.lineData) {
      when(io.memory.rdata.valid) {
        line(count) := io.memory.rdata.bits.data
        count := count + 1.U
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
      tries := 0.U
      when(recalling) {
        when(ring.owns && ring.device === changed)(ring.owns := false.B)
        when(ring.outs =/= 0.U)(goThrough(Why.recall)).otherwise(state := State.store)
      }.elsewhen(!want(order)) {
        when(ring.outs =/= 0.U || ring.owns)(goThrough(Why.forget)).otherwise(nextRing())
      }.elsewhen(astray) {
        // The host has counted past what was written: it begins anew.
        goThrough(Why.reset)
      }.otherwise(state := State.serve)
    }
    is(State.serve) {
      why := Why.done
      index := first
      // HEAD counts what was popped: the entry before it is the one in use, those before that are done with.
      when(ring.outs > lag + 1.U) {
        state := State.outRead
        busy := true.B
      }.elsewhen(lag < room.U && !io.device.valid) {
        index := ring.tail
        state := Mux(ring.owns, State.askBitmap, State.choose)
      }.otherwise {
        state := State.store
      }
    }

    // The next entry's cluster
    is(State.choose)(state := State.chosen)
    is(State.chosen) {
      when(chooser.io.done) {
        ring.own := chooser.io.found.bits
        ring.device := chooser.io.device
        ring.word := 0.U
        state := Mux(chooser.io.found.valid, State.owned, State.store)
      }
    }
    is(State.owned) {
      ring.owns := true.B
      busy := true.B
      when(io.request.fire)(state := State.askBitmap)
    }

    // Its bitmap
    is(State.askBitmap)(when(read.fire)(state := State.bitmap))
    is(State.bitmap)(when(runs.io.done)(state := State.learn))
    is(State.learn)(when(io.request.fire)(state := State.learned))
    is(State.learned) {
      when(io.answer.valid) {
        granting := true.B
        state := Mux(io.answer.bits.orders(order) && runs.io.found, State.word0, State.leave)
      }
    }

    // The ring leaves its cluster: there is nothing in it, or all is taken back.
    is(State.leave) {
      when(io.request.fire) {
        ring.owns := false.B
        tries := tries + 1.U
        state := State.left
      }
    }
    is(State.left) {
      when(io.answer.valid) {
        state := State.next
        when(why === Why.done)(state := Mux(tries > p.clusters.U, State.store, State.serve))
      }
    }

    // An entry: word 0, and when CPUs see it, word 1
    is(State.word0)(when(write.fire)(state := State.data0))
    is(State.data0)(when(io.memory.wdata.fire)(state := State.answer0))
    is(State.answer0)(when(io.memory.written.valid)(state := State.word1))
    is(State.word1)(when(write.fire)(state := State.data1))
    is(State.data1)(when(io.memory.wdata.fire)(state := State.answer1))
    is(State.answer1) {
      when(io.memory.written.valid) {
        when(granting) {
          outWrite := true.B
          outNew.valid := true.B
          tries := 0.U
          ring.tail := ring.tail + 1.U
          ring.outs := ring.outs + 1.U
          ring.word := runs.io.at + spanWords(order)
          // The ring's own hold of the cluster becomes the last entry's.
          ring.owns := !lastOfCluster
          state := Mux(lastOfCluster, State.serve, State.hold)
        }.otherwise {
          state := Mux(why === Why.recall, State.dropped, State.drop)
        }
      }
    }
    is(State.hold)(when(io.request.fire)(state := State.held))
    is(State.held)(when(io.answer.valid)(state := State.serve))

    // The entries that the host is not done with
    is(State.next) {
      state := State.outRead
      when(index === ring.tail) {
        state := Mux(why === Why.reset, State.serve, State.store)
        when(why =/= Why.recall)(ring.outs := 0.U)
        when(why === Why.reset)(ring.tail := head)
      }
    }
    is(State.outRead)(state := State.outArrive)
    is(State.outArrive) {
      out := outData.asTypeOf(out)
      state := State.out
    }
    is(State.out) {
      granting := false.B
      val there = ring.tail - index <= room.U
      state := State.dropped
      when(out.valid) {
        when(why === Why.done)(state := State.again)
          .elsewhen(why === Why.reset)(state := State.drop)
          .elsewhen(why === Why.forget)(state := Mux(there, State.word0, State.drop))
          .elsewhen(out.device === changed)(state := Mux(there, State.word0, State.dropped))
      }
    }
    is(State.again)(when(io.again.ready)(state := State.drop))
    is(State.drop)(when(io.request.fire)(state := State.dropping))
    is(State.dropping)(when(io.answer.valid)(state := State.dropped))
    is(State.dropped) {
      // A grant that is taken back stays in its place, and is of no cluster.
      index := index + 1.U
      when(why === Why.done) {
        ring.outs := ring.outs - 1.U
        state := State.serve
      }.otherwise {
        outWrite := true.B
        outNew := out
        outNew.valid := out.valid && why === Why.recall && out.device =/= changed
        state := State.next
      }
    }

    is(State.store) {
      nextRing()
      when(!recalling && io.device.valid)(state := State.cpu)
    }

    // The end of a pass
    is(State.noRun) {
      when(noRun === noRunWritten)(state := State.pass)
        .elsewhen(write.fire)(state := State.noRunData)
    }
    is(State.noRunData)(when(io.memory.wdata.fire)(state := State.noRunAnswer))
    is(State.noRunAnswer) {
      noRunWritten := noRun
      when(io.memory.written.valid)(state := State.pass)
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
      when(!At(devices, changed).live) {
        recalling := false.B
        state := State.idle
      }.elsewhen(io.request.fire)(state := State.swept)
    }
    is(State.swept) {
      when(io.answer.valid) {
        recalling := false.B
        state := State.idle
      }
    }
  }

  when(state === State.word0 && granting) {
    assert(ring.owns && runs.io.at >= ring.word, "what was granted before is granted again")
    assert(runs.io.found && runs.io.mask.orR && entryDevice.serves(order), "a grant of nothing, or of no use")
    assert(entryDevice.holds(ring.own), "a grant is not of its device")
  }
  assert(state =/= State.serve || ring.outs <= (room + 1).U, "a ring has more entries than it has places")
  assert(!io.device.valid || io.device.bits.device < p.devices.U, "there is no such device")
}
