# SPDX-License-Identifier: Apache-2.0
"""The parts of the engine that are proved, and the method and limits of each proof."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Proof:
    """A proof of one part, and its method.

    `part` names the file that EmitProofs writes, `source` the one in hw/formal, whose module is <source>_proof; both
    are the proof's name if none is given. `method` is "induction", "reachability" or "bounded"; `depth` the most cycles
    of an induction, or those of a bounded check. `breaking` is the depth in which the mutants must show. `neighbours`
    are those of the part's own assertions, by what they say, that speak of its inputs alone: the specification assumes
    them, so no fault in the part can break them. They are proved where the part has its neighbours: in `core`.
    """

    name: str
    what: str
    method: str
    depth: int
    breaking: int
    part: str = ""
    source: str = ""
    parameters: dict[str, int] = field(default_factory=dict)
    short: bool = True
    neighbours: tuple[str, ...] = ()

    @property
    def specification(self) -> str:
        """The name of the specification."""
        return self.source or self.name


MOVES = (
    "a list move that moves nothing",
    "a head leaves its list and goes nowhere",
    "a cluster goes to the list it is on",
    "a list's ends are read during a move",
)
"""The requirements of the lists on units that move clusters."""

WIDE = {"SLOTS": 512, "WORDS": 16}
PROOFS = (
    Proof("finder", "free-run finder, rows of 64 slots, 7 orders", "induction", 4, 4),
    Proof(
        "finder-512", "finder, rows of 512 slots, 10 orders", "induction", 4, 4, "full-finder", "finder", WIDE, False
    ),
    Proof("available", "available list of 4 devices", "induction", 6, 8),
    Proof("lists", "4 clusters on 3 lists", "induction", 10, 14, parameters={"USED_LISTS": 3}, neighbours=MOVES),
    Proof(
        "lists-11", "3 clusters on 11 lists", "induction", 10, 14, "lists", "lists", {"USED_CLUSTERS": 3}, False, MOVES
    ),
    Proof("axil", "AXI4-Lite slave, any registers", "reachability", 0, 12),
    Proof("gate", "AXI4 gate, a window, any masters, any memory, resets at any time", "bounded", 11, 11),
    Proof("core", "core of 2 clusters of 8 slots, any request at any time", "bounded", 100, 80, short=False),
    Proof("core-full", "core of 2 clusters, input kept full", "bounded", 100, 90, "core", "core", {"STEADY": 1}, False),
)
