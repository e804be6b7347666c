// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._

/** The executor and the open cluster it works on, wired as in the core; the test plays all others. */
class ExecutorUnderTest(implicit p: Params) extends Module {
  private val executor = Module(new Executor)
  private val cluster = Module(new OpenCluster)

  val op = IO(Flipped(Valid(new PipeOp)))
  val next = IO(Input(UInt(p.clusterBits.W)))
  val needsCluster = IO(Input(Bool()))
  val alike = IO(Input(Bool()))
  val take, exclusive, unitTurn = IO(Output(Bool()))
  val key = IO(Output(new HintKey))
  val resp = IO(Valid(new UnitResp))
  val move = IO(Valid(new ListMove))
  val respRoom, moveRoom = IO(Input(Bool()))
  val newHint = IO(Valid(new HintWrite))
  val change = IO(Output(new DeviceUpdate))
  val devices = IO(Input(Vec(p.devices, new SwapDevice)))
  val unitDone = IO(Input(Bool()))

  // The store's reader; the slow path.
  val read, slowOpen = IO(Flipped(Valid(UInt(p.clusterBits.W))))
  val slowStart, searched, allocated = IO(Output(Bool()))
  val slowFailed = IO(Input(Bool()))
  val slowDevice = IO(Input(UInt(p.deviceBits.W)))
  val list = IO(Input(UInt(p.listBits.W)))

  // Makes all clusters empty, before anything else.
  val blank = IO(Input(Bool()))
  val put = IO(Flipped(Valid(UInt(p.wordBits.W))))

  executor.io := DontCare
  executor.io.next.op := op
  executor.io.next.cluster := next
  executor.io.next.needsCluster := needsCluster
  executor.io.forward.alike := alike
  take := executor.io.next.take
  exclusive := executor.io.next.exclusive
  unitTurn := executor.io.turn.turn
  key := executor.io.forward.key
  resp := executor.io.resp
  executor.io.room.resp := respRoom
  move := executor.io.move
  executor.io.room.move := moveRoom
  newHint := executor.io.forward.newHint
  change := executor.io.change
  executor.io.devices := devices
  executor.io.turn.done := unitDone
  executor.io.walkPick := 0.U
  executor.io.policy := 0.U.asTypeOf(new Policy)

  slowStart := executor.io.slow.start
  searched := executor.io.slow.searched
  allocated := executor.io.slow.allocated
  executor.io.slow.search := slowOpen.valid && !blank
  executor.io.slow.resuming := false.B
  executor.io.slow.failed := slowFailed
  executor.io.slow.device := slowDevice
  executor.io.slow.list := list
  executor.io.slow.position := 2.U

  cluster.io.read := read
  cluster.io.open.valid := executor.io.open.valid || slowOpen.valid
  cluster.io.open.bits := Mux(slowOpen.valid, slowOpen.bits, executor.io.open.bits)
  cluster.io.nextOrder := Mux(executor.io.next.exclusive, executor.io.search.order, op.bits.order)
  private val free = Wire(new ClusterMeta)
  free.count := 0.U
  free.flag := ClusterFlag.free
  free.order := 0.U
  free.taken := false.B
  cluster.io.newMeta.valid := executor.io.newMeta.valid || put.valid
  cluster.io.newMeta.bits := Mux(put.valid, free, executor.io.newMeta.bits)
  cluster.io.newEmpty := executor.io.newEmpty || put.valid
  cluster.io.put := put
  cluster.io.newWord := 0.U
  cluster.io.change := executor.io.rowChange
  executor.io.search <> cluster.io.search
  executor.io.opened := cluster.io.opened
}

/** A request as it comes to the executor. */
private sealed trait Work
private final case class Wants(cpu: Int, order: Int) extends Work
private final case class Frees(cluster: Int, first: Int, nr: Int) extends Work
private final case class Refused(status: Int) extends Work
private case object ForUnit extends Work

/** A cluster slot by slot, and its list. */
private class ModelCluster(val number: Int, val device: Int, slots: Int) {
  val used: Array[Boolean] = Array.fill(slots)(false)
  var flag: ClusterFlag.Type = ClusterFlag.free
  var order: Int = 0
  def count: Int = used.count(identity)
  def firstFit(order: Int, from: Int): Option[Int] =
    (0 until slots by (1 << order)).find(s => s >= from && !(s until s + (1 << order)).exists(used(_)))
}
