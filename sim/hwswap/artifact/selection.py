# SPDX-License-Identifier: Apache-2.0
"""Finds a number in a result file: `bench.hint[op=alloc,order=0].avg`."""

import re
from collections.abc import Iterator
from typing import Any

_STEP = re.compile(r"(?P<key>[^.\[\]]*)(?:\[(?P<where>[^\]]*)\])?(?:\.|$)")


class SelectionError(ValueError):
    """What a selection names is not there; the message says what is."""


def _steps(path: str) -> Iterator[tuple[str, dict[str, str] | None]]:
    """Yield a path's keys, each with what it asks of the records behind it."""
    position = 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or step.end() == position:
            raise SelectionError(f"'{path}' cannot be read at its character {position + 1}")
        where = step["where"]
        asked = None
        if where is not None:
            if where and not all("=" in part for part in where.split(",")):
                raise SelectionError(f"'{path}' asks for '{where}', which is no list of KEY=VALUE")
            asked = dict(part.split("=", 1) for part in where.split(",")) if where else {}
        yield step["key"], asked
        position = step.end()


def _said(value: object) -> str:
    """Return a value as a path says it: what is true in JSON is called true."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def records(result: Any, path: str) -> list[Any]:
    """Return all that a path leads to.

    Args:
        result: what the JSON file holds.
        path: keys with dots between them. A key of a list of records is followed by `[KEY=VALUE,...]`, which chooses
            those records that have all of these, or by `[]`, which takes all; the path goes on in each.

    Raises:
        SelectionError: a key is missing, or where records are chosen there is no list.
    """
    found = [result]
    for key, asked in _steps(path):
        if key:
            for value in found:
                if not isinstance(value, dict) or key not in value:
                    has = ", ".join(map(str, value)) if isinstance(value, dict) else type(value).__name__
                    raise SelectionError(f"'{path}': there is no '{key}', but {has or 'nothing'}")
            found = [value[key] for value in found]
        if asked is not None:
            if not all(isinstance(value, list) for value in found):
                raise SelectionError(f"'{path}': '{key}' is no list of records")
            found = [
                record
                for value in found
                for record in value
                if all(_said(record.get(name)) == wanted for name, wanted in asked.items())
            ]
    return found


def number(result: Any, path: str, *, how: str = "one", per: str | None = None) -> float:
    """Return the number that a path leads to.

    Args:
        result: what the JSON file holds.
        path: as for `records`.
        how: "one": the path leads to one number. "sum": to several, or to records of numbers, which are added up;
            "count": to any number of records, which are counted; "least": to several, of which the least counts.
        per: path to what the number is divided by, chosen in the same way.

    Raises:
        SelectionError: there is no such number, or not one.
    """
    found = records(result, path)
    if how == "count":
        value = float(len(found))
    else:
        values = [part for entry in found for part in (entry.values() if isinstance(entry, dict) else [entry])]
        if not values or any(isinstance(part, bool) or not isinstance(part, int | float) for part in values):
            raise SelectionError(f"'{path}' leads to {'nothing' if not values else 'something that is no number'}")
        if how == "one" and len(values) != 1:
            raise SelectionError(f"'{path}' leads to {len(values)} numbers, where one is wanted")
        value = float(min(values) if how == "least" else sum(values))
    if per is not None:
        divisor = number(result, per, how="one" if how == "count" else how)
        if not divisor:
            raise SelectionError(f"'{per}' is 0")
        value /= divisor
    return value
