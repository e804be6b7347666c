// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3._
import chisel3.util._

/** The core as one of its users sees it: a request, then exactly one response. */
class CorePort(p: Params) extends Bundle {
  val req = Decoupled(new CoreReq(p))
  val resp = Flipped(Decoupled(new CoreResp))
}

object CorePort {

  /** A request with every field 0; users fill in what their operation names. */
  def blank(p: Params): CoreReq = {
    val req = Wire(new CoreReq(p))
    for ((_, field) <- req.elements if field ne req.op) field := 0.U.asTypeOf(field)
    req.op := CoreOp.check
    req
  }
}

/** Shares the core: each response goes back to the user whose request it answers. Users take turns (round-robin).
  *
  * @param users
  *   number of user ports
  */
class CoreArbiter(p: Params, users: Int) extends Module {
  val io = IO(new Bundle {
    val users = Vec(CoreArbiter.this.users, Flipped(new CorePort(p)))
    val core = new CorePort(p)

    /** A request is at the core. */
    val busy = Output(Bool())
  })

  val busy = RegInit(false.B)
  val owner = Reg(UInt(log2Ceil(users).max(1).W))

  val pick = Module(new RRArbiter(new CoreReq(p), users))
  for ((in, user) <- pick.io.in.zip(io.users)) in <> user.req

  // The next request may go in while the last response leaves.
  val free = !busy || io.core.resp.fire
  io.core.req.valid := pick.io.out.valid && free
  io.core.req.bits := pick.io.out.bits
  pick.io.out.ready := io.core.req.ready && free
  when(io.core.req.fire)(owner := pick.io.chosen)
  busy := io.core.req.fire || (busy && !io.core.resp.fire)
  io.busy := busy

  io.core.resp.ready := false.B
  for ((user, i) <- io.users.zipWithIndex) {
    val mine = busy && owner === i.U
    user.resp.valid := mine && io.core.resp.valid
    user.resp.bits := io.core.resp.bits
    when(mine)(io.core.resp.ready := user.resp.ready)
  }

  assert(busy || !io.core.resp.valid, "core: a response without a request")
}
