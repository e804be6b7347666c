// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._
import chisel3.util._
import hwswap.bus.RoundRobin

/** The core as one of its users sees it: a request, then exactly one response. */
class CorePort(implicit p: Params) extends Bundle {
  val req = Decoupled(new CoreReq)
  val resp = Flipped(Decoupled(new CoreResp))
}

object CorePort {

  /** A request with every field 0; users fill in the fields of their operation. */
  def blank(implicit p: Params): CoreReq = {
    val req = Wire(new CoreReq)
    for ((_, field) <- req.elements if field ne req.op) field := 0.U.asTypeOf(field)
    req.op := CoreOp.check
    req
  }
}

/** Shares the core: each response goes back to the user whose request it answers. Several requests may be in the core,
  * of one user or of several; their responses come in the same order. Users take turns (round-robin), and
  * the turn is given one cycle before the core sees the request. A user may take its request back until the core takes
  * it, as the command ring does when the engine stops: the turn is over then.
  *
  * @param users
  *   number of user ports
  */
class CoreArbiter(users: Int)(implicit p: Params) extends Module {
  val io = IO(new Bundle {
    val users = Vec(CoreArbiter.this.users, Flipped(new CorePort))
    val core = new CorePort

    /** A request is at the core, or will be in the next cycle. */
    val busy = Output(Bool())
  })

  val granted = RegInit(false.B)
  val owner = RegInit(0.U(log2Ceil(users).max(1).W))

  /** The users whose requests the core has not answered. */
  val asked = Module(new Queue(chiselTypeOf(owner), CoreArbiter.Depth))

  // The turn goes to the next user after the last that wants it, while there is a place for its request.
  private val wants = io.users.map(_.req.valid)
  when(!granted && asked.io.enq.ready && VecInit(wants).asUInt.orR) {
    granted := true.B
    owner := RoundRobin(wants, owner)
  }
  private val wanted = VecInit(wants)(owner)
  when(granted && (io.core.req.ready || !wanted))(granted := false.B)
  asked.io.enq.valid := io.core.req.fire
  asked.io.enq.bits := owner
  asked.io.deq.ready := io.core.resp.fire
  io.busy := asked.io.deq.valid || granted

  io.core.req.valid := granted && wanted
  io.core.req.bits := VecInit(io.users.map(_.req.bits))(owner)
  for ((user, i) <- io.users.zipWithIndex) user.req.ready := granted && owner === i.U && io.core.req.ready

  io.core.resp.ready := false.B
  for ((user, i) <- io.users.zipWithIndex) {
    val mine = asked.io.deq.valid && asked.io.deq.bits === i.U
    user.resp.valid := mine && io.core.resp.valid
    user.resp.bits := io.core.resp.bits
    when(mine)(io.core.resp.ready := user.resp.ready)
  }

  assert(asked.io.deq.valid || !io.core.resp.valid, "core: a response without a request")
  assert(!io.core.req.fire || asked.io.enq.ready, "core: more requests than there are places")
}

object CoreArbiter {

  /** Requests in the core at once; it has room for fewer. */
  val Depth: Int = 8
}
