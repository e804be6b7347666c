// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import hwswap.tables.TableCommand._

/** One operation on swap tables, from its checks to what it writes: a row of TableCommand.rows. A job goes through its
  * row in the sequence of these parameters, after the checks that all have: the engine has not stopped (BUS_ERROR), and
  * there is such a device (BAD_DEVICE).
  *
  * @param range
  *   slots or clusters that have to lie in the device (BAD_RANGE)
  * @param line
  *   ARG2 is an address in host memory, 0 or a multiple of a line (BAD_RANGE)
  * @param shadow
  *   ARG1 is a shadow or 0 (BAD_RANGE)
  * @param tabled
  *   it ends at once (OK) if the device never had a table
  * @param walk
  *   slots whose words it looks at; with none it changes the directory, and ends with that (TableGive)
  * @param mark
  *   slots that make a hit, and that its bitmap has
  * @param everywhere
  *   it goes on without the table of a cluster, which else ends it (NO_TABLE)
  * @param hit
  *   its end if there is a hit; without it none is looked for
  * @param end
  *   its end otherwise
  * @param early
  *   it writes once the last word has come, before all is counted: status and RESULT follow
  */
final case class TableCommand(
    op: TableOp.Type,
    range: Range.Value,
    line: Boolean = false,
    shadow: Boolean = false,
    tabled: Boolean = false,
    walk: Walk.Value = Walk.none,
    mark: Mark.Value = Mark.none,
    everywhere: Boolean = false,
    hit: Option[End] = None,
    end: End = End(StatusCode.Ok, Answer.zero),
    early: Boolean = false
) {

  /** It writes the table, after all words were as expected. */
  val changes: Boolean = end.writes.contains(ReportKind.words)

  /** All its slots are of one cluster. */
  val inCluster: Boolean = range == Range.slots
}

object TableCommand {

  /** The range that has to lie in the device: none, as it is the whole device; SLOT; `nr` slots from there on, in one
    * cluster; `nr` clusters.
    */
  object Range extends Enumeration {
    val device, slot, slots, clusters = Value
  }

  /** The slots whose words are looked at, from SLOT on: none, one, `nr`, or as many as ARG1 says, or all to the end. */
  object Walk extends Enumeration {
    val none, one, nr, limit = Value
  }

  /** Slots that are marked: none; all; those of the kinds given; those of others; all but those of the page in ARG2. */
  object Mark extends Enumeration {
    val none, all, listed, unlisted, otherPage = Value
  }

  /** RESULT: 0; the first word; slots in use; the slot of the hit; clusters that had a table. */
  object Answer extends Enumeration {
    val zero, first, used, place, tables = Value
  }

  /** Status and RESULT, after the bitmap of the last cluster (if ARG2 is not 0) and then the report were written. */
  final case class End(
      status: Int,
      answer: Answer.Value,
      bitmap: Boolean = false,
      writes: Option[ReportKind.Type] = None
  )

  import StatusCode.{NoSpace, Ok, Unexpected}
  import Answer.{first, place, used, zero}
  private val words = Some(ReportKind.words)
  private val changed = End(Ok, first, bitmap = true, writes = words)
  private val unexpected = Some(End(Unexpected, place, bitmap = true))

  val rows: Seq[TableCommand] = Seq(
    TableCommand(TableOp.give, Range.clusters, line = true),
    TableCommand(TableOp.take, Range.clusters, tabled = true, end = End(Ok, Answer.tables)),
    TableCommand(TableOp.off, Range.device, tabled = true),
    TableCommand(TableOp.lookup, Range.slot, walk = Walk.one, end = End(Ok, first)),
    TableCommand(
      TableOp.range,
      Range.slots,
      line = true,
      walk = Walk.nr,
      mark = Mark.all,
      everywhere = true,
      end = End(Ok, used, writes = Some(ReportKind.range)),
      early = true
    ),
    TableCommand(
      TableOp.count,
      Range.slot,
      line = true,
      walk = Walk.limit,
      everywhere = true,
      end = End(Ok, used, writes = Some(ReportKind.counts))
    ),
    TableCommand(
      TableOp.scan,
      Range.slot,
      line = true,
      walk = Walk.limit,
      mark = Mark.listed,
      everywhere = true,
      hit = Some(End(Ok, place, bitmap = true)),
      end = End(NoSpace, zero)
    ),
    TableCommand(
      TableOp.fill,
      Range.slots,
      line = true,
      walk = Walk.nr,
      mark = Mark.unlisted,
      hit = unexpected,
      end = changed
    ),
    TableCommand(
      TableOp.clear,
      Range.slots,
      line = true,
      shadow = true,
      walk = Walk.nr,
      mark = Mark.unlisted,
      hit = unexpected,
      end = changed
    ),
    TableCommand(
      TableOp.replace,
      Range.slots,
      walk = Walk.nr,
      mark = Mark.otherPage,
      hit = Some(End(Unexpected, place)),
      end = End(Ok, first, writes = words)
    )
  )
  require(rows.map(_.op) == TableOp.all, "an operation on swap tables has no row, or more than one")

  /** Whether this is an operation whose row has something. */
  def has(op: TableOp.Type)(property: TableCommand => Boolean): Bool =
    op.isOneOf(rows.filter(property).map(_.op))
}
