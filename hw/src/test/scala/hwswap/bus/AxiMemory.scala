// SPDX-License-Identifier: Apache-2.0
package hwswap
package bus

import chisel3._

import scala.collection.mutable
import scala.util.Random

/** Host memory of an AXI4 master, with random waiting on every channel. Call `after` once, then clock by `step`.
  *
  * It checks what a slave can check: bursts within 4 KiB, of at most 16 beats, wlast in its place, requests and data
  * that stay until they are taken.
  *
  * @param axi
  *   the master's port
  * @param random
  *   where the waiting comes from
  * @param eager
  *   percentage of cycles in which the memory is ready or answers
  * @param latency
  *   cycles from an address, or a burst's last word, to the answer at the earliest
  * @param reorder
  *   answers of different identifiers overtake each other, and beats read for them are mixed, at random
  * @param bytes
  *   parts of a word may be written
  */
class AxiMemory(
    axi: Axi4,
    random: Random,
    eager: Int,
    latency: Int = 0,
    reorder: Boolean = true,
    bytes: Boolean = false
) extends Peeks {

  /** Words by address. */
  val words: mutable.LongMap[Long] = mutable.LongMap.empty

  /** Bursts in the order of their addresses: (write, address, beats). */
  val bursts: mutable.ArrayBuffer[(Boolean, Long, Int)] = mutable.ArrayBuffer.empty

  /** Called with each word the engine writes, in order. */
  var onWrite: (Long, Long) => Unit = (_, _) => ()

  /** Called with the address of each word before it is read. */
  var onRead: Long => Unit = _ => ()

  /** Accesses to these addresses are answered with SLVERR. */
  var bad: Long => Boolean = _ => false

  /** Nothing is taken or answered. */
  var hold: Boolean = false

  /** An answer due: its identifier, and its first possible cycle. Reads have beats, and the number of those given. */
  private class Due(val id: Int, val from: Long)
  private class WriteEnd(id: Int, from: Long, val response: Int) extends Due(id, from)
  private class ReadRun(id: Int, from: Long, val address: Long, val beats: Int) extends Due(id, from) { var sent = 0 }

  private val writeAddresses = mutable.Queue.empty[(Long, Int, Int)]
  private val writeData = mutable.Queue.empty[(Long, Int, Boolean)]
  private val answers = mutable.ArrayBuffer.empty[WriteEnd]
  private val reads = mutable.ArrayBuffer.empty[ReadRun]
  private var now = 0L
  private var done = 0
  private var badBurst = false
  private var answering: Option[WriteEnd] = None
  private var reading: Option[ReadRun] = None

  /** Offers that were not taken, by channel. */
  private val waiting = mutable.Map.empty[String, Seq[BigInt]]

  /** One of those that may be answered now: the first, or any that no other of its identifier precedes. */
  private def choose[D <: Due](due: mutable.ArrayBuffer[D]): Option[D] = {
    val first = if (reorder) due.groupBy(_.id).toSeq.sortBy(_._1).map(_._2.head) else due.take(1).toSeq
    val possible = first.filter(_.from <= now)
    Option.when(possible.nonEmpty)(possible(random.nextInt(possible.length)))
  }

  def apply(address: Long): Long = words.getOrElse(address, 0L)
  def update(address: Long, value: Long): Unit = words(address) = value

  /** Nothing is under way. */
  def quiet: Boolean = writeAddresses.isEmpty && writeData.isEmpty && answers.isEmpty && reads.isEmpty

  private def luck(): Boolean = random.nextInt(100) < eager
  private var awReady, wReady, arReady = false

  private def stays(channel: String, valid: Bool, ready: Boolean, payload: UInt*): Unit = {
    val offered = Option.when(bit(valid))(payload.map(_.peek().litValue))
    for (before <- waiting.get(channel)) assert(offered.contains(before), s"$channel changed before it was taken")
    waiting.remove(channel)
    for (now <- offered if !ready) waiting(channel) = now
  }

  private def addressed(write: Boolean, address: Long, beats: Int): Unit = {
    assert(beats <= 16, s"a burst of $beats beats")
    assert((address & 4095) + 8 * beats <= 4096, f"a burst of $beats beats at $address%x crosses 4 KiB")
    bursts += ((write, address, beats))
  }

  def step(clock: Clock): Unit = {
    before()
    clock.step()
    after()
  }

  /** Looks at the transfers of the coming clock edge. */
  private def before(): Unit = {
    stays("AW", axi.aw.valid, awReady, axi.aw.bits.addr, axi.aw.bits.len, axi.aw.bits.id)
    stays("AR", axi.ar.valid, arReady, axi.ar.bits.addr, axi.ar.bits.len, axi.ar.bits.id)
    stays("W", axi.w.valid, wReady, axi.w.bits.data, axi.w.bits.strb, axi.w.bits.last.asUInt)
    if (awReady && bit(axi.aw.valid)) {
      val entry = (long(axi.aw.bits.addr), long(axi.aw.bits.len).toInt + 1, long(axi.aw.bits.id).toInt)
      addressed(write = true, entry._1, entry._2)
      writeAddresses.enqueue(entry)
    }
    if (wReady && bit(axi.w.valid))
      writeData.enqueue((long(axi.w.bits.data), int(axi.w.bits.strb), bit(axi.w.bits.last)))
    if (arReady && bit(axi.ar.valid)) {
      val (address, beats) = (long(axi.ar.bits.addr), long(axi.ar.bits.len).toInt + 1)
      addressed(write = false, address, beats)
      reads += new ReadRun(long(axi.ar.bits.id).toInt, now + latency, address, beats)
    }
    for (answer <- answering if bit(axi.b.ready)) {
      answers -= answer
      answering = None
    }
    for (read <- reading if bit(axi.r.ready)) {
      read.sent += 1
      if (read.sent == read.beats) reads -= read
      reading = None
    }
  }

  /** Stores the data that has arrived and sets the inputs of the next cycle. */
  def after(): Unit = {
    now += 1
    while (writeAddresses.nonEmpty && writeData.nonEmpty) {
      val (base, beats, id) = writeAddresses.head
      val (data, strobes, last) = writeData.dequeue()
      val address = base + 8 * done
      if (bad(address)) badBurst = true
      else if (strobes != 0) {
        assert(strobes == 255 || bytes, s"strobes $strobes")
        val mask = (0 until 8).filter(i => (strobes >> i & 1) == 1).map(i => 255L << (8 * i)).sum
        words(address) = apply(address) & ~mask | data & mask
        onWrite(address, words(address))
      }
      done += 1
      assert(last == (done == beats), s"wlast is $last at beat $done of $beats")
      if (last) {
        writeAddresses.dequeue()
        answers += new WriteEnd(id, now + latency, if (badBurst) 2 else 0)
        done = 0
        badBurst = false
      }
    }
    awReady = luck() && !hold
    wReady = luck() && !hold
    arReady = luck() && !hold
    if (answering.isEmpty && !hold && luck()) answering = choose(answers)
    val beat = if (reading.isEmpty && !hold && luck()) choose(reads) else None
    reading = reading.orElse(beat)
    axi.aw.ready.poke(awReady)
    axi.w.ready.poke(wReady)
    axi.ar.ready.poke(arReady)
    axi.b.valid.poke(answering.nonEmpty)
    for (answer <- answering) {
      axi.b.bits.resp.poke(answer.response)
      axi.b.bits.id.poke(answer.id)
    }
    axi.r.valid.poke(reading.nonEmpty)
    for (read <- beat) {
      val address = read.address + 8 * read.sent
      onRead(address)
      axi.r.bits.data.poke((BigInt(apply(address)) & AxiMemory.Mask).U)
      axi.r.bits.last.poke(read.sent == read.beats - 1)
      axi.r.bits.id.poke(read.id)
      axi.r.bits.resp.poke(if (bad(address)) 2 else 0)
    }
  }
}

object AxiMemory {
  private val Mask: BigInt = (BigInt(1) << 64) - 1

  /** A word as Verilog has it: without sign. */
  def unsigned(word: Long): BigInt = BigInt(word) & Mask
}
