// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util.RegEnable
import hwswap.bus.Axi4

/** Reads all clusters in turn, keeps a summary of each, and grants clusters to the CPUs that want places: the engine's
  * side of docs/grants.md.
  */
class GrantEngine(implicit p: Params) extends Module {
  val settings = IO(Input(new GrantSettings))
  val axi = IO(new Axi4)

  /** No burst is begun; `busIdle`: none is under way. */
  val flush = IO(Input(Bool()))
  val busIdle = IO(Output(Bool()))

  /** A device's new entry, by valid and ready: see GrantBuilder. */
  val device = IO(Flipped(chisel3.util.Decoupled(new DeviceChange)))

  /** Pulses: a round over the clusters, a pass over the rings; a grant written. */
  val round, passed, granted = IO(Output(Bool()))

  /** The last pass over the rings had nothing to do. */
  val quiet = IO(Output(Bool()))

  /** No round over the clusters, no pass over the rings is under way. */
  val readIdle, grantIdle = IO(Output(Bool()))

  /** A cluster is being read, or a pass over the rings is under way. */
  val working = IO(Output(Bool()))

  /** The bus has answered with an error; nothing is asked of it any more, until reset. */
  val failed = IO(Output(Bool()))

  private val reader = Module(new ClusterReader)
  private val builder = Module(new GrantBuilder)
  private val summaries = Module(new ClusterSummaries)
  private val noRun = Module(new NoRun)
  private val bursts = Module(new AxiBursts(2))
  axi <> bursts.io.axi
  bursts.io.flush := flush
  busIdle := bursts.io.idle
  failed := bursts.io.failed
  bursts.io.clients(0) <> reader.io.memory
  bursts.io.clients(1) <> builder.io.memory

  reader.io.settings := settings
  builder.io.settings := settings
  // The summaries of a live device's clusters hold for one placement, so a new one waits until no device is live.
  private val open = RegEnable(settings.open, false.B, !builder.io.devices.map(_.live).reduce(_ || _))
  builder.io.settings.open := open
  summaries.io.open := open
  summaries.io.devices := builder.io.devices
  summaries.io.changed := builder.io.changed
  summaries.io.reading <> reader.io.reading
  summaries.io.request <> builder.io.request
  noRun.io.devices := builder.io.devices
  noRun.io.changed := builder.io.changed.valid
  noRun.io.found := summaries.io.orders
  noRun.io.round := reader.io.round
  reader.io.news := summaries.io.news
  reader.io.settled := summaries.io.settled
  reader.io.again <> builder.io.again
  builder.io.answer := summaries.io.answer
  builder.io.orders := summaries.io.orders
  builder.io.spare := summaries.io.spare
  builder.io.noRun := noRun.io.orders
  builder.io.device <> device

  round := reader.io.round
  passed := builder.io.pass
  granted := builder.io.granted
  quiet := builder.io.quiet
  working := reader.io.working || builder.io.working
  readIdle := reader.io.idle
  grantIdle := builder.io.idle
}
