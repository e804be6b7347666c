// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3.simulator.FailedExpectationException
import org.scalatest.{Assertions, Informing}
import org.scalatest.exceptions.TestFailedException

import scala.collection.mutable

/** Cases that are tried on one model, one after the other, since a model takes long to build.
  *
  * @tparam T
  *   drives the model
  */
trait Cases[T] { this: Informing with Assertions =>
  private val cases = mutable.ArrayBuffer.empty[(String, T => Unit)]

  /** One case; the body puts the model back first. */
  protected def inTurn(name: String)(body: T => Unit): Unit = cases += name -> body

  /** Tries all cases, and reports all that fail. */
  protected def tryAll(driver: T): Unit = {
    val broken = cases.toSeq.flatMap { case (name, body) =>
      try {
        body(driver)
        info(name)
        None
      } catch {
        case e: TestFailedException =>
          Some(s"${e.failedCodeFileNameAndLineNumberString.getOrElse("")} $name: ${e.getMessage}")
        case e: FailedExpectationException[_] => Some(s"$name: ${e.getMessage}")
      }
    }
    assert(broken.isEmpty, broken.mkString("\n", "\n", ""))
  }
}
