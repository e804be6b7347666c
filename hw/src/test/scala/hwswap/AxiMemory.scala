// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.simulator.PeekPokeAPI
import org.scalatest.Assertions

import scala.collection.mutable
import scala.util.Random

/** Host memory behind an AXI4 master, with random waiting on every channel. The bench calls `before` and `after`
  * around each clock edge.
  *
  * It checks what a slave can check: bursts within 4 KiB, of at most 16 beats, wlast in its place.
  *
  * @param axi
  *   the master's port
  * @param random
  *   where the waiting comes from
  * @param eager
  *   chance, of 100, that the memory is ready or answers in a cycle
  * @param latency
  *   cycles from an address, or a burst's last word, to the answer at the earliest
  */
class AxiMemory(axi: Axi4, random: Random, eager: Int, latency: Int = 0) extends PeekPokeAPI with Assertions {

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

  private val writeAddresses = mutable.Queue.empty[(Long, Int, Int)]
  private val writeData = mutable.Queue.empty[(Long, Int, Boolean)]
  private val answers = mutable.Queue.empty[(Int, Int)]
  private val reads = mutable.Queue.empty[(Long, Boolean, Int)]

  /** When each of those may be given. */
  private val answerTimes, readTimes = mutable.Queue.empty[Long]
  private var now = 0L
  private var done = 0
  private var badBurst = false
  private var sending: Option[(Long, Boolean)] = None

  def apply(address: Long): Long = words.getOrElse(address, 0L)
  def update(address: Long, value: Long): Unit = words(address) = value

  /** Nothing is under way. */
  def quiet: Boolean = writeAddresses.isEmpty && writeData.isEmpty && answers.isEmpty && reads.isEmpty

  private def bit(b: Bool): Boolean = b.peek().litToBoolean
  private def long(u: UInt): Long = u.peek().litValue.toLong
  private def luck(): Boolean = random.nextInt(100) < eager
  private var awReady, wReady, arReady, bValid, rValid = false

  private def addressed(write: Boolean, address: Long, beats: Int): Unit = {
    assert(beats <= 16, s"a burst of $beats beats")
    assert((address & 4095) + 8 * beats <= 4096, f"a burst of $beats beats at $address%x crosses 4 KiB")
    bursts += ((write, address, beats))
  }

  /** Looks at what is transferred at the coming clock edge. */
  def before(): Unit = {
    if (awReady && bit(axi.awvalid)) {
      val entry = (long(axi.awaddr), long(axi.awlen).toInt + 1, long(axi.awid).toInt)
      addressed(write = true, entry._1, entry._2)
      writeAddresses.enqueue(entry)
    }
    if (wReady && bit(axi.wvalid)) writeData.enqueue((long(axi.wdata), long(axi.wstrb).toInt, bit(axi.wlast)))
    if (arReady && bit(axi.arvalid)) {
      val (address, beats) = (long(axi.araddr), long(axi.arlen).toInt + 1)
      addressed(write = false, address, beats)
      for (i <- 0 until beats) {
        reads.enqueue((address + 8 * i, i == beats - 1, long(axi.arid).toInt))
        readTimes.enqueue(now + latency)
      }
    }
    if (bValid && bit(axi.bready)) {
      answers.dequeue()
      answerTimes.dequeue()
      bValid = false
    }
    if (rValid && bit(axi.rready)) {
      reads.dequeue()
      readTimes.dequeue()
      sending = None
      rValid = false
    }
  }

  /** Stores what has arrived and sets the inputs of the next cycle. */
  def after(): Unit = {
    now += 1
    while (writeAddresses.nonEmpty && writeData.nonEmpty) {
      val (base, beats, id) = writeAddresses.head
      val (data, strobes, last) = writeData.dequeue()
      val address = base + 8 * done
      if (bad(address)) badBurst = true
      else if (strobes != 0) {
        assert(strobes == 255, s"strobes $strobes")
        words(address) = data
        onWrite(address, data)
      }
      done += 1
      assert(last == (done == beats), s"wlast is $last at beat $done of $beats")
      if (last) {
        writeAddresses.dequeue()
        answers.enqueue((if (badBurst) 2 else 0, id))
        answerTimes.enqueue(now + latency)
        done = 0
        badBurst = false
      }
    }
    awReady = luck()
    wReady = luck()
    arReady = luck()
    if (!bValid && answerTimes.headOption.exists(_ <= now)) bValid = luck()
    if (!rValid && readTimes.headOption.exists(_ <= now)) rValid = luck()
    axi.awready.poke(awReady)
    axi.wready.poke(wReady)
    axi.arready.poke(arReady)
    axi.bvalid.poke(bValid)
    if (bValid) {
      axi.bresp.poke(answers.head._1)
      axi.bid.poke(answers.head._2)
    }
    axi.rvalid.poke(rValid)
    if (rValid && sending.isEmpty) {
      val (address, last, id) = reads.head
      onRead(address)
      sending = Some((address, last))
      axi.rdata.poke((BigInt(apply(address)) & AxiMemory.Mask).U)
      axi.rlast.poke(last)
      axi.rid.poke(id)
      axi.rresp.poke(if (bad(address)) 2 else 0)
    }
  }
}

object AxiMemory {
  private val Mask: BigInt = (BigInt(1) << 64) - 1

  /** A word as Verilog has it: without sign. */
  def unsigned(word: Long): BigInt = BigInt(word) & Mask
}
