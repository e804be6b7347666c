// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import scala.collection.mutable
import hwswap.bus.AxiMemory

/** The model: effects of jobs on memory, and their answers, in plain Scala, from the register map's words. */
class TableModel(memory: Long => Long, devices: Map[Int, (Int, Int)]) {
  val directory = mutable.Map.empty[(Int, Int), Long]
  private val bad = ~7L

  def kind(word: Long): Int = word match {
    case 0 => TableKindCode.Free
    case `bad` => TableKindCode.Bad
    case w if (w & 1) == 1 => TableKindCode.Shadow
    case w if (w & 2) == 2 => if ((w >>> 60) == 0) TableKindCode.Unused else TableKindCode.Cached
    case w if (w & 4) == 4 => TableKindCode.Pointer
    case _ => TableKindCode.Other
  }

  /** Status, RESULT, and the words that change in memory. */
  type Outcome = (Int, BigInt, Seq[(Long, Long)])
  private def status(code: Int, value: BigInt = 0): Outcome = (code, value, Nil)

  private def table(device: Int, slot: Long): Option[Long] = directory.get((device, (slot / 512).toInt))
  private def words(device: Int, slot: Long, count: Int): Seq[Long] = Seq.tabulate(count) { i =>
    table(device, slot + i).map(t => memory(t + 8 * ((slot + i) % 512))).getOrElse(0L)
  }
  private def bitmap(at: Long, slots: Seq[Long]): Seq[(Long, Long)] =
    if (at == 0) Nil
    else
      Seq.tabulate(8)(w => (at + 8 * w, slots.filter(_ % 512 / 64 == w).map(s => 1L << (s % 64)).foldLeft(0L)(_ | _)))

  def run(j: TableModelJob): Outcome = {
    val pages = devices.get(j.device).map(_._1).getOrElse(0)
    val inside = j.slot < pages
    val oneCluster = inside && j.nr > 0 && j.slot % 512 + j.nr <= 512 && j.slot + j.nr <= pages
    val aligned = (j.arg2 & 63) == 0
    val first = (j.slot / 512).toInt
    val clusters = (pages + 511) / 512
    def slots = Seq.tabulate(j.nr)(i => j.slot + i)
    def named(word: Long) = (j.kinds >> kind(word) & 1) == 1
    val limit = j.arg1 & 0xffffffffL
    val toEnd = if (limit == 0) pages - j.slot else limit.min(pages - j.slot)
    val used = Set(TableKindCode.Shadow, TableKindCode.Cached, TableKindCode.Unused)
    def change(ok: (Long, Int) => Boolean, next: (Long, Int) => Long, map: Boolean): Outcome =
      if (!oneCluster || (map && !aligned)) status(StatusCode.BadRange)
      else if (table(j.device, j.slot).isEmpty) status(StatusCode.NoTable)
      else {
        val old = words(j.device, j.slot, j.nr)
        val wrong = old.zipWithIndex.filter { case (w, i) => !ok(w, i) }.map(j.slot + _._2)
        val bits = if (map) bitmap(j.arg2, wrong) else Nil
        if (wrong.nonEmpty) (StatusCode.Unexpected, BigInt(wrong.head), bits)
        else {
          val at = table(j.device, j.slot).get + 8 * (j.slot % 512)
          val changes = old.zipWithIndex.map { case (w, i) => (at + 8 * i, next(w, i)) }
          (StatusCode.Ok, AxiMemory.unsigned(old.head), bits ++ changes)
        }
      }
    val flags = 0x1fL << 59
    def page(pfn: Long): Long = (pfn << 2 | 2) & ~flags
    if (!devices.contains(j.device)) status(StatusCode.BadDevice)
    else
      j.op match {
        case TableOp.give =>
          if (j.nr == 0 || first + j.nr > clusters || !aligned) status(StatusCode.BadRange)
          else {
            val addresses = Seq.tabulate(j.nr)(i => memory(j.arg2 + 8 * i))
            val good = addresses.takeWhile(_ % 4096 == 0)
            for ((address, i) <- good.zipWithIndex)
              if (address == 0) directory -= ((j.device, first + i)) else directory((j.device, first + i)) = address
            status(if (good.length == j.nr) StatusCode.Ok else StatusCode.BadRange)
          }
        case TableOp.take =>
          if (j.nr == 0 || first + j.nr > clusters) status(StatusCode.BadRange)
          else status(StatusCode.Ok, (first until first + j.nr).count(c => directory.remove((j.device, c)).nonEmpty))
        case TableOp.off =>
          directory.keys.filter(_._1 == j.device).toSeq.foreach(directory -= _)
          status(StatusCode.Ok)
        case TableOp.lookup =>
          if (!inside) status(StatusCode.BadRange)
          else if (table(j.device, j.slot).isEmpty) status(StatusCode.NoTable)
          else status(StatusCode.Ok, AxiMemory.unsigned(words(j.device, j.slot, 1).head))
        case TableOp.range =>
          if (!oneCluster || !aligned) status(StatusCode.BadRange)
          else {
            val kinds = words(j.device, j.slot, j.nr).map(kind)
            val maps = (0 until 7).flatMap(k => bitmap(1, slots.zip(kinds).filter(_._2 == k).map(_._1)).map(_._2))
            def numbers(ks: Range) = ks.map(k => kinds.count(_ == k).toLong << (16 * (k % 4))).sum
            val there = table(j.device, j.slot).nonEmpty
            val out = maps ++ Seq(numbers(0 until 4), numbers(4 until 7) | (if (there) 1L << 48 else 0)) ++
              Seq.fill(6)(0L)
            (
              if (there) StatusCode.Ok else StatusCode.NoTable,
              kinds.count(used),
              out.zipWithIndex.map { case (w, i) => (j.arg2 + 8 * i, w) }
            )
          }
        case TableOp.count =>
          if (!inside || !aligned) status(StatusCode.BadRange)
          else {
            val kinds = words(j.device, j.slot, toEnd.toInt).map(kind)
            val there = (first to ((j.slot + toEnd - 1) / 512).toInt).count(c => directory.contains((j.device, c)))
            val out = (0 until 7).map(k => kinds.count(_ == k).toLong) :+ there.toLong
            (StatusCode.Ok, kinds.count(used), out.zipWithIndex.map { case (w, i) => (j.arg2 + 8 * i, w) })
          }
        case TableOp.scan =>
          if (!inside || !aligned) status(StatusCode.BadRange)
          else {
            val hits = words(j.device, j.slot, toEnd.toInt).zipWithIndex.filter(w => named(w._1)).map(j.slot + _._2)
            if (hits.isEmpty) status(StatusCode.NoSpace)
            else (StatusCode.Ok, hits.head, bitmap(j.arg2, hits.filter(_ / 512 == hits.head / 512)))
          }
        case TableOp.fill =>
          change((w, _) => named(w), (w, _) => w & flags | page(j.arg1), map = true)
        case TableOp.clear =>
          if (j.arg1 != 0 && (j.arg1 & 1) == 0) status(StatusCode.BadRange)
          else change((w, _) => named(w), (w, _) => if (j.arg1 == 0) 0 else w & flags | j.arg1 & ~flags, map = true)
        case _ =>
          change((w, _) => (w & ~flags) == page(j.arg2), (w, _) => w & flags | page(j.arg1), map = false)
      }
  }
}

/** A job's fields, as numbers. */
final case class TableModelJob(
    op: TableOp.Type,
    device: Int = 0,
    nr: Int = 0,
    slot: Long = 0,
    kinds: Int = 0,
    arg1: Long = 0,
    arg2: Long = 0
)
