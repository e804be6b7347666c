// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._

import scala.collection.mutable
import scala.util.Random

/** Models host memory for a port that issues one read burst at a time, with random waits. The bench calls `before` and
  * `after` around each clock edge.
  *
  * @param eager
  *   chance, of 100, that the memory is ready or answers in a cycle
  */
class BurstMemory(port: BurstPort, random: Random, var eager: Int) extends Peeks {

  /** Words of 64 bits that are not 0, by address. */
  val words: mutable.Map[Long, BigInt] = mutable.Map.empty[Long, BigInt].withDefaultValue(BigInt(0))

  /** Called with address and words of each read that is asked for. */
  var onRead: (Long, Int) => Unit = (_, _) => ()

  /** Address of the next word, and how many are left. */
  private var burst = (0L, 0)
  private def luck(): Boolean = random.nextInt(100) < eager

  /** The last burst has come to its end. */
  def rests: Boolean = burst._2 == 0

  def before(): Unit = {
    assert(!bit(port.write.valid) && !bit(port.wdata.valid), "it writes")
    if (bit(port.read.valid) && bit(port.read.ready)) {
      val (address, length) = (long(port.read.bits.address), int(port.read.bits.words))
      assert(rests, "a burst begins before the last one's end")
      assert(address % 8 == 0 && (address & 63) + 8 * length <= 64, "a burst leaves its 64 bytes")
      onRead(address, length)
      burst = (address, length)
    }
  }

  def after(): Unit = {
    port.read.ready.poke(luck())
    val beat = !rests && luck()
    port.rdata.valid.poke(beat)
    if (beat) {
      val (address, left) = burst
      port.rdata.bits.id.poke(0)
      port.rdata.bits.data.poke(words(address).U)
      port.rdata.bits.last.poke(left == 1)
      burst = (address + 8, left - 1)
    }
  }
}
