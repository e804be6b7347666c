# SPDX-License-Identifier: Apache-2.0
"""The search of marks: every case is as expected, a model without any shortcut agrees, and mistakes are noticed."""

import itertools
from collections import deque
from dataclasses import replace

import pytest
from hwswap.cli import main as cli
from hwswap.verify import mark_race
from hwswap.verify.mark_race_model import FENCE, MARK, Bus, Memory, Model, Reader, Rules

CASES = {case.name: case for case in mark_race.cases()}


def test_each_case_has_a_name_of_its_own():
    assert len(CASES) == len(mark_race.cases())


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("x2")])
def test_cases_are_as_expected(name):
    case = CASES[name]
    outcome = mark_race.explore(case.rules)
    assert mark_race.expected(case, outcome), outcome
    assert outcome.quiet > 0
    assert bool(outcome.trace) == (not case.holds)


def test_the_shortest_counterexample_without_a_barrier_before_group():
    outcome = mark_race.explore(CASES["rvwmo-no-group-fence"].rules)
    assert outcome.trace == [
        "cpu 0: takes the lock of cluster 0, its stores wait in its buffer",
        "cpu 0: BITMAP[0] is visible",
        "cpu 0: GROUP is visible",
        "engine: reads GROUP: 1; asks to clear it",
        "engine: GROUP = 0",
        "engine: asks for DIRTY",
        "engine: reads DIRTY[0]: 0",
        "cpu 0: DIRTY[0] is visible",
        "engine: nothing was marked: its round is done",
    ]
    assert outcome.wrong == "lost: DIRTY[0] 1, GROUP 0, and the engine's copy of BITMAP[0] is old"


def reached(model):
    """Return all states, each with those it leads to."""
    found = {}
    waiting = [model.begin]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found[state] = [after for _, after in model.steps(state)]
            waiting += found[state]
    return found


@pytest.mark.parametrize("memory", Memory)
@pytest.mark.parametrize("bus", [Bus.AXI, Bus.PCIE])
def test_from_everywhere_all_can_become_quiet(memory, bus):
    """Nobody waits for ever: else a case could hold because nothing ends."""
    model = Model(Rules(memory=memory, bus=bus, cpus=2, marks=1, clusters=2, parts=2))
    found = reached(model)
    behind = {state: [] for state in found}
    for state, nexts in found.items():
        for after in nexts:
            behind[after].append(state)
    waiting = [state for state in found if model.quiescent(state) and not any(cpu.left for cpu in state.cpus)]
    calm = set(waiting)
    assert calm
    while waiting:
        for before in behind[waiting.pop()]:
            if before not in calm:
                calm.add(before)
                waiting.append(before)
    assert calm == set(found)


def test_stores_become_visible_as_the_memory_model_says():
    def visible(memory, *stores):
        return list(Model(Rules(memory=memory)).visible_next(stores))

    lock = FENCE - 1
    assert visible(Memory.TSO, 4, 1, 0) == [0]
    assert visible(Memory.RVWMO, 4, 1, 0) == [0, 1, 2]
    assert visible(Memory.RVWMO, 4, FENCE, 1, FENCE, 0) == [0]
    assert visible(Memory.RVWMO, 4, 1, 4, 1) == [0, 1]
    # What is behind a lock that is given up may come before it; the lock may not come before what is ahead of it.
    assert visible(Memory.RVWMO, 4, lock, 5) == [0, 2]
    assert visible(Memory.RVWMO, 4, lock, FENCE, 5) == [0]


# A model without shortcuts: numbers for what a bitmap holds, a lock in memory, each store put into the buffer by a step
# of its own. It shares nothing with the one above but the way a mark is written.

NAIVE_MARKS = {
    "protocol": MARK,
    "no data fence": mark_race.NO_DATA_FENCE,
    "no group fence": mark_race.NO_GROUP_FENCE,
    "looks": mark_race.LOOKS,
    "looks, full": mark_race.LOOKS_FULL,
    "looks twice": mark_race.LOOKS_TWICE,
    "looks twice, full": mark_race.LOOKS_TWICE_FULL,
    "dirty first": ("dirty", "fence", "data", "fence", "group"),
    "group first": ("data", "fence", "group", "fence", "dirty"),
}


def naive_cpu(memory, state, number, program, rvwmo, clusters):
    """Yield the next states of a CPU: (memory, CPU)."""
    left, at, cluster, buffer = state

    def store(place, value):
        return memory, (left, at + 1, cluster, (*buffer, (place, value)))

    if at < 0:
        if left and (rvwmo or not buffer):
            for c in range(clusters):
                place = ("lock", c)
                if not dict(memory)[place] and not any(p == place for p, _ in buffer):
                    yield put(memory, place, 1), (left - 1, 0, c, buffer)
    elif at == len(program):
        yield memory, (left, -1, 0, (*buffer, (("lock", cluster), 0)))
    else:
        what = program[at]
        if what == "data":
            # Under the lock; the own stores that are on their way count.
            own = [value for place, value in buffer if place == ("data", cluster)]
            yield store(("data", cluster), (own[-1] if own else dict(memory)["data", cluster]) + 1)
        elif what in ("dirty", "group"):
            yield store((what, cluster if what == "dirty" else 0), 1)
        elif what == "fence":
            yield store("fence", 0)
        elif what == "full":
            if not buffer:
                yield memory, (left, at + 1, cluster, buffer)
        else:
            place = (what.removeprefix("unless "), cluster if what == "unless dirty" else 0)
            own = [value for p, value in buffer if p == place]
            value = own[-1] if own else dict(memory)[place]
            yield memory, (left, len(program) if value else at + 1, cluster, buffer)
    for i, (place, value) in enumerate(buffer):
        before = buffer[:i]
        if not rvwmo and before:
            break
        if any(p == "fence" for p, _ in before) or any(p == place for p, _ in before):
            continue
        if before and (place == "fence" or place[0] == "lock"):
            continue
        rest = (left, at, cluster, before + buffer[i + 1 :])
        yield (memory if place == "fence" else put(memory, place, value)), rest


def put(memory, place, value):
    return tuple((p, value if p == place else v) for p, v in memory)


def naive_engine(memory, engine, clusters):
    """Yield the next states of the engine on AXI, each access whole: (memory, engine)."""
    at, seen, copy = engine
    held = dict(memory)
    if at == 0:
        if held["group", 0]:
            yield memory, (1, seen, copy)
    elif at == 1:
        yield put(memory, ("group", 0), 0), (2, (), copy)
    elif at < 2 + clusters:
        c = at - 2
        yield memory, (at + 1, (*seen, c) if held["dirty", c] else seen, copy)
    elif at < 2 + 2 * clusters:
        c = at - 2 - clusters
        yield (put(memory, ("dirty", c), 0) if c in seen else memory), (at + 1, seen, copy)
    else:
        c = at - 2 - 2 * clusters
        if c == clusters:
            yield memory, (0, (), copy)
        else:
            read = held["data", c] if c in seen else copy[c]
            yield memory, (at + 1, seen, (*copy[:c], read, *copy[c + 1 :]))


def naive_holds(rvwmo, program, cpus, marks, clusters):
    """Tell whether no reachable quiet state has an old copy."""
    memory = tuple(
        (place, 0) for place in [("group", 0), *itertools.product(("dirty", "data", "lock"), range(clusters))]
    )
    begin = (memory, ((marks, -1, 0, ()),) * cpus, (0, (), (0,) * clusters))
    seen, waiting = {begin}, deque([begin])
    while waiting:
        memory, all_cpus, engine = waiting.popleft()
        held = dict(memory)
        quiet = engine[0] == 0 and not held["group", 0] and all(at < 0 and not b for _, at, _, b in all_cpus)
        if quiet and any(engine[2][c] != held["data", c] for c in range(clusters)):
            return False
        nexts = [(m, all_cpus, e) for m, e in naive_engine(memory, engine, clusters)]
        for number, cpu in enumerate(all_cpus):
            nexts += [
                (m, (*all_cpus[:number], after, *all_cpus[number + 1 :]), engine)
                for m, after in naive_cpu(memory, cpu, number, program, rvwmo, clusters)
            ]
        for after in nexts:
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return True


@pytest.mark.parametrize("name", NAIVE_MARKS)
@pytest.mark.parametrize("memory", Memory)
@pytest.mark.parametrize(("cpus", "marks", "clusters"), [(1, 2, 1), (2, 1, 1), (1, 2, 2), (2, 1, 2)])
def test_a_model_without_shortcuts_agrees(name, memory, cpus, marks, clusters):
    mark = NAIVE_MARKS[name]
    rules = Rules(memory=memory, cpus=cpus, marks=marks, clusters=clusters, mark=mark)
    holds = mark_race.explore(rules).wrong is None
    assert naive_holds(memory is Memory.RVWMO, mark, cpus, marks, clusters) == holds


def test_what_nobody_can_do_is_noticed(monkeypatch):
    """An engine that waits for ever is no proof."""
    monkeypatch.setattr(Model, "done_next", lambda self, requests: iter(()))
    assert mark_race.explore(Rules(cpus=1, marks=1)).wrong.startswith("stuck")


def test_a_case_that_is_too_large_is_given_up():
    with pytest.raises(RuntimeError, match="more than 100 states"):
        mark_race.explore(Rules(), limit=100)


def test_the_second_reader_begins_again_when_the_scan_came_by():
    """So that a cluster is let go only when it was read since HEAD passed."""
    rules = replace(CASES["rvwmo-used-up"].rules, reader=Reader.HEAD, parts=2)
    model = Model(rules)
    found = reached(model)
    assert any(state.released for state in found)
    assert any(state.second and state.second.overtaken for state in found)
    assert not any(model.wrong(state) for state in found)


def test_the_command_prints_a_table_and_counterexamples(capsys):
    assert cli.main(["marks-race", "rvwmo-axi-1x3", "rvwmo-no-group-fence"]) == 0
    said = capsys.readouterr().out
    assert "2 cases" in said
    assert "lost: DIRTY[0] 1, GROUP 0" in said


def test_a_result_that_is_not_expected_is_status_1(capsys, monkeypatch):
    case = replace(CASES["rvwmo-no-group-fence"], holds=True)
    monkeypatch.setattr(mark_race, "cases", lambda: [case])
    assert cli.main(["marks-race"]) == 1
    assert "not as expected: rvwmo-no-group-fence" in capsys.readouterr().err


def test_an_unknown_case_is_one_sentence_and_status_2(capsys):
    assert cli.main(["marks-race", "nothing"]) == 2
    said = capsys.readouterr().err
    assert "there is no case of the marks 'nothing'" in said
    assert said.count("\n") == 1
