// SPDX-License-Identifier: Apache-2.0
package hwswap
package tables

import chisel3._
import chisel3.util._
import hwswap.bus.Axi

/** The format of a swap-table word (`mm/swap_table.h`), as far as the engine needs it. */
object TableEntry {
  private val map = MemMap.TableEntry

  /** Kinds of words; see TableKindCode. */
  val Kinds: Int = TableKindCode.Other + 1
  val KindBits: Int = log2Ceil(Kinds)

  /** Count and zero flag, which stay when a word becomes a page's or a shadow's: the highest bits. */
  val FlagBits: Int = map.Shadow.Count.width + map.Shadow.Zero.width

  /** All below the flags. */
  val ValueBits: Int = Axi.DataBits - FlagBits

  /** Number of a page. */
  val PfnBits: Int = map.Pfn.Pfn.width
  require(map.Shadow.Zero.lsb == ValueBits && map.Shadow.Count.lsb == ValueBits + map.Shadow.Zero.width)
  require(PfnBits + map.Pfn.Pfn.lsb == ValueBits)

  /** `SWP_TB_BAD`: all ones but the lowest three bits. */
  private val bad = ((BigInt(1) << (Axi.DataBits - 3)) - 1) << 3

  /** The kind of a word: the one place where words are told apart. */
  def kind(word: UInt): UInt = {
    val isPage = word(1, 0) === 2.U
    val none = MapAccess.get(word, map.Shadow.Count) === 0.U
    MuxCase(
      TableKindCode.Other.U(KindBits.W),
      Seq(
        word(0) -> TableKindCode.Shadow.U,
        (isPage && none) -> TableKindCode.Unused.U,
        isPage -> TableKindCode.Cached.U,
        word(2) -> TableKindCode.Pointer.U,
        (word === 0.U) -> TableKindCode.Free.U,
        (word === bad.U) -> TableKindCode.Bad.U
      )
    )
  }

  /** A slot of this kind is in use: its word has a count and a zero flag. */
  def inUse(kind: UInt): Bool =
    Seq(TableKindCode.Shadow, TableKindCode.Cached, TableKindCode.Unused).map(kind === _.U).reduce(_ || _)

  /** A set of kinds, a bit each, has this one. */
  def has(kinds: UInt, kind: UInt): Bool = (UIntToOH(kind, Kinds) & kinds).orR

  /** Count and zero flag of a word. */
  def flags(word: UInt): UInt = word(Axi.DataBits - 1, ValueBits)

  /** All else. */
  def value(word: UInt): UInt = word(ValueBits - 1, 0)

  /** All but the flags of the word of a page. */
  def page(pfn: UInt): UInt = pfn(PfnBits - 1, 0) ## 2.U(map.Pfn.PfnMark.width.W)
}
