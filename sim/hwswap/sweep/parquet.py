# SPDX-License-Identifier: Apache-2.0
"""The file that comes out of a sweep: a row a point, and in its metadata the sweep file and what it was made with."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hwswap.sweep.plan import SweepError

METADATA = b"hwswap.sweep"
FORMAT = 1

_CYCLES = pa.struct(
    [
        ("kind", pa.string()),
        ("order", pa.int32()),
        ("count", pa.int64()),
        ("mean", pa.float64()),
        *((name, pa.int64()) for name in ("min", "p50", "p90", "p99", "max")),
    ]
)
_FALL_BACK = pa.struct([("order", pa.int32()), ("tried", pa.int64()), ("failed", pa.int64())])

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("commit", pa.string()),
        ("program", pa.string()),
        ("engine", pa.string()),
        *((name, pa.int64()) for name in ("devices", "cpus", "clusters")),
        ("load", pa.string()),
        ("kind", pa.string()),
        ("policy", pa.string()),
        ("latency", pa.int64()),
        ("stall", pa.int64()),
        ("seed", pa.int64()),
        ("operations", pa.int64()),
        ("total_cycles", pa.int64()),
        ("cycles_per_operation", pa.float64()),
        ("cycles", pa.list_(_CYCLES)),
        ("fall_back", pa.list_(_FALL_BACK)),
        ("statistics", pa.map_(pa.string(), pa.int64())),
    ]
)


@dataclass(frozen=True)
class Sweep:
    """A sweep's results: what it was made with (`name`, `file`, `commit`, `points`, `versions`), and its rows."""

    facts: dict[str, Any]
    rows: list[dict[str, Any]]


def write(path: Path, facts: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    """Write results; the file appears under its name when it is complete."""
    table = pa.Table.from_pylist([row | {"statistics": list(row["statistics"].items())} for row in rows], schema=SCHEMA)
    described = json.dumps({"format": FORMAT, **facts}).encode()
    part = path.with_suffix(".part")
    parquet.write_table(table.replace_schema_metadata({METADATA: described}), part, compression="zstd")
    part.replace(path)


def read(path: Path) -> Sweep:
    """Read results."""
    try:
        table = parquet.read_table(path)
    except FileNotFoundError as error:
        raise SweepError(f"{path} is not there: run `hwswap sweep` first") from error
    except (OSError, pa.ArrowInvalid) as error:
        raise SweepError(f"{path} is no Parquet file of a sweep") from error
    metadata = table.schema.metadata or {}
    if METADATA not in metadata:
        raise SweepError(f"{path} is a Parquet file, but not of a sweep")
    facts = json.loads(metadata[METADATA])
    if facts.get("format") != FORMAT:
        raise SweepError(f"{path} has format {facts.get('format')} of sweeps, not {FORMAT}: run `hwswap sweep` again")
    rows = table.to_pylist()
    for row in rows:
        row["statistics"] = dict(row["statistics"])
    return Sweep(facts, rows)
