// SPDX-License-Identifier: Apache-2.0
package hwswap
package store

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** A part of an item that is read and written by itself, in a RAM of its own.
  *
  * @param lsb
  *   lowest bit in the item as memory has it
  * @param width
  *   bits
  * @param enables
  *   parts with a write enable each
  * @param extra
  *   bits that are kept with each part, above it, and have no place in memory
  * @param derive
  *   what they are, from the part
  */
final case class CacheField(
    name: String,
    lsb: Int,
    width: Int,
    enables: Int = 1,
    extra: Int = 0,
    derive: UInt => UInt = _ => 0.U
) {
  require(width % enables == 0, s"field $name: $width bits do not split into $enables")

  /** Bits of a part in memory, and as it is kept. */
  val memoryPart: Int = width / enables
  val part: Int = memoryPart + extra

  /** Bits of the field as it is kept. */
  val kept: Int = part * enables

  /** The field as it is kept, from an item as memory has it, and back. */
  def fromItem(item: UInt): UInt = Cat(
    Seq
      .tabulate(enables) { k =>
        val bits = item(lsb + (k + 1) * memoryPart - 1, lsb + k * memoryPart)
        if (extra == 0) bits else derive(bits)(extra - 1, 0) ## bits
      }
      .reverse
  )
  def toItem(field: UInt): UInt = {
    val bits = Cat(Seq.tabulate(enables)(k => field(k * part + memoryPart - 1, k * part)).reverse)
    if (lsb == 0) bits else bits ## 0.U(lsb.W)
  }
}

/** What a cache holds, and how much of it.
  *
  * @param items
  *   items in all, of which memory holds one behind the other
  * @param itemBeats
  *   an item's size in memory, in 64-bit beats
  * @param lineItems
  *   items of a line: what is fetched and written back as one
  * @param lines
  *   lines in the cache
  * @param ways
  *   places in the cache that a line may have
  */
final case class CacheShape(
    name: String,
    fields: Seq[CacheField],
    items: Int,
    itemBeats: Int,
    lineItems: Int,
    lines: Int,
    ways: Int
) {
  for ((what, value) <- Seq("items" -> items, "items a line" -> lineItems, "lines" -> lines, "ways" -> ways))
    require(value >= 1 && (value & (value - 1)) == 0, s"the $name cache has $value $what: choose a power of two")
  require(ways <= lines, s"the $name cache has $ways ways and $lines lines: choose fewer ways")
  require(items / lineItems > lines / ways, s"the $name cache holds all of its $items items: choose fewer lines")
  require(lineItems * itemBeats <= Axi.MaxBeats, s"a line of the $name cache is longer than a burst")

  val itemBits: Int = log2Ceil(items)
  val inLineBits: Int = log2Ceil(lineItems)
  val lineBits: Int = itemBits - inLineBits
  val sets: Int = lines / ways
  val setBits: Int = log2Ceil(sets)
  val wayBits: Int = log2Ceil(ways)
  val tagBits: Int = lineBits - setBits
  val beats: Int = lineItems * itemBeats

  /** Each field has a reader and a writer. */
  val ports: Int = 2 * fields.length
}

/** One field's reader and writer. What is read is there one cycle later, for one cycle. */
class CacheFieldPort(shape: CacheShape, field: CacheField) extends Bundle {
  val read = Flipped(Valid(UInt(shape.itemBits.W)))
  val data = Output(UInt(field.kept.W))
  val write = Flipped(Valid(UInt(shape.itemBits.W)))
  val newData = Input(UInt(field.kept.W))
  val enable = Input(UInt(field.enables.W))
}

/** A cache's way to memory; addresses are numbers of lines, transfers are whole lines. Reads are answered in order, and
  * so are writes.
  */
class CacheMemoryPort(shape: CacheShape) extends Bundle {
  val readLine = Decoupled(UInt(shape.lineBits.W))
  val readBeat = Flipped(Decoupled(UInt(Axi.DataBits.W)))
  val writeLine = Decoupled(UInt(shape.lineBits.W))
  val writeBeat = Decoupled(UInt(Axi.DataBits.W))

  /** A line that was written has arrived (one cycle). */
  val written = Input(Bool())
}

/** One-cycle pulses for the statistics. */
class CacheEvents(ports: Int) extends Bundle {

  /** Reads and writes; a read of what the port read last counts once. */
  val accesses = UInt(log2Ceil(ports + 1).W)

  /** Lines that were fetched, or made without fetching. */
  val miss = Bool()
  val writeBack = Bool()

  /** Lines are missing, and are asked for, at the same time: an access to memory that whoever reads depends on. */
  val round = Bool()
}

/** A set-associative write-back cache whose user is held while something is missing.
  *
  * The user works on in cycles in which `run` is high. Whether its accesses hit is known by the end of the cycle in
  * which it makes them: tags are in small memories that are read in the same cycle. Accesses that hit are done; the
  * others are noted, and from the next cycle on `hold` is high, a register's output. While it is, all lines that are
  * missing are asked for one behind the other, without waiting for the first; then they come, each in place of another
  * that is written back if it was changed; then what was noted is done, all at once. What the user then reads is what
  * it would have read without a cache, so it needs to know nothing of it.
  *
  * Two accesses of one round that want the same place in the cache take two rounds. A write of a whole line does not
  * fetch it. A line that is on its way back to memory is not asked for before memory has it.
  *
  * Latency of a round: that of memory, the line's beats, and 4 cycles.
  */
class LineCache(shape: CacheShape) extends Module {
  import shape._

  val io = IO(new Bundle {
    val run = Input(Bool())
    val hold = Output(Bool())
    val fields = MixedVec(shape.fields.map(new CacheFieldPort(shape, _)))
    val memory = new CacheMemoryPort(shape)

    /** Hold the user, and come to rest: nothing under way to or from memory is left when `idle` is high. */
    val flush = Input(Bool())
    val idle = Output(Bool())
    val events = Output(new CacheEvents(ports))
  })

  private object State extends ChiselEnum {
    val sweep, idle, issue, victim, copy, fill, perform = Value
  }
  private val state = RegInit(State.sweep)

  /** Where a line may be, and what it is. */
  private def setOf(line: UInt): UInt = if (setBits == 0) 0.U else line(setBits - 1, 0)
  private def tagOf(line: UInt): UInt = line >> setBits
  private def lineOf(item: UInt): UInt = item >> inLineBits

  /** A word's address in the fields' RAMs. */
  private def place(way: UInt, set: UInt, item: UInt): UInt = {
    val parts = Seq(
      Option.when(wayBits > 0)(way(wayBits - 1, 0)),
      Option.when(setBits > 0)(set(setBits - 1, 0)),
      Option.when(inLineBits > 0)(item(inLineBits - 1, 0))
    ).flatten
    if (parts.isEmpty) 0.U(1.W) else Cat(parts)
  }

  // The ports: readers first, then writers. Accesses that missed wait here.
  private val reads = io.fields.map(_.read)
  private val writes = io.fields.map(_.write)
  private val asked = reads ++ writes
  private val pending = RegInit(VecInit.fill(ports)(false.B))
  private val items = asked.map(port => RegEnable(port.bits, io.run))
  private val heldData = io.fields.map(f => RegEnable(f.newData, io.run && f.write.valid))
  private val heldEnable = io.fields.map(f => RegEnable(f.enable, io.run && f.write.valid))
  private val performing = state === State.perform

  // Tags, with a bit that says whether there is a line: a port's own item is looked up, or what it waits for.
  private val tags = Seq.fill(ways)(Mem(sets, UInt((tagBits + 1).W)))
  private val looked = asked.zip(items).map { case (port, item) => Mux(io.run, port.bits, item) }
  private def lookUp(line: UInt): UInt =
    VecInit(tags.map(_.read(setOf(line)) === 1.U(1.W) ## tagOf(line))).asUInt
  private val hits = looked.map(item => lookUp(lineOf(item)))
  private val isHit = hits.map(_.orR)
  private val places = looked.zip(hits).map { case (item, hit) =>
    place(OHToUInt(hit), setOf(lineOf(item)), item)
  }
  private val acting = asked.indices.map(i => Mux(io.run, asked(i).valid, performing && pending(i)) && isHit(i))
  for (i <- asked.indices)
    when(io.run) {
      pending(i) := asked(i).valid && !isHit(i)
    }.elsewhen(performing && isHit(i)) {
      pending(i) := false.B
    }

  // Which lines were written to since they came: a bit a place and writer, so that each memory has one writer.
  private val dirty = io.fields.map(_ => Mem(lines, Bool()))
  private def linePlace(way: UInt, set: UInt): UInt = {
    val parts = Seq(
      Option.when(wayBits > 0)(way(wayBits - 1, 0)),
      Option.when(setBits > 0)(set(setBits - 1, 0))
    ).flatten
    if (parts.isEmpty) 0.U(1.W) else Cat(parts)
  }

  // The lines that are on their way here, in order.
  private class Fetch extends Bundle {
    val line = UInt(lineBits.W)
    val way = UInt(wayBits.max(1).W)
    val made = Bool()
  }
  private val fetches = Reg(Vec(ports, new Fetch))
  private val fetchCount = RegInit(0.U(log2Ceil(ports + 1).W))
  private val current = Reg(UInt(log2Ceil(ports + 1).W))
  private val toIssue = Reg(Vec(ports, Bool()))
  private val nextWay = RegInit(0.U(wayBits.max(1).W))
  private val fetch = fetches(current(log2Ceil(ports).max(1) - 1, 0))
  private val fetchSet = setOf(fetch.line)
  private val lastFetch = current + 1.U === fetchCount

  // Lines that go back: one in the buffer, and up to four that memory has not answered for.
  private val buffer = Reg(Vec(beats, UInt(Axi.DataBits.W)))
  private val bufferLine = Reg(UInt(lineBits.W))
  private val bufferFull, addressSent = RegInit(false.B)
  private val beatOut = RegInit(0.U(log2Ceil(beats).max(1).W))
  private val unansweredLines = Reg(Vec(LineCache.Unanswered, UInt(lineBits.W)))
  private val unansweredValid = RegInit(VecInit.fill(LineCache.Unanswered)(false.B))
  private val unansweredIn, unansweredOut = RegInit(0.U(log2Ceil(LineCache.Unanswered).W))
  private val leaving = unansweredValid.asUInt.orR

  // --- Issue: one port a cycle -----------------------------------------------------------------------------------
  private val turn = PriorityEncoder(toIssue)
  private val anyTurn = toIssue.asUInt.orR
  private val turnLine = lineOf(VecInit(items)(turn))
  private val turnHit = VecInit(isHit)(turn)
  private val turnSet = setOf(turnLine)
  private val onItsWay = fetches.zipWithIndex.map { case (f, i) => i.U < fetchCount && f.line === turnLine }
  private val empties = VecInit(tags.map(tag => !tag.read(turnSet)(tagBits))).asUInt
  private val way = Mux(empties.orR, PriorityEncoder(empties), nextWay)
  private val taken = fetches.zipWithIndex.map { case (f, i) =>
    i.U < fetchCount && setOf(f.line) === turnSet && f.way === way
  }
  private val onItsWayBack = (bufferFull && bufferLine === turnLine) ||
    unansweredValid.zip(unansweredLines).map { case (v, l) => v && l === turnLine }.reduce(_ || _)

  /** A line that is one item of one field, written as a whole, need not be fetched. */
  private val makes =
    if (lineItems == 1 && fields.length == 1 && fields.head.width == Axi.DataBits * beats)
      turn === 1.U && heldEnable.head.andR
    else false.B
  private val skips = turnHit || VecInit(onItsWay).asUInt.orR || VecInit(taken).asUInt.orR
  private val issuing = state === State.issue && anyTurn && !skips
  private val issues = issuing && (makes || (!onItsWayBack && io.memory.readLine.ready))
  io.memory.readLine.valid := issuing && !makes && !onItsWayBack
  io.memory.readLine.bits := turnLine
  when(issues) {
    val entry = fetches(fetchCount(log2Ceil(ports).max(1) - 1, 0))
    entry.line := turnLine
    entry.way := way
    entry.made := makes
    fetchCount := fetchCount + 1.U
    nextWay := (if (wayBits == 0) 0.U else (nextWay + 1.U)(wayBits - 1, 0))
  }

  // --- Victim: the tag of the line that has to go ----------------------------------------------------------------
  private val oldTags = VecInit(tags.map(_.read(fetchSet)))
  private val old = if (ways == 1) oldTags.head else oldTags(fetch.way)
  private val oldLine = if (setBits == 0) old(tagBits - 1, 0) else old(tagBits - 1, 0) ## fetchSet
  private val oldDirty = old(tagBits) && dirty.map(_.read(linePlace(fetch.way, fetchSet))).reduce(_ || _)

  // Its items are read one a cycle, and are in the buffer one cycle later.
  private val itemAt = Reg(UInt((inLineBits + 1).W))
  private val copying = state === State.copy && itemAt < lineItems.U
  private val copied = RegNext(copying, false.B)
  private val copiedItem = RegNext(itemAt)

  // --- Fill ------------------------------------------------------------------------------------------------------
  private val beatIn = Reg(UInt(log2Ceil(itemBeats).max(1).W))
  private val lastBeat = beatIn === (itemBeats - 1).U
  private val early = Reg(Vec((itemBeats - 1).max(1), UInt(Axi.DataBits.W)))
  private val arriving = io.memory.readBeat.fire
  private val itemWhole = arriving && lastBeat
  private val arrived =
    if (itemBeats == 1) io.memory.readBeat.bits else io.memory.readBeat.bits ## early.asUInt
  private val lineWhole = itemWhole && itemAt === (lineItems - 1).U
  io.memory.readBeat.ready := state === State.fill && !fetch.made
  when(arriving) {
    beatIn := Mux(lastBeat, 0.U, beatIn + 1.U)
    when(lastBeat) {
      itemAt := itemAt + 1.U
    }.otherwise {
      At(early, beatIn) := io.memory.readBeat.bits
    }
  }
  private val filled = state === State.fill && (fetch.made || lineWhole)

  // --- The fields' RAMs ------------------------------------------------------------------------------------------
  private val copyWord = place(fetch.way, fetchSet, itemAt)
  private val image = Wire(Vec(fields.length, UInt((Axi.DataBits * itemBeats).W)))
  for ((field, i) <- fields.zipWithIndex) {
    val part = field.part
    val ram = SyncReadMem(lines * lineItems, Vec(field.enables, UInt(part.W)), SyncReadMem.Undefined)
    val reading = acting(i)
    val out = ram.read(Mux(copying, copyWord, places(i)), copying || reading).asUInt
    val fresh = RegNext(reading, false.B)
    val held = RegEnable(out, fresh)
    io.fields(i).data := Mux(fresh, out, held)
    image(i) := field.toItem(out)

    val writer = fields.length + i
    val own = Mux(io.run, io.fields(i).newData, heldData(i))
    val data = Mux(itemWhole, field.fromItem(arrived), own)
    val enable = Fill(field.enables, itemWhole) | Mux(io.run, io.fields(i).enable, heldEnable(i))
    when(itemWhole || acting(writer)) {
      ram.write(
        Mux(itemWhole, copyWord, places(writer)),
        VecInit(Seq.tabulate(field.enables)(k => data((k + 1) * part - 1, k * part))),
        enable.asBools
      )
    }
    when(acting(writer) || filled) {
      val line = lineOf(looked(writer))
      dirty(i).write(
        Mux(filled, linePlace(fetch.way, fetchSet), linePlace(OHToUInt(hits(writer)), setOf(line))),
        !filled
      )
    }
  }
  when(copied) {
    val whole = image.reduce(_ | _)
    for (i <- 0 until lineItems)
      when(copiedItem === i.U) {
        for (b <- 0 until itemBeats)
          buffer(i * itemBeats + b) := whole(Axi.DataBits * (b + 1) - 1, Axi.DataBits * b)
      }
  }

  // --- Tags ------------------------------------------------------------------------------------------------------
  private val sweepAt = RegInit(0.U(setBits.max(1).W))
  for ((tag, i) <- tags.zipWithIndex) {
    val mine = filled && (if (ways == 1) true.B else fetch.way === i.U)
    when(state === State.sweep || mine) {
      tag.write(
        Mux(state === State.sweep, sweepAt, fetchSet),
        Mux(state === State.sweep, 0.U, 1.U(1.W) ## tagOf(fetch.line))
      )
    }
  }

  // --- Write back ------------------------------------------------------------------------------------------------
  private val bufferReady = RegInit(false.B)
  io.memory.writeLine.valid := bufferFull && bufferReady && !addressSent
  io.memory.writeLine.bits := bufferLine
  io.memory.writeBeat.valid := bufferFull && bufferReady && addressSent
  io.memory.writeBeat.bits := buffer(beatOut)
  when(io.memory.writeLine.fire) {
    addressSent := true.B
  }
  private val room = !unansweredValid(unansweredIn)
  when(io.memory.writeBeat.fire) {
    beatOut := beatOut + 1.U
    when(beatOut === (beats - 1).U) {
      beatOut := 0.U
      bufferFull := false.B
      bufferReady := false.B
      addressSent := false.B
      unansweredLines(unansweredIn) := bufferLine
      unansweredValid(unansweredIn) := true.B
      unansweredIn := unansweredIn + 1.U
    }
  }
  when(io.memory.written) {
    unansweredValid(unansweredOut) := false.B
    unansweredOut := unansweredOut + 1.U
  }

  // --- What follows what -----------------------------------------------------------------------------------------
  private val missing = asked.indices.map(i => asked(i).valid && !isHit(i)).reduce(_ || _)
  switch(state) {
    is(State.sweep) {
      sweepAt := sweepAt + 1.U
      when(sweepAt === (sets - 1).U) {
        state := State.idle
      }
    }
    is(State.idle) {
      when(io.run && missing) {
        startRound(VecInit(asked.zip(isHit).map { case (port, hit) => port.valid && !hit }))
      }
    }
    is(State.issue) {
      when(anyTurn && (skips || issues)) {
        toIssue(turn) := false.B
      }
      when(!anyTurn) {
        state := State.victim
      }
    }
    is(State.victim) {
      itemAt := 0.U
      beatIn := 0.U
      when(oldDirty) {
        when(!bufferFull && room) {
          bufferFull := true.B
          bufferLine := oldLine
          state := State.copy
        }
      }.otherwise {
        state := State.fill
      }
    }
    is(State.copy) {
      itemAt := itemAt + 1.U
      when(itemAt === lineItems.U) {
        itemAt := 0.U
        bufferReady := true.B
        state := State.fill
      }
    }
    is(State.fill) {
      when(filled) {
        current := current + 1.U
        state := Mux(lastFetch, State.perform, State.victim)
      }
    }
    is(State.perform) {
      val left = VecInit(pending.zip(isHit).map { case (p, hit) => p && !hit })
      state := State.idle
      when(left.asUInt.orR) {
        startRound(left)
      }
    }
  }

  private def startRound(ports: Vec[Bool]): Unit = {
    state := State.issue
    toIssue := ports
    fetchCount := 0.U
    current := 0.U
  }

  io.hold := state =/= State.idle || io.flush
  io.idle := state === State.idle && !bufferFull && !leaving

  // --- Statistics ------------------------------------------------------------------------------------------------
  private val counted = reads.map { read =>
    val last = RegEnable(read.bits, io.run && read.valid)
    val known = RegInit(false.B)
    when(io.run && read.valid) {
      known := true.B
    }
    io.run && read.valid && !(known && last === read.bits)
  } ++ writes.map(io.run && _.valid)
  io.events.accesses := PopCount(counted)
  io.events.miss := filled
  io.events.writeBack := state === State.victim && oldDirty && !bufferFull && room
  io.events.round := state === State.issue && RegNext(state =/= State.issue, false.B)

  assert(!(io.run && state =/= State.idle), "the user of a cache works on while it is held")
  for (hit <- hits) assert(PopCount(hit) <= 1.U, "a line is in a cache twice")
}

object LineCache {

  /** Lines on their way to memory that it has not answered for. */
  val Unanswered: Int = 4
}
