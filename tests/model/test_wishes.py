# SPDX-License-Identifier: Apache-2.0
"""Resting and waking (patch 0010, swap_grants_want() and swap_grants_rest_work()): no wish for a ring is lost.

All orders of what a CPU and the worker do, with stores that wait in buffers as CPUs have them.
"""

import pytest

Program = tuple[tuple[str, str, int], ...]

FENCE = ("fence", "", 0)


def outcomes(programs: tuple[Program, ...]) -> set[frozenset[tuple[int, int]]]:
    """Return all that the programs' loads can see, as pairs of program and value, each program having one load."""
    found, seen = set(), set()
    first = ((0,) * len(programs), ((),) * len(programs), (("rests", 0), ("want", 0)), frozenset())
    todo = [first]
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        places, buffers, memory, loaded = state
        words = dict(memory)
        if all(place == len(program) for place, program in zip(places, programs, strict=True)):
            found.add(loaded)
        for who, program in enumerate(programs):
            buffer = buffers[who]
            if buffer:  # the oldest store arrives
                written = tuple(sorted((words | dict(buffer[:1])).items()))
                todo.append((places, (*buffers[:who], buffer[1:], *buffers[who + 1 :]), written, loaded))
            if places[who] == len(program):
                continue
            action, word, value = program[places[who]]
            further = (*places[:who], places[who] + 1, *places[who + 1 :])
            if action == "store":
                later = (*buffers[:who], (*buffer, (word, value)), *buffers[who + 1 :])
                todo.append((further, later, memory, loaded))
            elif action == "load":
                value = dict(buffer).get(word, words[word])
                todo.append((further, buffers, memory, loaded | {(who, value)}))
            elif not buffer:  # a fence lets nobody pass with stores under way
                todo.append((further, buffers, memory, loaded))
    return found


@pytest.mark.parametrize("cpu_fence", [False, True])
@pytest.mark.parametrize("worker_fence", [False, True])
def test_a_wish_is_seen_by_one_side_where_both_have_a_barrier(cpu_fence, worker_fence):
    """The CPU sees that the backend is about to rest, or the worker sees the wish; without a barrier neither may."""
    cpu = (("store", "want", 1), *([FENCE] if cpu_fence else []), ("load", "rests", 0))
    worker = (("store", "rests", 1), *([FENCE] if worker_fence else []), ("load", "want", 0))
    lost = frozenset({(0, 0), (1, 0)})
    assert (lost in outcomes((cpu, worker))) == (not (cpu_fence and worker_fence))
