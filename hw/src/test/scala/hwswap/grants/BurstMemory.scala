// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._

import scala.collection.mutable
import scala.util.Random

/** Host memory behind a port of bursts, with random waiting. Reads of different identifiers overtake each other. The
  * bench calls `before` and `after` around each clock edge.
  *
  * @param eager
  *   chance, of 100, that the memory is ready or answers in a cycle
  */
class BurstMemory(port: BurstPort, random: Random, var eager: Int) extends Peeks {

  /** Bytes that are not 0, by address. */
  val bytes: mutable.LongMap[Int] = mutable.LongMap.empty

  /** Called with address and words of each read that is asked for. */
  var onRead: (Long, Int) => Unit = (_, _) => ()

  /** Called with each byte that is written, before it is. */
  var onWrite: (Long, Int) => Unit = (_, _) => ()

  private class Read(val id: Int, val address: Long, val words: Int) { var sent = 0 }
  private val reads = mutable.ArrayBuffer.empty[Read]
  private val writes = mutable.Queue.empty[(Int, Long, Int)]
  private val answers = mutable.Queue.empty[Int]
  private var written = 0
  private def luck(): Boolean = random.nextInt(100) < eager

  def word(address: Long): BigInt =
    (0 until 8).map(i => BigInt(bytes.getOrElse(address + i, 0)) << (8 * i)).sum
  def store(address: Long, size: Int, value: BigInt): Unit =
    for (i <- 0 until size) bytes(address + i) = (value >> (8 * i) & 255).toInt

  def before(): Unit = {
    if (bit(port.read.valid) && bit(port.read.ready)) {
      val burst = port.read.bits
      val read = new Read(int(burst.id), long(burst.address), int(burst.words))
      assert((read.address & 63) + 8 * read.words <= 64, "a burst leaves its 64 bytes")
      onRead(read.address, read.words)
      reads += read
    }
    if (bit(port.write.valid) && bit(port.write.ready)) {
      val burst = port.write.bits
      writes.enqueue((int(burst.id), long(burst.address), int(burst.words)))
    }
    if (bit(port.wdata.valid) && bit(port.wdata.ready)) {
      val (id, address, words) = writes.head
      val data = port.wdata.bits.data.peek().litValue
      val strb = int(port.wdata.bits.strb)
      for (i <- 0 until 8 if (strb >> i & 1) == 1) {
        val value = (data >> (8 * i) & 255).toInt
        onWrite(address + 8 * written + i, value)
        bytes(address + 8 * written + i) = value
      }
      written += 1
      if (written == words) {
        writes.dequeue()
        answers.enqueue(id)
        written = 0
      }
    }
  }

  def after(): Unit = {
    port.read.ready.poke(luck())
    port.write.ready.poke(writes.isEmpty && luck())
    port.wdata.ready.poke(writes.nonEmpty && luck())
    val answer = answers.nonEmpty && luck()
    port.written.valid.poke(answer)
    if (answer) port.written.bits.poke(answers.dequeue())
    val possible = reads.groupBy(_.id).toSeq.sortBy(_._1).map(_._2.head)
    val beat = Option.when(possible.nonEmpty && luck())(possible(random.nextInt(possible.length)))
    port.rdata.valid.poke(beat.nonEmpty)
    for (read <- beat) {
      port.rdata.bits.id.poke(read.id)
      port.rdata.bits.data.poke(word(read.address + 8 * read.sent).U)
      read.sent += 1
      port.rdata.bits.last.poke(read.sent == read.words)
      if (read.sent == read.words) reads -= read
    }
  }
}
