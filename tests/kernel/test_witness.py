# SPDX-License-Identifier: Apache-2.0
"""The judgement of the kernels' output; no guest is started."""

import pytest
from hwswap.kernel import page_out_slots, witness
from hwswap.kernel.witness import Account, Outcome
from hwswap.stimulus import page_outs
from hwswap.stimulus.page_outs import Area, GiveBack, PageOut, Scene
from wrong_models import FreesToHead, NeverRequeues

SCENES = list(page_outs.scenes(5, 900))
EXPECTED = [page_out_slots.expect(scene) for scene in SCENES]


def total():
    made = page_out_slots.Expected()
    for each in EXPECTED:
        made.add(each)
    return made


def agreeing():
    return Account(
        "unpatched",
        lines=[list(each.lines) for each in EXPECTED],
        counters={**witness.predicted(total()), "pswpin": 0},
    )


def faults(said):
    return witness.faults_of(said, SCENES, EXPECTED, total())


def test_a_kernel_that_agrees_has_no_fault():
    assert faults(agreeing()) == []
    assert Outcome(SCENES, EXPECTED).equal(agreeing()) == sum(scene.folios for scene in SCENES)


def test_one_folio_elsewhere_is_found_and_named():
    said = agreeing()
    said.lines[2][7] = "0:77+1"
    (fault,) = faults(said)
    assert fault.startswith("unpatched, scene 2: folio 7, order ")
    assert f"the kernel has 0:77+1, the golden model {witness.shortened(EXPECTED[2].lines[7])}" in fault
    assert Outcome(SCENES, EXPECTED).equal(said) == sum(scene.folios for scene in SCENES) - 1


@pytest.mark.parametrize("wrong", [NeverRequeues, FreesToHead])
def test_scripts_tell_a_wrong_rule_from_the_right_one(wrong):
    """A fixed script does: with a fresh seed one in many does not."""
    scenes = page_outs.scenes(1, 4000)
    assert any(page_out_slots.expect(s).lines != page_out_slots.expect(s, wrong).lines for s in scenes)


def test_a_folio_is_told_from_one_at_the_same_place_before():
    again = PageOut(0, 0, 0)
    scene = Scene((Area(512, None),), (again, GiveBack(0, 0, 0, 0, 1), again))
    found = witness.difference(scene, page_out_slots.expect(scene), ["0:1+1", "0:9+1"])
    assert found.startswith("folio 1, order 0, CPU 0 (operation 2): the kernel has 0:9+1")


def test_a_folio_that_is_missing_is_found():
    said = agreeing()
    said.lines[1].pop()
    (fault,) = faults(said)
    number = len(EXPECTED[1].lines)
    assert fault == f"unpatched, scene 1: the kernel has {number - 1} folios, the golden model {number}"


@pytest.mark.parametrize(
    ("counter", "sentence"),
    [
        ("hugepages-16kB/swpout_fallback", "hugepages-16kB/swpout_fallback went up by"),
        ("pswpout", "pswpout went up by"),
        ("pswpin", "pswpin changed by 1: swap had another user"),
        ("pgsteal_kswapd", "pgsteal_kswapd changed by 1: swap had another user"),
    ],
)
def test_what_the_kernel_counts_has_to_be_what_the_model_predicts(counter, sentence):
    said = agreeing()
    said.counters[counter] = said.counters.get(counter, 0) + 1
    (fault,) = faults(said)
    assert sentence in fault


def test_pages_left_in_the_swap_cache_are_a_fault():
    said = agreeing()
    said.most_cached = 3
    assert faults(said) == ["unpatched: 3 pages of folios paged out were in the swap cache"]


def test_more_folios_of_another_order_than_were_ever_seen_are_a_fault():
    said = agreeing()
    said.thrown_away = witness.MOST_THROWN_AWAY
    assert faults(said) == []
    said.thrown_away += 1
    assert faults(said) == ["unpatched: 1 folios were of another order and thrown away, more than 0"]


def test_what_a_guest_says_is_counted_from_before_to_after():
    said = Account("unpatched")
    out = "@before pswpout 5\n@before pswpin 1\nx\n"
    out += '@scene 0 {"folios": 2, "thrown_away": 1, "most_cached": 0, "looks": 3}\n'
    out += '@scene 1 {"folios": 2, "thrown_away": 2, "most_cached": 4, "looks": 3}\n'
    out += "@after pswpout 25\n@after pswpin 1\n"
    witness.take(out, said, 2)
    assert said.counters == {"pswpout": 20, "pswpin": 0}
    assert (said.thrown_away, said.most_cached) == (3, 4)
    with pytest.raises(RuntimeError, match="unpatched: of 3 scenes 2 came to their end"):
        witness.take(out, said, 3)


def test_a_whole_run_has_to_have_enough_of_everything():
    few = witness.missing(total(), 99_999)
    assert "99,999 folios, of 100,000" in few
    assert any("allocations ended at steal" in text for text in few)
    assert any("folios of order 9 went out in one piece" in text for text in few)


def test_the_guest_gets_areas_and_script():
    made = witness.files(SCENES)
    assert len(made) == 2 * len(SCENES)
    areas = made["scenes/0/areas"].decode().splitlines()
    assert len(areas) == len(SCENES[0].areas)
    assert areas[0].split()[1] == str(SCENES[0].areas[0].pages * 4096)
    assert made["scenes/0/script"].decode() == SCENES[0].text()
