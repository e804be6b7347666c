// SPDX-License-Identifier: Apache-2.0
package hwswap

import org.scalatest.Informing

import scala.util.Random

/** Random numbers that can be had again: the seed is printed, and HWSWAP_SEED sets it. */
trait Seeded { this: Informing =>

  /** A generator of its own for each use, and the seed in the test's report. */
  protected def seeded(): Random = {
    val seed = sys.env.get("HWSWAP_SEED").map(_.toLong).getOrElse(Seeded.Default)
    info(s"HWSWAP_SEED=$seed")
    new Random(seed)
  }
}

object Seeded {
  private val Default: Long = 20260304
}
