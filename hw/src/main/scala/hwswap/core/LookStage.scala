// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._

/** The outcome for a cluster: its new record, the list it belongs on, and whether it has to move there. */
class ClusterOutcome(implicit p: Params) extends Bundle {
  val meta = new ClusterMeta
  val list = UInt(p.listBits.W)
  val relist = Bool()
}

/** The stage `look`: values that follow from the open cluster, its device and the request, before the search's result
  * is known. The commit, which comes one cycle later, has them in registers.
  *
  *   - owner, rotating: the device's number, and whether it rotates
  *   - inDevice: the cluster's number in its device
  *   - present: the list it is on; onFrag, empty: its state before; filled: the allocation fills it
  *   - low: 2^order - 1
  *   - usable: an allocation that has come by a hint may use it
  *   - changed, unchanged: the outcome with the request carried out, and without
  *   - mayMove: one of the two may put it on another list
  *   - emptied: a free leaves no slot in use
  *   - delta: by how much the number of slots in use changes
  */
class LookStage(implicit p: Params) extends Bundle {
  val owner = UInt(p.deviceBits.W)
  val rotating = Bool()
  val inDevice = UInt(p.clusterBits.W)
  val present = UInt(p.listBits.W)
  val onFrag, empty, filled = Bool()
  val low = UInt(p.slotBits.W)
  val usable = Bool()
  val changed, unchanged = new ClusterOutcome
  val mayMove = Bool()
  val emptied = Bool()
  val delta = SInt((p.countBits + 1).W)
}

object LookStage {

  /** Upper bits of a count that are compared for a guess. */
  private val UpperBits: Int = 4

  /** Returns the stage's values for a cluster.
    *
    * @param op
    *   the request
    * @param slots
    *   2^order: how many slots an allocation gets
    * @param number
    *   of the cluster's device, with `device`
    * @param listed
    *   it comes from a list's head, not by way of a hint
    * @param random
    *   the policy is RANDOM_TRUNK, whose hints may lead to a cluster on FREE
    */
  def apply(
      op: PipeOp,
      slots: UInt,
      opened: OpenedCluster,
      number: UInt,
      device: SwapDevice,
      listed: Bool,
      random: Bool
  )(implicit
      p: Params
  ): LookStage = {
    val meta = opened.meta
    def outcome(count: UInt, flag: ClusterFlag.Type, order: UInt, list: UInt): ClusterOutcome = {
      val outcome = Wire(new ClusterOutcome)
      outcome.meta.count := count
      outcome.meta.flag := flag
      outcome.meta.order := order
      outcome.meta.taken := false.B
      outcome.list := list
      outcome.relist := listed || flag =/= meta.flag
      outcome
    }
    def fragOf(order: UInt): UInt = ListId(ClusterFlag.frag, order)
    val fillsUp = meta.count + slots === p.slots.U
    val isFull = meta.count === p.slots.U
    val newOrder = Mux(opened.empty, op.order, meta.order)
    val giving = outcome(
      meta.count + slots,
      Mux(fillsUp, ClusterFlag.full, ClusterFlag.frag),
      newOrder,
      Mux(fillsUp, ListId.full.U, fragOf(newOrder))
    )
    val kept = outcome(
      meta.count,
      Mux(opened.empty, ClusterFlag.free, Mux(isFull, ClusterFlag.full, ClusterFlag.frag)),
      Mux(opened.empty, 0.U, meta.order),
      Mux(opened.empty, ListId.free, Mux(isFull, ListId.full.U, fragOf(meta.order)))
    )
    val empties = meta.count === op.nr
    val discards = device.info.writeok && device.has(MemMap.DeviceFlags.Flags.Discard)
    val freed = outcome(
      meta.count - op.nr,
      Mux(empties, Mux(discards, ClusterFlag.discard, ClusterFlag.free), ClusterFlag.nonfull),
      Mux(empties && !discards, 0.U, meta.order),
      Mux(empties, Mux(discards, ListId.discard.U, ListId.free), ListId(ClusterFlag.nonfull, meta.order))
    )

    // The upper bits tell whether the cluster may fill up or get empty: a carry chain would come late, and at worst a
    // commit waits for a list move that it does not need.
    val upper = (p.countBits - UpperBits).max(0)
    val mayFill = (slots | meta.count)(p.countBits - 1, p.slotBits - 1).orR
    val mayEmpty = (meta.count >> upper) === (op.nr >> upper)

    val look = Wire(new LookStage)
    look.owner := number
    look.rotating := !device.has(MemMap.DeviceFlags.Flags.Solidstate)
    look.inDevice := (opened.cluster - device.info.base)(p.clusterBits - 1, 0)
    look.present := ListId(meta.flag, meta.order)
    look.onFrag := meta.flag === ClusterFlag.frag
    look.empty := opened.empty
    look.filled := fillsUp
    look.low := SlotRange.lowSlots(op.order)
    // `cluster_is_usable()`; a FREE cluster has no table, an off-list one is in the kernel's hands.
    look.usable :=
      (meta.flag.isOneOf(ClusterFlag.nonfull, ClusterFlag.frag) && (op.order === 0.U || op.order === meta.order)) ||
        (meta.flag === ClusterFlag.free && random && device.info.writeok && !look.rotating)
    look.changed := Mux(op.alloc, giving, freed)
    look.unchanged := kept
    look.mayMove := Mux(
      op.alloc,
      listed || meta.flag =/= ClusterFlag.frag || opened.empty || mayFill,
      meta.flag =/= ClusterFlag.nonfull || mayEmpty
    )
    look.emptied := empties
    look.delta := Mux(op.alloc, slots.zext, -op.nr.zext)
    look
  }
}
