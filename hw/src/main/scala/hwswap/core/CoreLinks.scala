// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

// The links between the parts of the core, pair by pair: docs/engine.md has the picture. Each Bundle is seen from the
// part that is named first; the other one has it flipped, and Core joins them.

/** Intake and executor: the request that comes next.
  *
  *   - op: the request, when it may be taken
  *   - cluster: its cluster, which was read one cycle before, if it `needsCluster`
  *   - take: it leaves the intake at the end of this cycle
  *   - exclusive: the store belongs to the slow path or a unit; the intake reads nothing
  */
class NextRequest(implicit p: Params) extends Bundle {
  val op = Valid(new PipeOp)
  val cluster = Output(UInt(p.clusterBits.W))
  val needsCluster = Output(Bool())
  val take = Input(Bool())
  val exclusive = Input(Bool())
}

/** Executor and intake: hints that requests on their way have to know of before they are in CpuHints.
  *
  *   - newHint: a hint that is written in this cycle, one after the commit
  *   - nextKey: the key of the one that is written in the next cycle, if one is
  *   - key: that of the executor's request
  *   - alike: the request that comes next had this key one cycle ago
  */
class HintForwarding(implicit p: Params) extends Bundle {
  val newHint = Valid(new HintWrite)
  val nextKey = Output(new HintKey)
  val key = Output(new HintKey)
  val alike = Input(Bool())
}

/** Intake and units: the request for a unit, steady until `done`; its device as it was one cycle ago, and whether there
  * is such a device (`claimed`).
  */
class UnitRequest(implicit p: Params) extends Bundle {
  val req = Output(new CoreReq)
  val device = Output(new SwapDevice)
  val claimed = Output(Bool())
  val done = Input(Bool())
}

/** Executor and units: it is a unit's turn until `done` (one cycle); `refused`: a unit's request was refused before it
  * came to the unit (one cycle).
  */
class UnitTurn extends Bundle {
  val turn = Output(Bool())
  val done = Input(Bool())
  val refused = Output(Bool())
}

/** The open cluster as all see it: its number, its record, and whether no slot of it is in use. */
class OpenedCluster(implicit p: Params) extends Bundle {
  val cluster = UInt(p.clusterBits.W)
  val meta = new ClusterMeta
  val empty = Bool()
}

/** Executor and open cluster: looking into its row. `look` picks a word and looks for a run; the result is there
  * one cycle later, until the next look.
  */
class ClusterSearch(implicit p: Params) extends Bundle {

  /** Pick this word of the row. */
  val look = Output(Bool())
  val pick = Output(UInt(p.wordBits.W))

  /** Look for 2^order free slots after slot `after`, which is in the word picked, or anywhere: see FreeRunFinder.
    */
  val order = Output(UInt(p.orderBits.W))
  val after = Output(UInt(p.slotBits.W))
  val anywhere = Output(Bool())
  val later = Output(UInt(p.words.W))
  val found = Input(Bool())
  val foundSlot = Input(UInt(p.slotBits.W))
  val foundHere = Input(Bool())
  val beyond = Input(UInt(p.words.W))

  /** The slots of `checked` in the word that is picked, and all of `checkedWords`, are used. */
  val checked = Output(new SlotRange)
  val checkedWords = Output(UInt(p.words.W))
  val allUsed = Input(Bool())

  /** In this cycle a look sees the right word, but neither finds anything nor checks other words: slots were changed in
    * the cycle in which the cluster, which was open already, was opened. A look without an `open` may follow a change
    * at once, if it is for the same order, and all that was changed lies in front of `after`.
    */
  val stale = Input(Bool())

  /** Slots are being changed in this cycle. */
  val changing = Input(Bool())
}

/** Room in the next cycle: for an answer; for a list move, if there is none in this cycle. */
class CommitRoom extends Bundle {
  val resp, move = Bool()
}

/** Executor and slow path: an allocation that goes on with the slow path. */
class SlowSearch(implicit p: Params) extends Bundle {

  /** Begin, for this order, which is steady until the end. */
  val start = Output(Bool())
  val order = Output(UInt(p.orderBits.W))

  /** Begin with all of this hint's cluster. */
  val again = Output(Bool())
  val place = Output(new CpuHint)

  /** Search the open cluster, from the next cycle on. */
  val search = Input(Bool())

  /** It was reached by a hint, or by the index: search it after this slot, or all of it, if it is usable. */
  val resuming = Input(Bool())
  val resumeBehind = Input(UInt(p.slotBits.W))
  val resumeWhole = Input(Bool())

  /** The index was asked for it, or for whether FREE is looked at. */
  val indexed = Input(Bool())

  /** It was searched, and slots in it were allocated, or not. */
  val searched = Output(Bool())
  val allocated = Output(Bool())

  /** Nothing was found (one cycle). */
  val failed = Input(Bool())

  // The place where the open cluster was found: it is the head of `list`; and the cluster after it.
  val device = Input(UInt(p.deviceBits.W))
  val list = Input(UInt(p.listBits.W))
  val next = Input(UInt(p.clusterBits.W))
  val alone = Input(Bool())
  val position = Input(UInt(AllocWalk.bits.W))
}

/** Asks the lists: both ends of list `peekList` of device `peekDevice`, and both links of a cluster. */
class ListQuery(implicit p: Params) extends Bundle {
  val peek = Bool()
  val peekDevice = UInt(p.deviceBits.W)
  val peekList = UInt(p.listBits.W)
  val look = Valid(UInt(p.clusterBits.W))
}

/** The other parts' view of the lists. Answers are there two cycles later, in registers; `newHead` one cycle earlier,
  * for that cycle only.
  *
  *   - idle: no move is under way or waits
  *   - nonEmpty: bit l of element d: list l of device d holds a cluster
  */
class ListsView(implicit p: Params) extends Bundle {
  val idle = Bool()
  val ends = new ListEnds
  val newHead = UInt(p.clusterBits.W)
  val next = UInt(p.clusterBits.W)
  val prev = UInt(p.clusterBits.W)
  val nonEmpty = Vec(p.devices, UInt(p.lists.W))
}

/** The view of the available list, in the same cycle: its first device, the one after the cursor, the devices that are
  * on it, one bit each, and the list itself.
  */
class AvailableView(implicit p: Params) extends Bundle {
  val first = Valid(UInt(p.deviceBits.W))
  val successor = Valid(UInt(p.deviceBits.W))
  val members = UInt(p.devices.W)
  val places = Vec(p.devices, new AvailablePlace)
}

/** Slow path and index: look for the lowest cluster. `ready` is low from the next cycle until the answers are there, 10
  * cycles at most; they stay: a cluster of that order with a free run of it, and one of any order with a free slot.
  */
class IndexSearch(implicit p: Params) extends Bundle {
  val query = Valid(new IndexQuery)
  val ready = Input(Bool())
  val ofOrder = Flipped(Valid(UInt(p.clusterBits.W)))
  val ofAny = Flipped(Valid(UInt(p.clusterBits.W)))
}
