// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.simulator.PeekPokeAPI
import org.scalatest.Assertions

/** Signals of a circuit as Scala values: for tests and the benches they drive. */
trait Peeks extends PeekPokeAPI with Assertions {
  protected def bit(value: Bool): Boolean = value.peek().litToBoolean

  /** Resets a module for one cycle. */
  protected def restart(dut: Module): Unit = {
    dut.reset.poke(true)
    dut.clock.step()
    dut.reset.poke(false)
  }

  /** Makes a signal true for one cycle. */
  protected def pulse(signal: Bool, clock: Clock): Unit = {
    signal.poke(true)
    clock.step()
    signal.poke(false)
  }

  /** Lets cycles pass until `condition`; gives how many. */
  protected def waitFor(what: String, limit: Int)(condition: => Boolean)(step: => Unit): Int = {
    var cycles = 0
    while (!condition) {
      assert(cycles < limit, s"$what does not come within $limit cycles")
      step
      cycles += 1
    }
    cycles
  }

  /** At most 31 bits. */
  protected def int(value: UInt): Int = value.peek().litValue.toInt

  /** At most 64 bits, the highest as the sign. */
  protected def long(value: UInt): Long = value.peek().litValue.toLong
}

object RegisterAccess {
  def get(word: BigInt, f: MapField): BigInt = word >> f.lsb & ((BigInt(1) << f.width) - 1)
  def put(f: MapField, value: BigInt): BigInt = value << f.lsb
}

/** Writes and reads registers behind a port as the bus does, one access at a time.
  *
  * @param step
  *   a clock edge, with all that the test does around it
  */
class RegisterAccess(regs: RegPort, step: () => Unit) extends PeekPokeAPI {

  /** Asks for nothing. */
  def idle(): Unit = {
    regs.write.valid.poke(false)
    regs.read.valid.poke(false)
  }

  /** One cycle. */
  def write(offset: Int, data: BigInt, strobes: Int = 255): Unit = {
    regs.write.bits.addr.poke(offset)
    regs.write.bits.data.poke(data.U)
    regs.write.bits.strb.poke(strobes)
    regs.write.valid.poke(true)
    step()
    regs.write.valid.poke(false)
  }

  /** `RegPort.ReadCycles` cycles. */
  def read(offset: Int): BigInt = {
    regs.read.bits.poke(offset)
    regs.read.valid.poke(true)
    step()
    regs.read.valid.poke(false)
    for (_ <- 1 until RegPort.ReadCycles) step()
    regs.readData.peek().litValue
  }
}
