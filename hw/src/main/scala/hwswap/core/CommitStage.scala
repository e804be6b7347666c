// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import chisel3._

/** The stage `commit`: the actions possible in it, by all that is known one cycle before. The search's result then
  * decides; it comes late, so nothing else is worked out in that cycle. All fields are false where there is no commit.
  *
  *   - allocates: slots are given, if a run was found
  *   - frees: slots are freed, if all are in use
  *   - answers: there is an answer, found or not
  *   - searched: the cluster counts as searched, found or not
  *   - searchedIfFound: it does if a run was found
  *   - falls: an allocation goes on with the slow path, if nothing was found
  *   - again: it goes on there with all of this cluster, likewise
  *   - leads: an allocation; the next request may use its hint
  *   - mayLead: the next request may follow it
  */
class CommitStage extends Bundle {
  val allocates, frees, answers, searched, searchedIfFound, falls, again, leads, mayLead = Bool()
}
