// SPDX-License-Identifier: Apache-2.0
package hwswap
package store

import chisel3._
import chisel3.util._

/** The aligned free runs in one word of a row (32 slots, a bit each, 1 where a slot is in use). */
object FreeRuns {

  /** For each order from 0 to 5: bit i says that slots i to i + 2^order - 1 are free, where i is a multiple of 2^order;
    * the other bits are 0. Each order follows from the one below: both halves are free.
    */
  private def byOrder(used: UInt): Seq[Seq[Bool]] =
    (1 to log2Ceil(used.getWidth)).scanLeft((~used).asBools) { (below, order) =>
      val half = 1 << (order - 1)
      below.indices.map(i => if (i % (2 * half) == 0) below(i) && below(i + half) else false.B)
    }

  /** Returns the starts of runs of this order. For order 5, a whole word, and orders above, bit 0 is set: they are
    * asked about empty words only.
    */
  def starts(used: UInt, order: UInt): UInt = {
    val runs = byOrder(used).init
    val isOrder = runs.indices.map(k => order === k.U)
    VecInit
      .tabulate(used.getWidth) { i =>
        val fits = runs.indices.filter(k => i % (1 << k) == 0).map(k => runs(k)(i) && isOrder(k)).reduce(_ || _)
        if (i == 0) fits || atLeast(order, runs.length) else fits
      }
      .asUInt
  }

  private def any(used: UInt): Seq[Bool] = byOrder(used).map(VecInit(_).asUInt.orR)

  /** There is a run of this order; for an order above 5: the word is empty. */
  def holds(used: UInt, order: UInt): Bool = {
    val runs = any(used)
    val last = runs.length - 1
    runs.zipWithIndex
      .map { case (some, k) => some && (if (k == last) atLeast(order, k) else order === k.U) }
      .reduce(_ || _)
  }

  /** Returns for how many orders the word has a run: 0 when it is full, k + 1 when there is one of order k and none
    * above, 6 when it is empty.
    */
  def orders(used: UInt): UInt = {
    val some = any(used)
    // An order's run holds runs of all orders below.
    val bits = log2Ceil(some.length + 1)
    VecInit
      .tabulate(bits) { b =>
        (1 to some.length)
          .filter(n => (n >> b & 1) == 1)
          .map(n => some(n - 1) && some.lift(n).map(!_).getOrElse(true.B))
          .reduce(_ || _)
      }
      .asUInt
  }

  /** The word that has runs of so many orders has one of this order; for an order above 5: it is empty. */
  def fits(orders: UInt, order: UInt)(implicit p: Params): Bool = orders > below(order)

  /** The greatest number of orders with which a word has no run of this order. */
  def below(order: UInt)(implicit p: Params): UInt = {
    val most = (p.wordOrders - 1).U
    Mux(atLeast(order, p.wordOrders), most, order(log2Ceil(p.wordOrders) - 1, 0))
  }

  /** The order is this one or greater; looked up, as a comparison would be a carry chain. */
  def atLeast(order: UInt, least: Int): Bool = {
    val values = 1 << order.getWidth
    ((BigInt(1) << values) - (BigInt(1) << least.min(values))).U(values.W)(order)
  }
}
