# SPDX-License-Identifier: Apache-2.0
"""The parts of the engine that are proved, and the method and limits of each proof."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Proof:
    """What is proved of one part, and how.

    `part` names the file that EmitProofs writes, `source` the one in hw/formal, whose module is <source>_proof.
    `method` is "induction", "reachability" or "bounded"; `depth` the most cycles of an induction, or those of a
    bounded check. `breaking` is the depth in which the mutants must show. `limit` is in seconds. `neighbours` are those
    of the part's own assertions, by what they say, that speak of its inputs alone: the specification assumes them, so
    no fault in the part can break them. They are proved where the part has its neighbours: in `core`.
    """

    name: str
    part: str
    source: str
    what: str
    method: str
    depth: int
    breaking: int
    limit: float
    parameters: dict[str, int] = field(default_factory=dict)
    short: bool = True
    neighbours: tuple[str, ...] = ()


MOVES = (
    "a list move that moves nothing",
    "a head leaves its list and goes nowhere",
    "a cluster goes to the list it is on",
    "a list's ends are read during a move",
)
"""What the lists ask of those that move clusters."""

PROOFS = (
    Proof("finder", "finder", "finder", "free-run finder, rows of 64 slots, 7 orders", "induction", 4, 4, 900),
    Proof(
        name="finder-512",
        part="full-finder",
        source="finder",
        what="free-run finder, rows of 512 slots, 10 orders",
        method="induction",
        depth=4,
        breaking=4,
        limit=3600,
        parameters={"SLOTS": 512, "WORDS": 16},
        short=False,
    ),
    Proof("available", "available", "available", "available list of 4 devices", "induction", 6, 8, 900),
    Proof(
        name="lists",
        part="lists",
        source="lists",
        what="4 clusters on 3 lists",
        method="induction",
        depth=10,
        breaking=14,
        limit=900,
        parameters={"USED_LISTS": 3},
        neighbours=MOVES,
    ),
    Proof(
        name="lists-11",
        part="lists",
        source="lists",
        what="3 clusters on 11 lists",
        method="induction",
        depth=10,
        breaking=14,
        limit=1800,
        parameters={"USED_CLUSTERS": 3},
        neighbours=MOVES,
        short=False,
    ),
    Proof("axil", "axil", "axil", "AXI4-Lite slave, any registers", "reachability", 0, 12, 300),
    Proof(
        name="gate",
        part="gate",
        source="gate",
        what="AXI4 gate, a window, any masters, any memory, resets at any time",
        method="bounded",
        depth=11,
        breaking=11,
        limit=600,
    ),
    Proof(
        name="core",
        part="core",
        source="core",
        what="core of 2 clusters of 8 slots, any request at any time",
        method="bounded",
        depth=100,
        breaking=80,
        limit=3600,
        short=False,
    ),
    Proof(
        name="core-full",
        part="core",
        source="core",
        what="core of 2 clusters of 8 slots, any requests, input kept full",
        method="bounded",
        depth=100,
        breaking=90,
        limit=3600,
        parameters={"STEADY": 1},
        short=False,
    ),
)
